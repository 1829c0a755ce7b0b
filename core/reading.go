package core

import (
	"context"
	"fmt"
	"slices"
)

// ReadFor makes one reading of everything a capability needs.
func ReadFor(ctx context.Context, r Reader, spec Spec, clock Clock) (Reading, error) {
	reading := Reading{At: clock.Now(), Data: map[string]any{}}
	for _, path := range spec.Reads() {
		data, err := r.Read(ctx, path)
		if err != nil {
			return Reading{}, err
		}
		reading.Data[path] = data
	}
	for _, path := range spec.OptionalReads {
		// Not every version and not every user has these: what cannot be
		// looked up is left to the appliance to refuse.
		if data, err := r.Read(ctx, path); err == nil {
			reading.Data[path] = data
		}
	}
	return reading, nil
}

// observeNow reads afresh and finds the one target with this identity.
func observeNow(ctx context.Context, r Reader, c Capability, identity Object, clock Clock) (Reading, Observation, error) {
	reading, err := ReadFor(ctx, r, c.Spec(), clock)
	if err != nil {
		return Reading{}, Observation{}, err
	}
	o, err := c.Observe(reading, identity)
	return reading, o, err
}

// checkAppliance requires the very installation a contract was made for, with
// a REST API that takes changes (lesson 19). It is read before acquisition,
// so a refusal leaves the contract where it is.
func checkAppliance(ctx context.Context, r Reader, want Opened) error {
	id, err := r.Identify(ctx)
	if err != nil {
		return err
	}
	digest, err := id.Digest()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrApplianceMismatch, err)
	}
	if digest != want.Appliance {
		return ErrApplianceMismatch
	}
	status, err := r.Status(ctx)
	if err != nil {
		return err
	}
	if status.ReadOnly {
		return ErrReadOnlyAppliance
	}
	return nil
}

// changedNeighbours names the other objects of a list that are not as before:
// changed, gone or new. Where all are the same in another order, it says so.
func changedNeighbours(before, after []Neighbour) []string {
	left := map[string]int{}
	for _, n := range before {
		left[n.Digest]++
	}
	var changed []string
	for _, n := range after {
		if left[n.Digest] > 0 {
			left[n.Digest]--
		} else {
			changed = append(changed, n.Name)
		}
	}
	for _, n := range before {
		if left[n.Digest] > 0 && !slices.Contains(changed, n.Name) {
			changed = append(changed, n.Name)
		}
	}
	same := func(a, b Neighbour) bool { return a.Digest == b.Digest }
	if len(changed) == 0 && !slices.EqualFunc(before, after, same) {
		return []string{"the order of the list"}
	}
	return changed
}
