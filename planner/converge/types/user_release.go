package types

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// ownGroup is what Release returns besides parameters: the group of the user's name, to which gid returns, is made.
const ownGroup = "own group"

// release returns what the user had. One that slipway made returns to what it had before the parameter was given or,
// where that was from the first, to what useradd gives.
func (userType) release(
	_ context.Context, s *Session, r resource.Resource, b *userBefore,
) (resource.Parameters, error) {
	if !b.Want || !schema.AccountWanted(r) {
		return nil, nil
	}
	returning, err := b.returning(s, r)
	if err != nil {
		return nil, wrapUser(b.Name, err)
	}
	listed := r.Parameters.Strings("groups")
	other := func(group string) bool { return !slices.Contains(listed, group) }
	if inclusive := r.Parameters.String("membership") == inclusive; !inclusive {
		b.Inclusive = false
		b.Listed, b.Groups = slices.DeleteFunc(b.Listed, other), slices.DeleteFunc(b.Groups, other)
	}
	released := func(name string) bool { return !r.Parameters.Has(name) }
	b.Said, b.Later = slices.DeleteFunc(b.Said, released), slices.DeleteFunc(b.Later, released)
	if !b.says("password") {
		b.Hash = ""
	}
	maps.DeleteFunc(b.Age, func(parameter, _ string) bool { return released(parameter) })
	return returning, nil
}

func (b userBefore) returning(s *Session, r resource.Resource) (resource.Parameters, error) {
	users, groups, err := s.Accounts()
	if err != nil {
		return nil, err
	}
	p := r.Parameters
	u, there := users[b.Name]
	if !there {
		return nil, nil
	}
	was, err := b.former(s, p.Bool("system"), users, groups)
	if err != nil {
		return nil, err
	}
	out := resource.Parameters{}
	for _, name := range b.Said {
		if value, known := was[name]; known && name != "groups" && !p.Has(name) {
			out[name] = value
		}
	}
	if name := b.Name; out.String("gid") == name && groups[name].Name == "" {
		out[ownGroup] = true
	}
	if out.Has("home") && (b.Moves || p.Bool("managehome") || slices.Contains(b.MakesHome, u.Home)) {
		taken, err := s.Exists(out.String("home"))
		if err != nil {
			return nil, err
		}
		out["managehome"] = !taken
	}
	listed := p.Strings("groups")
	left := func(g string) bool { return !slices.Contains(listed, g) }
	if p.String("membership") != inclusive && (b.Inclusive || slices.ContainsFunc(b.Listed, left)) {
		out["groups"], out["membership"] = append(b.undoGroups(u, groups), texts(listed)...), inclusive
	}
	return out, nil
}

// former returns the parameters to which what was said of the user returns; what is not among them stays.
func (b userBefore) former(
	s *Session, ofSystem bool, users map[string]system.User, groups map[string]system.Group,
) (resource.Parameters, error) {
	was := b.parameters(groups)
	for parameter, field := range b.Age {
		was[parameter] = ageValue(parameter, field)
	}
	if b.Hash != "" {
		hash, err := s.kept(b.Hash)
		if err != nil {
			return nil, fmt.Errorf("the copy of its former password's hash: %w", err)
		}
		was["password"] = string(hash)
	}
	if b.Existed {
		return was, nil
	}
	used := map[int]bool{}
	for name, u := range users {
		if name != b.Name {
			used[u.UID] = true
		}
	}
	fresh, err := b.fresh(s, ofSystem, used, groups)
	for _, name := range userAttributes {
		known := slices.Contains(b.Later, name)
		switch {
		case name == "uid" && used[b.UID], name == "gid" && groupNamed(groups, b.GID) == "":
			known = false // others have it by now, or have taken it away
		}
		if value, has := fresh[name]; has && !known {
			was[name] = value
		} else if !known {
			delete(was, name)
		}
	}
	return was, err
}

// fresh returns what useradd gives a user of whom nothing is said, as far as the node says it. used are the ids of
// the others.
func (b userBefore) fresh(
	s *Session, ofSystem bool, used map[int]bool, groups map[string]system.Group,
) (resource.Parameters, error) {
	p := resource.Parameters{"comment": "", "password": "!"}
	uid, err := newID(s, "UID", ofSystem, used)
	if err != nil {
		return nil, err
	}
	home, err := newHome(s, b.Name)
	if err != nil {
		return nil, err
	}
	p["uid"], p["home"] = int64(uid), home
	defaults, err := useraddDefaults(s)
	if err != nil {
		return nil, err
	}
	defs, err := loginDefs(s)
	if err != nil {
		return nil, err
	}
	if shell := defaults["SHELL"]; shell != "" {
		p["shell"] = shell
	}
	maps.Copy(p, freshAges(defaults, defs))
	_, own := groups[b.Name]
	switch {
	case own, defs["USERGROUPS_ENAB"] == "yes":
		p["gid"] = b.Name
	case defaults["GROUP"] != "":
		p["gid"] = defaults["GROUP"]
	}
	return p, nil
}

// formerHome returns the home directory to which that of a user that slipway made returns.
func (b userBefore) formerHome(s *Session) (string, error) {
	if slices.Contains(b.Later, "home") {
		return string(b.Home), nil
	}
	return newHome(s, b.Name)
}

// makeOwnGroup makes the group of a user's name as useradd does: with the user's id where no group has that.
func makeOwnGroup(ctx context.Context, s *Session, name string, uid int, p resource.Parameters) error {
	groups, err := s.Groups()
	if _, there := groups[name]; err != nil || there || !p.Bool(ownGroup) {
		return err
	}
	if p.Has("uid") {
		uid = int(p.Int("uid"))
	}
	gid := strconv.Itoa(uid)
	if groupNamed(groups, uid) != "" {
		gid = ""
	}
	return runShadow(ctx, s, "groupadd", groupAddArguments(name, gid, p.Bool("system"))...)
}
