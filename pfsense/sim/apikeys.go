package sim

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"strings"
)

// keyHooks make API keys for the caller. The key is shown once, in the answer; only its hash is stored.
func keyHooks() hooks {
	return hooks{create: func(o *object) *apiError {
		n := int(integer(o.vals["length_bytes"]))
		key := hex.EncodeToString([]byte(o.s.srv.token(n)))
		o.vals["username"] = o.s.client.user
		o.vals["key"] = nil
		o.vals["hash"] = hashKey(o.text("hash_algo"), key)
		path, err := o.configPath()
		if err != nil {
			return err
		}
		setPath(o.s.cfg, path+"/"+phpString(o.id), o.internal())
		o.vals["key"] = key
		return o.s.write(o.m, "Added "+o.m.verbose+" via API")
	}}
}

func hashKey(algo, key string) string {
	switch algo {
	case "sha384":
		sum := sha512.Sum384([]byte(key))
		return hex.EncodeToString(sum[:])
	case "sha512":
		sum := sha512.Sum512([]byte(key))
		return hex.EncodeToString(sum[:])
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// storedKeyUser finds whose key this is among the stored hashes.
func (s *session) storedKeyUser(key string) string {
	for _, x := range list(s.cfg, settingsPath+"/keys/key") {
		d, ok := x.(*dict)
		if ok && secretEqual(strings.ToLower(d.text("hash")), hashKey(d.text("hash_algo"), key)) {
			return d.text("username")
		}
	}
	return ""
}
