package converge

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

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
