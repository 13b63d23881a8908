package types

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// userBefore is what Capture records. Of a user that stays, only what the resource says something of is brought back: a
// password that the user has changed since is not slipway's.
type userBefore struct {
	Name    string   `json:"name"`
	Want    bool     `json:"want"` // slipway wanted it to be there
	Existed bool     `json:"existed"`
	Said    []string `json:"said,omitempty"` // the parameters of a user that is to be there that were given so far
	// Later lists those of Said that were given after slipway had made the user: what it had before that is known.
	Later  []string `json:"later,omitempty"`
	UID    int      `json:"uid,omitempty"`
	GID    int      `json:"gid,omitempty"`
	Groups []string `json:"groups,omitempty"` // without the primary one
	// Administers lists the groups of which a user that was to go was an administrator (gpasswd(1)).
	Administers []string `json:"administers,omitempty"`
	// Subordinate are the subordinate ids of a user that was to go; nil in ledgers of earlier versions.
	Subordinate *subordinate `json:"subordinate,omitempty"`
	Comment     octets       `json:"comment,omitempty"`
	Home        octets       `json:"home,omitempty"`
	Shell       octets       `json:"shell,omitempty"`
	// Homeless says that a user that was to go had no home directory.
	Homeless bool   `json:"homeless,omitempty"`
	Hash     string `json:"hash,omitempty"` // the name of a kept file that holds it: the ledger holds no secrets
	// Ageing is what /etc/shadow says after the hash (User.Ageing), where that is given again.
	Ageing []string `json:"ageing,omitempty"`
	// Age has fields of /etc/shadow of a user that stays, by the parameter that the resource gave.
	Age map[string]string `json:"age,omitempty"`
	// Listed are the groups that the resource has named so far; Inclusive says that the user was to be in no others.
	Listed    []string `json:"listed,omitempty"`
	Inclusive bool     `json:"inclusive,omitempty"`
	// Moves says that the content of the home directory moves with it.
	Moves bool `json:"moves,omitempty"`
	// Keys are those of authorized_keys that purge_ssh_keys takes away, by file.
	Keys []entries `json:"keys,omitempty"`
	// Private is the group of the user's name, which userdel takes along with the user.
	Private *groupBefore `json:"private,omitempty"`
	// MakesHome lists the home directories that come with the user, none when it was there or is not slipway's to manage.
	MakesHome []string `json:"makes_home,omitempty"`
}

// subordinate are the ranges of ids that a user may give to its containers, as FIRST-LAST.
type subordinate struct {
	UIDs []string `json:"uids,omitempty"`
	GIDs []string `json:"gids,omitempty"`
}

func subordinateOf(s *Session, user string) (*subordinate, error) {
	uids, err := s.SubordinateIDs("/etc/subuid", user)
	if err != nil {
		return nil, err
	}
	gids, err := s.SubordinateIDs("/etc/subgid", user)
	return &subordinate{uids, gids}, err
}

// userAttributes are the parameters whose former values can be brought back.
var userAttributes = append([]string{"uid", "gid", "groups", "comment", "home", "shell", "password"}, ageParameters...)

func (userType) capture(_ context.Context, s *Session, r resource.Resource) (*userBefore, error) {
	b, err := captureUser(s, r)
	if err == nil {
		err = b.keepKeys(s, r)
	}
	return &b, wrapUser(b.Name, err)
}

func captureUser(s *Session, r resource.Resource) (userBefore, error) {
	b := userBefore{Name: schema.AccountName(r), Want: schema.AccountWanted(r)}
	users, groups, err := s.Accounts()
	if err != nil {
		return b, err
	}
	u, existed := users[b.Name]
	b.Existed = existed
	if _, private := groups[b.Name]; private {
		group, err := captureGroup(s, groups, b.Name, existed && b.Want)
		if err != nil {
			return b, err
		}
		group.Want, b.Private = true, &group
	}
	switch {
	case !existed:
		b.note(r.Parameters)
		made, err := homeToMake(s, b.Name, r.Parameters)
		if made != "" {
			b.MakesHome = []string{made}
		}
		return b, err
	case b.Want:
		return b, b.widen(s, r.Parameters, u, groups)
	}
	home := false
	if path.IsAbs(u.Home) {
		if home, err = s.Exists(u.Home); err != nil && !errors.Is(err, syscall.ENOTDIR) {
			return b, err
		}
	}
	b.Homeless = !home
	b.UID, b.GID, b.Groups, b.Administers = u.UID, u.GID, supplementary(u, groups), administered(b.Name, groups)
	b.Comment, b.Home, b.Shell = octets(u.Comment), octets(u.Home), octets(u.Shell)
	if b.Subordinate, err = subordinateOf(s, b.Name); err != nil {
		return b, err
	}
	return b, b.keepHash(s, u)
}

// now takes down all of the user. The content of a home directory that goes with it does not come back.
func (userType) now(_ context.Context, s *Session, _ string, b *userBefore) (*userBefore, error) {
	absent := resource.Resource{Title: b.Name, Parameters: resource.Parameters{"ensure": "absent"}}
	n, err := captureUser(s, absent)
	n.Moves = b.Moves
	if !n.Existed {
		n.Want, n.MakesHome = true, b.MakesHome
	}
	if err == nil {
		n.Keys, err = b.keysNow(s)
	}
	return &n, wrapUser(b.Name, err)
}

// widen takes down what r says something of for the first time.
func (userType) widen(_ context.Context, s *Session, r resource.Resource, b *userBefore) error {
	users, groups, err := s.Accounts()
	if err != nil {
		return wrapUser(b.Name, err)
	}
	u, there := users[b.Name]
	switch {
	case !b.Want, !there && b.Existed:
		return nil
	case !there:
		b.note(r.Parameters)
	default:
		err = b.widen(s, r.Parameters, u, groups)
	}
	if err == nil && there && !b.Existed {
		err = b.followHome(s, r.Parameters, u)
	}
	if err == nil {
		err = b.keepKeys(s, r)
	}
	return wrapUser(b.Name, err)
}

// note takes down what is said of a user that slipway makes.
func (b *userBefore) note(p resource.Parameters) {
	for _, name := range userAttributes {
		if b.Want && p.Has(name) && !b.says(name) {
			b.Said = append(b.Said, name)
		}
	}
	b.Listed = sortedUnion(b.Listed, p.Strings("groups"))
}

func (b *userBefore) widen(s *Session, p resource.Parameters, u system.User, groups map[string]system.Group) error {
	for _, name := range userAttributes {
		if !p.Has(name) || b.says(name) {
			continue
		}
		if b.Said = append(b.Said, name); !b.Existed {
			b.Later = append(b.Later, name)
		}
		switch name {
		case "uid":
			b.UID = u.UID
		case "gid":
			b.GID = u.GID
		case "comment":
			b.Comment = octets(u.Comment)
		case "home":
			b.Home = octets(u.Home)
		case "shell":
			b.Shell = octets(u.Shell)
		case "password":
			if err := b.keepHash(s, u); err != nil {
				return err
			}
		}
		if field, is := ageField(name); is {
			if b.Age == nil {
				b.Age = map[string]string{}
			}
			b.Age[name] = u.Age(field)
		}
	}
	b.widenGroups(p, u, groups)
	b.Moves = b.Moves || p.Has("home") && p.Bool("managehome")
	return nil
}

// widenGroups notes which of the groups that the resource speaks of for the first time the user is in.
func (b *userBefore) widenGroups(p resource.Parameters, u system.User, groups map[string]system.Group) {
	if !p.Has("groups") {
		return
	}
	listed := p.Strings("groups")
	inclusive := p.String("membership") == inclusive
	for _, g := range supplementary(u, groups) {
		spokenOf := b.Inclusive || slices.Contains(b.Listed, g)
		if !spokenOf && (inclusive || slices.Contains(listed, g)) {
			b.Groups = sortedUnion(b.Groups, []string{g})
		}
	}
	b.Listed = sortedUnion(b.Listed, listed)
	b.Inclusive = b.Inclusive || inclusive
}

// followHome notes where the home directory that came with the user goes.
func (b *userBefore) followHome(s *Session, p resource.Parameters, u system.User) error {
	to, moves := p.String("home"), p.Bool("managehome")
	if to == "" && b.says("home") { // it returns
		var err error
		if to, err = b.formerHome(s); err != nil {
			return err
		}
		moves = true
	}
	if to == "" || to == u.Home || !moves || !slices.Contains(b.MakesHome, u.Home) {
		return nil
	}
	there, err := s.Exists(to)
	if err == nil && !there {
		b.MakesHome = sortedUnion(b.MakesHome, []string{to})
	}
	return err
}

func (b userBefore) says(name string) bool { return slices.Contains(b.Said, name) }

// homeToMake returns the home directory that useradd is going to make, empty when it makes none or finds one.
func homeToMake(s *Session, name string, p resource.Parameters) (string, error) {
	if !schema.AccountWanted(resource.Resource{Parameters: p}) || !p.Bool("managehome") {
		return "", nil
	}
	home := p.String("home")
	if home == "" {
		var err error
		if home, err = newHome(s, name); err != nil {
			return "", err
		}
	}
	there, err := s.Exists(home)
	if err != nil || there {
		return "", err
	}
	return home, nil
}

// newHome returns the home directory that useradd gives.
func newHome(s *Session, name string) (string, error) {
	defaults, err := useraddDefaults(s)
	return path.Join(cmp.Or(defaults["HOME"], "/home"), name), err
}

// texts is a list of texts as a parameter.
func texts(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

// keepHash keeps a hash as a file that only root can read, as /etc/shadow is.
func (b *userBefore) keepHash(s *Session, u system.User) (err error) {
	b.Ageing = u.Ageing
	if u.Hash != "" {
		b.Hash, err = s.keepText("password of "+b.Name, u.Hash)
	}
	return err
}
