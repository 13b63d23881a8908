package services

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest joins the digest of a plan with what the turn does to services. Where it changes none, that is the digest of
// the plan. The error is one of attributes that JSON does not have, which no configuration holds.
func (t *Turn) Digest(plan string) (string, error) {
	if !t.Moves() {
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
	for _, in := range t.inventory.Instances() {
		all = append(all, service{in.ID, t.records[in.ID].Incarnation, in.Version, in.State, in.Sets, in.Config})
	}
	text, err := json.Marshal([]any{"slipway services 1", plan, t.changes, all})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
