package types

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// dpkgPackage is what dpkg's status database says of one package that is, or was, on the node.
type dpkgPackage struct {
	name       string
	arch       string
	version    string
	condition  packageCondition
	status     string // dpkg's own word for the condition: half-configured
	held       bool
	unwanted   bool           // dpkg's selection is to remove or purge it
	depends    []dpkgRelation // Depends and Pre-Depends
	recommends []dpkgRelation
	provides   []string
}

// dpkgRelation is one clause of a relation field: any of its names fulfils it.
type dpkgRelation struct {
	text  string // as written, for recognising it again
	names []string
}

// dpkgDatabase is dpkg's knowledge by key: the name for packages of the node's own architecture and for those of all,
// `name:arch` for the others, which is also how apt writes them.
type dpkgDatabase struct {
	native   string
	packages map[string]dpkgPackage
}

const (
	dpkgStatus  = "/var/lib/dpkg/status"
	dpkgUpdates = "/var/lib/dpkg/updates"
	aptExtended = "/var/lib/apt/extended_states"
)

// statusReinstall stands for dpkg's error flag.
const statusReinstall = "broken, to be reinstalled"

// readDpkg reads the status database, with what an interrupted dpkg did not yet merge into it.
func readDpkg(s *Session) (dpkgDatabase, error) {
	return system.Remember(s.System, "dpkg", func() (dpkgDatabase, error) {
		status, err := s.ReadFile(dpkgStatus)
		if err != nil {
			return dpkgDatabase{}, err
		}
		texts := []string{string(status)}
		updates, err := pendingUpdates(s)
		if err != nil {
			return dpkgDatabase{}, err
		}
		for _, name := range updates {
			text, err := s.ReadFile(path.Join(dpkgUpdates, name))
			if err != nil {
				return dpkgDatabase{}, err
			}
			texts = append(texts, string(text))
		}
		return parseDpkg(texts...), nil
	})
}

// pendingUpdates lists the journal files of a dpkg that was interrupted, in order.
func pendingUpdates(s *Session) ([]string, error) {
	names, err := s.ReadDir(dpkgUpdates)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, name := range names {
		if strings.Trim(name, "0123456789") == "" {
			out = append(out, name)
		}
	}
	return out, err
}

// parseDpkg reads status databases; what comes later replaces what came before. The node's own architecture is that of
// the package dpkg, so no command is needed to learn it.
func parseDpkg(texts ...string) dpkgDatabase {
	type identity struct{ name, arch string }
	all := map[identity]dpkgPackage{}
	for _, text := range texts {
		for fields := range stanzas(text) {
			p := newDpkgPackage(fields)
			if p.name != "" {
				all[identity{p.name, p.arch}] = p
			}
		}
	}
	db := dpkgDatabase{packages: make(map[string]dpkgPackage, len(all))}
	for _, p := range all {
		if p.name == "dpkg" && p.condition == conditionInstalled {
			db.native = p.arch
		}
	}
	for _, p := range all {
		key := db.key(p.name, p.arch)
		// A package that moved from its own architecture to all leaves a stanza behind: the living one counts.
		if other, ok := db.packages[key]; ok && other.condition >= p.condition {
			continue
		}
		db.packages[key] = p
	}
	return db
}

func newDpkgPackage(fields map[string]string) dpkgPackage {
	p := dpkgPackage{name: fields["Package"], arch: fields["Architecture"], version: fields["Version"]}
	words := strings.Fields(fields["Status"]) // want, error flag, state: `install ok installed`
	if len(words) != 3 {
		return p
	}
	p.held, p.unwanted = words[0] == "hold", words[0] == "deinstall" || words[0] == "purge"
	p.status = words[2]
	switch p.status {
	case "installed", "triggers-pending", "triggers-awaited":
		p.condition = conditionInstalled
	case "not-installed":
		p.condition = conditionGone
	case "config-files":
		p.condition = conditionConffiles
	default: // half-installed, unpacked, half-configured
		p.condition = conditionBroken
	}
	if words[1] == "reinstreq" {
		p.condition, p.status = conditionBroken, statusReinstall
	}
	p.depends = append(parseRelations(fields["Pre-Depends"]), parseRelations(fields["Depends"])...)
	p.recommends = parseRelations(fields["Recommends"])
	for _, r := range parseRelations(fields["Provides"]) {
		p.provides = append(p.provides, r.names...)
	}
	return p
}

// stanzas yields the fields of each stanza of a control file. Continuation lines are left out: no field that is read
// here has any.
func stanzas(text string) func(yield func(map[string]string) bool) {
	return func(yield func(map[string]string) bool) {
		fields := map[string]string{}
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if line == "" {
				if len(fields) > 0 && !yield(fields) {
					return
				}
				fields = map[string]string{}
				continue
			}
			if name, value, ok := strings.Cut(line, ":"); ok && line[0] != ' ' && line[0] != '\t' {
				fields[name] = strings.TrimSpace(value)
			}
		}
		if len(fields) > 0 {
			yield(fields)
		}
	}
}

// parseRelations reads `a (>= 1) | b, c:any`. Versions are left out: of an installed package, they are fulfilled.
func parseRelations(field string) []dpkgRelation {
	var out []dpkgRelation
	for clause := range strings.SplitSeq(field, ",") {
		clause = strings.TrimSpace(clause)
		if clause == "" {
			continue
		}
		r := dpkgRelation{text: clause}
		for alternative := range strings.SplitSeq(clause, "|") {
			name, _, _ := strings.Cut(strings.TrimSpace(alternative), " ")
			name, _, _ = strings.Cut(name, "(")
			name, _, _ = strings.Cut(name, ":")
			if name != "" {
				r.names = append(r.names, name)
			}
		}
		out = append(out, r)
	}
	return out
}

// key names a package of an architecture.
func (db dpkgDatabase) key(name, arch string) string {
	if arch == "" || arch == "all" || arch == "native" || arch == db.native {
		return name
	}
	return name + ":" + arch
}

// find returns the package that a user or apt calls name or name:arch. A name without architecture that the node's own
// does not have is that of any other architecture, as for apt.
func (db dpkgDatabase) find(name string) (key string, p dpkgPackage) {
	bare, arch, _ := strings.Cut(name, ":")
	key = db.key(bare, arch)
	p, ok := db.packages[key]
	if ok && p.condition != conditionGone || arch != "" {
		return key, p
	}
	foreign := ""
	for k, other := range db.packages {
		if other.name == bare && other.condition == conditionInstalled && (foreign == "" || k < foreign) {
			foreign = k
		}
	}
	if foreign != "" {
		return foreign, db.packages[foreign]
	}
	return key, p
}

// keyOf returns the key of what a user calls name or name:arch.
func (db dpkgDatabase) keyOf(name string) string {
	key, _ := db.find(name)
	return key
}

// state returns what the type compares.
func (db dpkgDatabase) state(name string) packageState {
	_, p := db.find(name)
	state := packageState{condition: p.condition, held: p.held}
	switch p.condition {
	case conditionInstalled:
		state.versions = []string{p.version}
	case conditionBroken:
		state.trouble = p.status
	}
	return state
}

// halfInstalled reports whether files of the package are missing: only another installation completes it.
func (p dpkgPackage) halfInstalled() bool {
	return p.status == "half-installed" || p.status == statusReinstall
}

// unfinished lists the packages that dpkg has still to configure, or whose triggers it has still to run, with their
// states.
func (db dpkgDatabase) unfinished() []string {
	var out []string
	for key, p := range db.packages {
		switch p.status {
		case "unpacked", "half-configured", "triggers-pending", "triggers-awaited":
			out = append(out, key+" is "+p.status)
		}
	}
	slices.Sort(out)
	return out
}

// readAuto reads which packages apt installed only because others need them, by key.
func readAuto(s *Session, db dpkgDatabase) (map[string]bool, error) {
	text, err := s.ReadFile(aptExtended)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	auto := map[string]bool{}
	for fields := range stanzas(string(text)) {
		if fields["Auto-Installed"] == "1" {
			auto[db.key(fields["Package"], fields["Architecture"])] = true
		}
	}
	return auto, nil
}
