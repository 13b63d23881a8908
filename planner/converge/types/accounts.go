package types

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// shadowTool returns an error when the node has not got one of the shadow tools.
func shadowTool(s *Session, name string) error {
	found, err := s.FirstThere("/usr/sbin/"+name, "/sbin/"+name, "/usr/bin/"+name)
	if err == nil && found == "" {
		err = fmt.Errorf("the node has no %s; install the package that brings it (passwd on Debian, "+
			"shadow-utils on Fedora, shadow on Alpine)", name)
	}
	return err
}

// groupNamed returns the name of the group with an id, empty when there is none; of several, the first by name.
func groupNamed(groups map[string]system.Group, gid int) string {
	found := ""
	for name, g := range groups {
		if g.GID == gid && (found == "" || name < found) {
			found = name
		}
	}
	return found
}

// memberships returns the names of the groups that list user as a member, sorted.
func memberships(groups map[string]system.Group, user string) []string {
	var out []string
	for name, g := range groups {
		if slices.Contains(g.Members, user) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// newID returns the id that useradd and groupadd give, in the range of login.defs: the one above the highest in use, or
// for an account of the system below the lowest, and else the first that is free. kind is UID or GID.
func newID(s *Session, kind string, system bool, used map[int]bool) (int, error) {
	defs, err := loginDefs(s)
	if err != nil {
		return 0, err
	}
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(defs[name]); err == nil {
			return n
		}
		return otherwise
	}
	least, most := number(kind+"_MIN", 1000), number(kind+"_MAX", 60000)
	if !system {
		id := least
		for other := range used {
			if other <= most {
				id = max(id, other+1)
			}
		}
		return freeID(id, least, most, 1, used)
	}
	least, most = number("SYS_"+kind+"_MIN", 101), number("SYS_"+kind+"_MAX", least-1)
	id := most
	for other := range used {
		if other >= least {
			id = min(id, other-1)
		}
	}
	return freeID(id, most, least, -1, used)
}

// freeID returns the first id that is not in use from one to the last, or else from the first.
func freeID(from, first, last, step int, used map[int]bool) (int, error) {
	for _, id := range []int{from, first} {
		for ; (last-id)*step >= 0; id += step {
			if !used[id] {
				return id, nil
			}
		}
	}
	return 0, errors.New("all ids of /etc/login.defs are in use")
}

// loginDefs reads /etc/login.defs, where it is there.
func loginDefs(s *Session) (map[string]string, error) {
	return settingsOf(s, "/etc/login.defs", func(line string) (name, value string) {
		if words := strings.Fields(line); len(words) > 1 {
			return words[0], words[1]
		}
		return "", ""
	})
}

// useraddDefaults reads useradd's defaults, where they are there.
func useraddDefaults(s *Session) (map[string]string, error) {
	return settingsOf(s, "/etc/default/useradd", func(line string) (name, value string) {
		name, value, _ = strings.Cut(strings.TrimSpace(line), "=")
		return name, value
	})
}

// settingsOf reads a file with a setting on each line; of several with one name, the last counts.
func settingsOf(s *Session, file string, parse func(line string) (name, value string)) (map[string]string, error) {
	content, err := s.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	settings := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if name, value := parse(line); value != "" {
			settings[name] = value
		}
	}
	return settings, nil
}
