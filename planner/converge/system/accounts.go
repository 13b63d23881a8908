package system

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// User is an entry of /etc/passwd, with the password hash of /etc/shadow where it can be read.
type User struct {
	Name     string
	UID, GID int
	Comment  string
	Home     string
	Shell    string
	Hash     string
	Ageing   []string // the fields of /etc/shadow after the hash: last change, minimum, maximum, warning, inactive, expiry
}

// Age returns a field of Ageing, empty where nothing is said.
func (u User) Age(field int) string {
	if field < len(u.Ageing) {
		return u.Ageing[field]
	}
	return ""
}

// Group is an entry of /etc/group, with the password hash and the administrators of /etc/gshadow where it can be read.
type Group struct {
	Name    string
	GID     int
	Members []string
	Hash    string
	Admins  []string
}

// Users reads the node's own database, by name; it is read once until Forget. A node without one has no users.
func (s *System) Users() (map[string]User, error) {
	return Remember(s, "converge.users", s.readUsers)
}

// Groups reads the node's own database, by name; it is read once until Forget. A node without one has no groups.
func (s *System) Groups() (map[string]Group, error) {
	return Remember(s, "converge.groups", s.readGroups)
}

// Accounts reads both.
func (s *System) Accounts() (map[string]User, map[string]Group, error) {
	users, err := s.Users()
	if err != nil {
		return nil, nil, err
	}
	groups, err := s.Groups()
	return users, groups, err
}

func (s *System) readUsers() (map[string]User, error) {
	users := map[string]User{}
	err := s.readAccounts("/etc/passwd", 7, func(f []string) {
		uid, uidErr := strconv.Atoi(f[2])
		gid, gidErr := strconv.Atoi(f[3])
		if _, twice := users[f[0]]; uidErr == nil && gidErr == nil && !twice { // the first entry of a name counts, as in libc
			users[f[0]] = User{Name: f[0], UID: uid, GID: gid, Comment: f[4], Home: f[5], Shell: f[6]}
		}
	})
	if err != nil {
		return nil, err
	}
	err = s.readAccounts("/etc/shadow", 2, func(f []string) {
		if u, ok := users[f[0]]; ok && u.Hash == "" {
			u.Hash = f[1]
			if len(f) >= 8 {
				u.Ageing = f[2:8]
			}
			users[f[0]] = u
		}
	})
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	return users, nil
}

func (s *System) readGroups() (map[string]Group, error) {
	groups := map[string]Group{}
	err := s.readAccounts("/etc/group", 4, func(f []string) {
		gid, gidErr := strconv.Atoi(f[2])
		if _, twice := groups[f[0]]; gidErr == nil && !twice {
			groups[f[0]] = Group{Name: f[0], GID: gid, Members: names(f[3])}
		}
	})
	if err != nil {
		return nil, err
	}
	err = s.readAccounts("/etc/gshadow", 4, func(f []string) {
		if g, ok := groups[f[0]]; ok && g.Hash == "" {
			g.Hash, g.Admins = f[1], names(f[2])
			groups[f[0]] = g
		}
	})
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	return groups, nil
}

// names splits a list of /etc/group.
func names(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// SubordinateIDs returns the ranges, as FIRST-LAST, that a file like /etc/subuid gives a user by name (subuid(5)).
func (s *System) SubordinateIDs(path, user string) ([]string, error) {
	var ranges []string
	err := s.readAccounts(path, 3, func(f []string) {
		first, err := strconv.ParseUint(f[1], 10, 32)
		count, countErr := strconv.ParseUint(f[2], 10, 32)
		if f[0] == user && err == nil && countErr == nil && count > 0 {
			ranges = append(ranges, fmt.Sprintf("%d-%d", first, first+count-1))
		}
	})
	return ranges, err
}

// readAccounts calls each for the fields of every line that has at least that many; a file that is not there has no
// lines.
func (s *System) readAccounts(path string, fields int, each func([]string)) error {
	content, err := s.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(content)) {
		if f := strings.Split(strings.TrimRight(line, "\r\n"), ":"); len(f) >= fields && f[0] != "" && f[0][0] != '#' {
			each(f)
		}
	}
	return nil
}

// LookupUser returns the numeric id of a user given by name or number; ok is false for a name that the node does not
// know.
func (s *System) LookupUser(name string) (uid int, ok bool, err error) {
	users, err := s.Users()
	if u, found := users[name]; found || err != nil {
		return u.UID, found, err
	}
	uid, ok = schema.AccountNumber(name)
	return uid, ok, nil
}

// LookupGroup returns the numeric id of a group given by name or number; ok is false for a name that the node does not
// know.
func (s *System) LookupGroup(name string) (gid int, ok bool, err error) {
	groups, err := s.Groups()
	if g, found := groups[name]; found || err != nil {
		return g.GID, found, err
	}
	gid, ok = schema.AccountNumber(name)
	return gid, ok, nil
}

// identity is a user as the kernel knows it.
type identity struct {
	user   User
	groups []uint32 // supplementary
}

// identify finds a user of the node, with the groups that list it as a member.
func (s *System) identify(name string) (identity, error) {
	users, groups, err := s.Accounts()
	if err != nil {
		return identity{}, err
	}
	user, ok := users[name]
	if !ok {
		return identity{}, fmt.Errorf("user %q: no such user on the node; create it first, or name one that is there", name)
	}
	id := identity{user: user, groups: []uint32{uint32(user.GID)}}
	for _, g := range groups {
		for _, member := range g.Members {
			if member == name && g.GID != user.GID {
				id.groups = append(id.groups, uint32(g.GID))
			}
		}
	}
	return id, nil
}
