package types

import (
	"maps"
	"slices"
	"strings"
)

// without lists the recommendations that no package on the node fulfils, as `package: clause`, sorted. What the node
// did without before slipway came is no reason to keep a package that slipway brought.
func (db dpkgDatabase) without() []string {
	providers := db.providers()
	var out []string
	for key, p := range db.packages {
		if p.condition != conditionInstalled {
			continue
		}
		for _, r := range p.recommends {
			if len(providers.of(r)) == 0 {
				out = append(out, key+": "+r.text)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unneeded returns target and those of came that nothing but target and themselves needs, sorted: what can go without
// loss to anyone else. A package that stays needs what it depends on, and what it recommends unless the node did
// without that before. Without target in the result, neededBy names a package that depends on it. All names are keys.
//
// When several packages brought the same companion, the first to go leaves it to the others and the last takes it
// along.
func (db dpkgDatabase) unneeded(target string, came []string, without []string) (out []string, neededBy string) {
	leaving := map[string]bool{}
	for _, key := range append(slices.Clone(came), target) {
		if p := db.packages[key]; p.condition == conditionInstalled || p.condition == conditionBroken {
			leaving[key] = true
		}
	}
	providers := db.providers()
	missed := map[string]bool{}
	for _, w := range without {
		missed[w] = true
	}
	keys := slices.Sorted(maps.Keys(db.packages))

	// A clause that only one leaving package fulfils decides first; only then does a clause with a choice keep its first
	// choice, so that no more stays than must.
	for choose := false; ; {
		changed := false
		for _, key := range keys {
			p := db.packages[key]
			if leaving[key] || p.condition != conditionInstalled && p.condition != conditionBroken {
				continue
			}
			keep := func(r dpkgRelation, hard bool) {
				var lost []string
				for _, q := range providers.of(r) {
					if !leaving[q] {
						return
					}
					if hard || q != target {
						lost = append(lost, q)
					}
				}
				if len(lost) == 1 || len(lost) > 1 && choose {
					delete(leaving, lost[0])
					changed = true
					if lost[0] == target {
						neededBy = key
					}
				}
			}
			for _, r := range p.depends {
				keep(r, true)
			}
			for _, r := range p.recommends {
				if !missed[key+": "+r.text] {
					keep(r, false)
				}
			}
		}
		switch {
		case changed:
			choose = false
		case choose:
			return slices.Sorted(maps.Keys(leaving)), neededBy
		default:
			choose = true
		}
	}
}

// needs returns the keys of target and of all on the node that it depends on, that it recommends, and that these do.
func (db dpkgDatabase) needs(target string) map[string]bool {
	providers, needed, todo := db.providers(), map[string]bool{}, []string{target}
	for len(todo) > 0 {
		key := todo[0]
		if todo = todo[1:]; needed[key] {
			continue
		}
		needed[key] = true
		p := db.packages[key]
		for _, r := range slices.Concat(p.depends, p.recommends) {
			todo = append(todo, providers.of(r)...)
		}
	}
	return needed
}

// dpkgProviders is, for each name, the keys of the packages that have or provide it.
type dpkgProviders map[string][]string

func (db dpkgDatabase) providers() dpkgProviders {
	out := dpkgProviders{}
	for _, key := range slices.Sorted(maps.Keys(db.packages)) {
		p := db.packages[key]
		if p.condition != conditionInstalled && p.condition != conditionBroken {
			continue
		}
		out[p.name] = append(out[p.name], key)
		for _, name := range p.provides {
			if name != p.name {
				out[name] = append(out[name], key)
			}
		}
	}
	return out
}

// of returns the packages that fulfil a clause, in the clause's order of preference.
func (p dpkgProviders) of(r dpkgRelation) []string {
	var out []string
	for _, name := range r.names {
		for _, key := range p[name] {
			if !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	return out
}

// aptPlan is what `apt-get -s` says it would do, by key.
type aptPlan struct {
	install []string        // packages that would be new
	upgrade []string        // packages that are there in another version
	remove  []packageGone   // packages that would go
	removes map[string]bool // the same, to look up
}

// parseAptPlan reads `Inst name [old] (new ...)`, `Remv name [old]` and `Purg name [old]`.
func parseAptPlan(text string) aptPlan {
	plan := aptPlan{removes: map[string]bool{}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		old := ""
		if len(words) > 2 && strings.HasPrefix(words[2], "[") {
			old = strings.Trim(words[2], "[]")
		}
		switch words[0] {
		case "Inst":
			if old == "" {
				plan.install = append(plan.install, words[1])
			} else {
				plan.upgrade = append(plan.upgrade, words[1])
			}
		case "Remv", "Purg":
			if !plan.removes[words[1]] {
				plan.removes[words[1]] = true
				plan.remove = append(plan.remove, packageGone{Name: words[1], Version: old})
			}
		}
	}
	return plan
}

// only reports whether the plan removes nothing but keys and installs nothing.
func (p aptPlan) only(keys []string) bool {
	for _, r := range p.remove {
		if !slices.Contains(keys, r.Name) {
			return false
		}
	}
	return len(p.install)+len(p.upgrade) == 0
}
