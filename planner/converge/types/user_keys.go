package types

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// keysPurged names the parameter of a user whose keys go that no resource manages, as in Puppet.
const keysPurged = "purge_ssh_keys"

// anyKey finds all keys of an authorized_keys.
var anyKey = authorizedKeys.find(func(row) bool { return true })

// keyFilesOf returns the files whose keys r purges.
func keyFilesOf(s *Session, r resource.Resource) ([]string, error) {
	if !r.Parameters.Has(keysPurged) {
		return nil, nil
	}
	name := schema.AccountName(r)
	users, err := s.Users()
	if err != nil {
		return nil, err
	}
	home := users[name].Home
	if home == "" {
		home = r.Parameters.String("home")
	}
	if home == "" {
		if home, err = newHome(s, name); err != nil {
			return nil, err
		}
	}
	return schema.PurgedKeyFiles(r, home), nil
}

// unmanagedKeys finds the keys in a file that no resource of any site manages.
func unmanagedKeys(s *Session, file string) (finder, error) {
	resolved, managed := s.ResolveLinks(file, true), map[string]bool{}
	for _, w := range s.Wanted {
		if w.Type != schema.SSHAuthorizedKey().Type {
			continue
		}
		// one whose user is not there yet has no key there
		if in, _, err := (authorizedKeyType{}).fileOf(s, w); err == nil && s.ResolveLinks(in, true) == resolved {
			managed[schema.KeyName(w)] = true
		}
	}
	if s.Ledger != nil {
		for _, e := range s.Ledger.Entries {
			var b struct{ In, Name string }
			if e.Type != schema.SSHAuthorizedKey().Type {
				continue
			}
			if err := json.Unmarshal(e.Before, &b); err != nil {
				return nil, fmt.Errorf("the ledger's record of %s: %w", e.ID, err)
			}
			if b.In != "" && s.ResolveLinks(b.In, true) == resolved {
				managed[b.Name] = true
			}
		}
	}
	return authorizedKeys.find(func(e row) bool { return !managed[e["name"]] }), nil
}

// eachPurged calls each for the files whose keys r purges, with the lines of those that no resource manages.
func eachPurged(s *Session, r resource.Resource, each func(*textFile, []span) error) error {
	files, err := keyFilesOf(s, r)
	if err != nil {
		return err
	}
	for _, file := range files {
		find, err := unmanagedKeys(s, file)
		if err != nil {
			return err
		}
		f, err := s.readText(file)
		if err != nil {
			return err
		}
		if err := each(f, find(f.lines)); err != nil {
			return err
		}
	}
	return nil
}

// compareKeys returns which keys are to go: their comments, or types where they have none.
func compareKeys(s *Session, r resource.Resource) ([]Difference, error) {
	var going []string
	err := eachPurged(s, r, func(f *textFile, found []span) error {
		for _, x := range found {
			e, _ := authorizedKeys.parse(f.lines[x.from].text)
			if e["name"] == "" {
				e["name"] = e["type"]
			}
			going = append(going, e["name"])
		}
		return nil
	})
	if err != nil || len(going) == 0 {
		return nil, err
	}
	shown := going[:min(len(going), namesShown)]
	is := strings.Join(shown, ", ") + andMore(len(going)-len(shown))
	return []Difference{{Parameter: keysPurged, Is: is, Should: fileAbsent}}, nil
}

// purgeKeys removes the keys that no resource manages.
func purgeKeys(s *Session, r resource.Resource) error {
	return eachPurged(s, r, func(f *textFile, found []span) error {
		for _, x := range slices.Backward(found) {
			f.lines = f.lines.remove(x)
		}
		return f.write(s, system.Attributes{})
	})
}

// keepKeys takes down the keys that r purges, of each file once: those that others add later are not slipway's to bring
// back.
func (b *userBefore) keepKeys(s *Session, r resource.Resource) error {
	files, err := keyFilesOf(s, r)
	if err != nil || !b.Want {
		return err
	}
	for _, file := range files {
		if slices.ContainsFunc(b.Keys, func(known entries) bool { return known.In == file }) {
			continue
		}
		find, err := unmanagedKeys(s, file)
		if err != nil {
			return err
		}
		e, err := s.remember(r.Sensitive(), file, find)
		if err != nil {
			return err
		}
		b.Keys = append(b.Keys, e)
	}
	return nil
}

// keysNow takes down all keys of the files in which some have been purged.
func (b *userBefore) keysNow(s *Session) (now []entries, err error) {
	for _, known := range b.Keys {
		e, err := s.remember(true, known.In, anyKey)
		if err != nil {
			return nil, err
		}
		e.Image = true
		now = append(now, e)
	}
	return now, nil
}

// undoKeys brings back the keys that were purged and are not there.
func (b *userBefore) undoKeys(s *Session) (err error) {
	for _, e := range b.Keys {
		if len(e.Former) == 0 && e.Kept == "" {
			continue
		}
		err = alsoGone(err, e.undo(s, anyKey, system.Attributes{}, func(l lines, found []span, former []block) lines {
			missing := slices.DeleteFunc(slices.Clone(former), func(b block) bool {
				return slices.ContainsFunc(found, func(x span) bool { return l[x.from].text == b.Lines[0] })
			})
			return l.restore(nil, missing, 0)
		}))
	}
	return err
}
