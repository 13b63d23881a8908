package services

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest combines the digest of a plan with the changes of services. Without changes it returns the digest of the plan.
// It fails only on attributes that JSON cannot encode, which no configuration has.
func (t *Transition) Digest(plan string) (string, error) {
	if !t.HasChanges() {
		return plan, nil
	}
	type service struct {
		Name                 string
		Incarnation, Version int
		State                string
		Sets                 any
		Config               map[string]bool
	}
	var all []service
	for _, in := range t.engine.Instances() {
		all = append(all, service{in.ID, t.records[in.ID].Incarnation, in.Version, in.State, in.Sets, in.Config})
	}
	text, err := json.Marshal([]any{"slipway services 1", plan, t.changes, all})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
