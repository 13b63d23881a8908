package converge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A resource that several sites bring to a node with equal parameters is one resource. Each site has its own entry in
// the ledger, and all entries have what was there before the first of them. The last site that has it undoes it.

// differsFromOthers returns an error when another site has the resource in another form, or has it not finished.
func (x *session) differsFromOthers(j *operation) error {
	if _, acts := j.typ.(types.Acting); acts {
		return nil // each site does its own
	}
	for _, e := range x.ledger.OfOthers(x.key(j)) {
		has := fmt.Sprintf("the site %q has %s on this node as well, ", e.Site, j.id)
		same, err := x.hasSecretOf(j, e)
		switch {
		case err != nil:
			return err
		case e.Digest == "" && x.ledger.Entry(x.manifest.Site, j.id) == nil:
			return fmt.Errorf("%sand has not finished it; apply or destroy that site first", has)
		case e.Digest != "" && e.Digest != j.Digest && !j.meansAs(e):
			return fmt.Errorf("%swith other parameters%s; write the same in both, or keep it in one of them", has,
				j.differencesTo(e.Wants))
		case !same:
			return fmt.Errorf("%swith another content in the parameters that have secrets; give both the same, or keep it in one of them", has)
		}
	}
	return nil
}

// hasSecretOf reports whether an entry of another site has what an item's texts with secrets give, as far as both are
// known. What the secrets are called, and their versions, do not matter.
func (x *session) hasSecretOf(j *operation, e *ledger.Entry) (bool, error) {
	macs, err := x.secretMACs(j)
	return len(macs) == 0 || len(e.MACs) == 0 || e.Digest == "" || maps.Equal(macs, e.MACs), err
}

// sharedBefore returns what was there before another site applied the resource; shared is false when none did.
func (x *session) sharedBefore(j *operation) (before json.RawMessage, shared bool) {
	if _, acts := j.typ.(types.Acting); acts {
		return nil, false
	}
	for _, e := range x.ledger.OfOthers(x.key(j)) {
		return e.Before, true
	}
	return nil, false
}

// leaveTo takes a resource that is to be undone out of the site, and leaves it on the node to the others that have it.
func (x *session) leaveTo(j *operation, e *ledger.Entry, others []*ledger.Entry) {
	names := make([]string, len(others))
	for i, other := range others {
		names[i] = fmt.Sprintf("%q", other.Site)
	}
	slices.Sort(names)
	x.imageOfLedger(x.was(e.Key()))
	gone := e.Key()
	x.ledger.Change(ledger.Record{Drop: &gone})
	x.left = append(x.left, e)
	if err := x.note(); err != nil {
		j.fail(fmt.Errorf("left to another site, but not recorded: %w", err))
		return
	}
	switch j.result.Differences = nil; len(names) {
	case 1:
		j.notice = fmt.Sprintf("it stays on the node for the site %s, which has it, too", names[0])
	default:
		j.notice = fmt.Sprintf("it stays on the node for the sites %s, which have it, too", strings.Join(names, ", "))
	}
	j.finish(Unchanged)
}

// notifyOthers marks what this session left to other sites and what required j as owing a refresh there: a daemon that
// stays reads its configuration again when j has gone.
func (x *session) notifyOthers(j *operation) {
	for _, e := range x.left {
		if _, refreshes := x.types[e.Type].(types.Refresher); !refreshes || !slices.Contains(e.Requires, j.id) {
			continue
		}
		for _, other := range x.ledger.OfOthers(e.Key()) {
			if !x.ledger.IsPending(other.Key()) {
				x.ledger.AddPending(other.Key())
			}
		}
	}
}

// wantLimit bounds the value of a parameter in [ledger.Entry.Wants], in bytes. A longer one is there as its length and
// digest.
const wantLimit = 60

// meansAs reports whether an entry of another site wants the same as j where both write it in different ways: j differs
// in the names or versions of secrets alone, whose contents [session.hasSecretOf] compares; or with what the entry has
// in place of what differs, j means the same and has the digest of the entry. What the ledger has only as a digest, or
// hides, must be written in the same way.
func (j *operation) meansAs(e *ledger.Entry) bool {
	if e.Rest != "" && e.Rest == j.withoutSecrets() {
		return true
	}
	if e.Wants == nil {
		return false
	}
	r, ours := j.asGiven(), j.wants()
	if j.named != nil {
		r = *j.named
	}
	written := r
	if written.Parameters = maps.Clone(r.Parameters); written.Parameters == nil {
		written.Parameters = resource.Parameters{}
	}
	for name := range ours {
		if _, has := e.Wants[name]; !has {
			delete(written.Parameters, name)
		}
	}
	for name, theirs := range e.Wants {
		var value any
		switch {
		case ours[name] == theirs:
			continue
		case json.Unmarshal([]byte(theirs), &value) != nil:
			return false
		}
		written.Parameters[name] = value
	}
	declared := j.typ.Schema()
	return resource.Digest(written) == e.Digest && resource.Canonical(map[string]any(declared.Meaning(written))) ==
		resource.Canonical(map[string]any(declared.Meaning(r)))
}

// asGiven is the resource as it came, without what returns.
func (j *operation) asGiven() resource.Resource {
	if j.given != nil {
		return *j.given
	}
	return j.Resource
}

// wants returns the parameters of an item as other sites may see them.
func (j *operation) wants() map[string]string {
	r := j.asGiven()
	if len(r.Parameters) == 0 {
		return nil
	}
	out := make(map[string]string, len(r.Parameters))
	secrets := j.secrets()
	hidden := func(name string) bool {
		return j.named != nil || slices.ContainsFunc(j.parameters(), func(p resource.Parameter) bool {
			return p.Name == name && j.secret(p)
		})
	}
	for name, value := range r.Parameters {
		if name == resource.SourceFile {
			continue // of one controller
		}
		text := resource.Canonical(value)
		plain := fmt.Sprint(value) + text
		repeats := slices.ContainsFunc(secrets, func(secret string) bool { return strings.Contains(plain, secret) })
		switch {
		case name != resource.Sensitive && hidden(name) || repeats:
			text = types.Hidden
		case len(text) > wantLimit:
			if plain, ok := value.(string); ok {
				text = plain
			}
			text = fmt.Sprintf("%d bytes {sha256}%.8s", len(text), resource.SHA256(text))
		}
		out[name] = text
	}
	return out
}

// differencesTo says which parameters differ from what another site wants; it is empty where that is not recorded.
func (j *operation) differencesTo(theirs map[string]string) string {
	if theirs == nil {
		return ""
	}
	ours := j.wants()
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	show := func(values map[string]string, beside, name string) string {
		switch value, given := values[name]; {
		case !given:
			return "not set"
		case beside == types.Hidden:
			return types.Hidden
		default:
			return value
		}
	}
	var parts []string
	hidden := false
	for _, name := range slices.Sorted(maps.Keys(all)) {
		hidden = hidden || ours[name] == types.Hidden
		if ours[name] != theirs[name] {
			parts = append(parts, fmt.Sprintf("%s is %s here and %s there", name, show(ours, theirs[name], name),
				show(theirs, ours[name], name)))
		}
	}
	switch {
	case len(parts) == 0 && hidden:
		return ", in what is sensitive"
	case len(parts) == 0:
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
