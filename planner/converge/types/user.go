package types

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// userType is Puppet's user: a user of the node's own database.
type userType struct {
	recorded[userType, *userBefore]
}

func (userType) Schema() resource.Schema { return schema.User() }

// inclusive is the membership of a user who is in no other groups.
const inclusive = "inclusive"

// wrapUser names the user in an error.
func wrapUser(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("user %q: %w", name, err)
}

func (userType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	name := schema.AccountName(r)
	users, groups, err := s.Accounts()
	if err != nil {
		return nil, wrapUser(name, err)
	}
	u, there := users[name]
	if there != schema.AccountWanted(r) {
		return []Difference{ensureDifference(there)}, nil
	}
	if !there {
		return nil, nil
	}
	keys, err := compareKeys(s, r)
	return append(compareUser(u, groups, r.Parameters), keys...), wrapUser(name, err)
}

// compareUser returns how a user that is there differs. A group that is not there yet is a difference: it may come in
// the same run.
func compareUser(u system.User, groups map[string]system.Group, p resource.Parameters) []Difference {
	var out []Difference
	differ := func(parameter, is, should string) {
		if p.Has(parameter) && is != should {
			out = append(out, Difference{Parameter: parameter, Is: is, Should: should})
		}
	}
	differ("uid", strconv.Itoa(u.UID), strconv.FormatInt(p.Int("uid"), 10))
	if gid, ok := primaryGroup(groups, p.String("gid")); !ok || gid != u.GID {
		is := groupNamed(groups, u.GID)
		if _, number := schema.AccountNumber(p.String("gid")); number || is == "" {
			is = strconv.Itoa(u.GID)
		}
		differ("gid", is, p.String("gid"))
	}
	if p.Has("groups") {
		is, should := supplementary(u, groups), wantedGroups(u, groups, p)
		missing := slices.ContainsFunc(should, func(g string) bool { return !slices.Contains(is, g) })
		if missing || p.String("membership") == inclusive && len(is) != len(should) {
			differ("groups", strings.Join(is, ","), strings.Join(should, ","))
		}
	}
	differ("comment", u.Comment, p.String("comment"))
	differ("home", u.Home, p.String("home"))
	differ("shell", u.Shell, p.String("shell"))
	if p.Has("password") && u.Hash != p.String("password") {
		out = append(out, Difference{Parameter: "password", Is: "another", Should: "as given"})
	}
	return append(out, compareAge(u, p)...)
}

// primaryGroup finds a group by name or number.
func primaryGroup(groups map[string]system.Group, text string) (gid int, ok bool) {
	if g, found := groups[text]; found {
		return g.GID, true
	}
	return schema.AccountNumber(text)
}

// supplementary returns the groups that list u, without its primary group.
func supplementary(u system.User, groups map[string]system.Group) []string {
	return slices.DeleteFunc(memberships(groups, u.Name), func(g string) bool { return groups[g].GID == u.GID })
}

// administered returns the groups of which a user is an administrator, sorted.
func administered(name string, groups map[string]system.Group) []string {
	var out []string
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if slices.Contains(groups[group].Admins, name) {
			out = append(out, group)
		}
	}
	return out
}

// wantedGroups returns the groups that must list u, sorted. A user need not be listed in its primary group.
func wantedGroups(u system.User, groups map[string]system.Group, p resource.Parameters) []string {
	gid := u.GID
	if wanted, ok := primaryGroup(groups, p.String("gid")); ok {
		gid = wanted
	}
	out := slices.DeleteFunc(p.Strings("groups"), func(name string) bool {
		g, there := groups[name]
		return there && g.GID == gid
	})
	slices.Sort(out)
	return slices.Compact(out)
}

func (t userType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	return wrapUser(schema.AccountName(r), t.apply(ctx, s, r))
}

func (userType) apply(ctx context.Context, s *Session, r resource.Resource) error {
	name, p := schema.AccountName(r), r.Parameters
	users, err := s.Users()
	if err != nil {
		return err
	}
	u, there := users[name]
	if err := makeOwnGroup(ctx, s, name, u.UID, p); err != nil {
		return err
	}
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	switch {
	case !schema.AccountWanted(r) && there:
		return deleteUser(ctx, s, name, p.Bool("managehome"))
	case !schema.AccountWanted(r):
		return nil
	}
	if err := missingGroups(groups, p); err != nil {
		return err
	}
	if shell := p.String("shell"); shell != "" && shell != u.Shell {
		program, err := s.Program(shell)
		if err == nil && program == "" {
			err = fmt.Errorf("the node has no program %s; install its package first and require it, or name another shell",
				shell)
		}
		if err != nil {
			return fmt.Errorf("shell: %w", err)
		}
	}
	if !there {
		_, private := groups[name]
		if err := runShadow(ctx, s, "useradd", userAddArguments(name, p, private)...); err != nil {
			return err
		}
	} else if args := userModArguments(u, groups, p); len(args) > 0 {
		if err := runShadow(ctx, s, "usermod", append(args, name)...); err != nil {
			return err
		}
	}
	if p.Has("password") && u.Hash != p.String("password") {
		if err := setHash(ctx, s, "chpasswd", name, p.String("password")); err != nil {
			return err
		}
	}
	if err := setAge(ctx, s, name, p); err != nil {
		return err
	}
	return purgeKeys(s, r)
}

// missingGroups returns an error that names the groups that must be there and are not.
func missingGroups(groups map[string]system.Group, p resource.Parameters) error {
	var missing []string
	if gid, ok := primaryGroup(groups, p.String("gid")); p.Has("gid") && (!ok || groupNamed(groups, gid) == "") {
		missing = append(missing, fmt.Sprintf("gid: the node has no group %q", p.String("gid")))
	}
	for _, g := range p.Strings("groups") {
		if _, ok := groups[g]; !ok {
			missing = append(missing, fmt.Sprintf("groups: the node has no group %q", g))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New(strings.Join(missing, "; ") + "; make it with a group resource that this one requires")
}

// userAddArguments are those of useradd for a user that is not there. private says that a group of its name is.
func userAddArguments(name string, p resource.Parameters, private bool) []string {
	var args []string
	option := func(flag, parameter string) {
		if p.Has(parameter) {
			args = append(args, flag, p.String(parameter))
		}
	}
	option("-u", "uid")
	option("-g", "gid")
	if private && !p.Has("gid") {
		args = append(args, "-g", name) // useradd refuses to guess
	}
	if groups := p.Strings("groups"); len(groups) > 0 {
		slices.Sort(groups)
		args = append(args, "-G", strings.Join(groups, ","))
	}
	option("-c", "comment")
	option("-d", "home")
	option("-s", "shell")
	if p.Bool("managehome") {
		args = append(args, "-m")
	} else {
		args = append(args, "-M")
	}
	if p.Bool("system") {
		args = append(args, "-r")
	}
	return append(args, name)
}

// userModArguments are those of usermod for what differs, none when nothing does.
func userModArguments(u system.User, groups map[string]system.Group, p resource.Parameters) []string {
	var args []string
	for _, d := range compareUser(u, groups, p) {
		switch d.Parameter {
		case "uid":
			args = append(args, "-u", p.String("uid"))
		case "gid":
			args = append(args, "-g", p.String("gid"))
		case "groups":
			if p.String("membership") != inclusive {
				args = append(args, "-a")
			}
			args = append(args, "-G", strings.Join(wantedGroups(u, groups, p), ","))
		case "comment":
			args = append(args, "-c", p.String("comment"))
		case "home":
			args = append(args, "-d", p.String("home"))
			if p.Bool("managehome") {
				args = append(args, "-m")
			}
		case "shell":
			args = append(args, "-s", p.String("shell"))
		}
	}
	return args
}

// setHash sets the hash of a password, with chpasswd of a user and chgpasswd of a group. It goes through standard
// input: argument lists can be read by every user of a machine.
func setHash(ctx context.Context, s *Session, tool, name, hash string) error {
	if err := shadowTool(s, tool); err != nil {
		return err
	}
	return mustRun(ctx, s, system.Command{Argv: []string{tool, "-e"}, Stdin: []byte(name + ":" + hash + "\n")})
}

// deleteUser deletes a user. userdel takes a group of the user's name along, which is right for one that useradd made.
func deleteUser(ctx context.Context, s *Session, name string, withHome bool) error {
	args := []string{name}
	if withHome {
		args = []string{"-r", name}
	}
	err := runShadow(ctx, s, "userdel", args...)
	users, readErr := s.Users()
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	if _, there := users[name]; there && err == nil {
		return errors.New("userdel reported success, yet the user is still there")
	}
	return err
}
