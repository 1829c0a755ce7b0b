package keys

import (
	"context"
	"errors"
	"io"
)

// Provision puts what a new store needs into its keyring: the store's keys,
// the API key for an appliance, and the anchor's counter at zero. It makes all
// of it or nothing; takeBack removes it again where the store cannot be made.
// Errors: ErrExists if keys or a counter are there, core.ErrInvalid for the API key, or
// a keyring class.
func Provision(ctx context.Context, ring Keyring, random io.Reader, appliance string, apiKey []byte) (k StoreKeys, takeBack func() error, err error) {
	var made []string
	takeBack = func() error {
		var err error
		for i := len(made) - 1; i >= 0; i-- {
			err = errors.Join(err, ring.Delete(context.WithoutCancel(ctx), made[i]))
		}
		return err
	}
	k, err = InitStoreKeys(ctx, ring, StoreKeyConfig{Random: random})
	if err != nil {
		return k, takeBack, err
	}
	made = append(made, ItemIntegrityKey, ItemArtifactKey)
	if err = SetAPIKey(ctx, ring, appliance, apiKey); err == nil {
		made = append(made, ItemAPIKey(appliance))
		err = NewRingAnchor(ring).Provision(ctx, 0)
	}
	if err != nil {
		k.Clear()
		return StoreKeys{}, takeBack, errors.Join(err, takeBack())
	}
	made = append(made, ItemAnchor)
	return k, takeBack, nil
}
