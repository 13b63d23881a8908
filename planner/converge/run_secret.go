package converge

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// resolveSecrets puts the contents of secrets that the controller sent into a resource that refers to some, which then
// is sensitive. Only a check goes on without them.
func (x *session) resolveSecrets(j *operation, declared resource.Schema) error {
	secrets := j.Parameters.Secrets()
	if len(secrets) == 0 {
		return nil
	}
	named := declared.Normalize(j.Resource)
	resolved, missing := j.Parameters.Resolve(x.manifest.Secrets)
	j.named, j.Parameters, j.unseen = &named, resolved, len(missing) > 0
	for _, secret := range secrets {
		j.contents = append(j.contents, x.manifest.Secrets[secret])
	}
	if j.unseen && x.applying() {
		return fmt.Errorf("the controller sent no content of the secret %s", strings.Join(missing, ", "))
	}
	return nil
}

// secretMACs returns the HMACs of the texts of an item that have secrets, by where they are; none where their contents
// are not known.
func (x *session) secretMACs(j *operation) (macs map[string]string, err error) {
	if j.named == nil || j.unseen {
		return nil, nil
	}
	macs = map[string]string{}
	j.named.Parameters.ReplaceSecrets(func(_, at, text string) string {
		resolved, _ := resource.Parameters{at: text}.Resolve(x.manifest.Secrets)
		mac, failed := x.sys.MAC(string(j.id), resolved.String(at))
		if failed != nil {
			err = failed
		}
		macs[at] = mac
		return text
	})
	return macs, err
}

// withoutSecrets returns the digest of an item without the texts that have secrets; empty where it has none. All that
// have some are sensitive, whether they say so or not.
func (j *operation) withoutSecrets() string {
	if j.named == nil {
		return ""
	}
	rest := *j.named
	rest.Parameters = rest.Parameters.ReplaceSecrets(func(_, _, _ string) string { return types.Hidden })
	rest.Parameters[resource.Sensitive] = true
	return resource.Digest(rest)
}

// recordSecrets writes into an item's entry what identifies its secrets, and what it is without them.
func (x *session) recordSecrets(j *operation, e *ledger.Entry) (err error) {
	e.MACs, err = x.secretMACs(j)
	e.Rest = ""
	if len(e.MACs) > 0 {
		e.Rest = j.withoutSecrets()
	}
	return err
}

// coversSecret reports whether all that an item differs from may be secret, because of what the ledger says of its
// object: what is wanted in its place may be plain. A resource of another title may have put it there, or one of the
// same file that is about to leave it. An item that is applied in its form has its secrets where that form has them.
func (x *session) coversSecret(j *operation) bool {
	is := x.resolved(object{j.Type, j.object})
	file := ""
	if at := j.Parameters.String("path"); path.IsAbs(at) {
		file = x.sys.ResolveLinks(at, true)
	}
	return slices.ContainsFunc(x.ledger.Entries, func(e *ledger.Entry) bool {
		if !e.Secret() || e.ID == j.id && e.Digest == j.Digest {
			return false
		}
		if e.ID == j.id || e.Type == j.Type && e.Object != "" && x.resolved(object{e.Type, e.Object}) == is {
			return true
		}
		at, named := x.index[e.ID]
		_, whole := x.types[e.Type].(types.Differ)
		return (whole || named && x.operations[at].Remove) && file != "" && x.sys.IsOf(e, file)
	})
}

// observe prepares the check of an item whose secrets the controller does not have. Where the node has the text that
// was applied last, that takes the place of the one with the reference; elsewhere the reference stays, which no node
// has. known is false where the node recorded nothing to compare with.
func (x *session) observe(ctx context.Context, j *operation) (known bool, err error) {
	e := x.ledger.Entry(x.manifest.Site, j.id)
	if e == nil || len(e.MACs) == 0 || e.Digest != j.Digest {
		return false, nil
	}
	observer, ok := j.typ.(types.Observer)
	if !ok {
		return true, nil
	}
	j.Parameters = j.Parameters.ReplaceSecrets(func(parameter, at, text string) string {
		is, failed := guarded(j.Type, func() ([]string, error) { return observer.Observe(ctx, x.sys, j.Resource, parameter) })
		for _, candidate := range is {
			mac, wrong := x.sys.MAC(string(j.id), candidate)
			if wrong == nil && mac == e.MACs[at] {
				return candidate
			}
			if wrong != nil {
				failed = wrong
			}
		}
		if failed != nil {
			err = failed
		}
		return text
	})
	return true, err
}
