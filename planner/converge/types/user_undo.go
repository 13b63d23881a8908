package types

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func (userType) there(_ context.Context, s *Session, _ string, b *userBefore) (bool, error) {
	users, err := s.Users()
	return users[b.Name].Name != "", err
}

func (userType) undo(ctx context.Context, s *Session, _ string, b *userBefore) error {
	return wrapUser(b.Name, alsoGone(undoUser(ctx, s, *b), b.undoKeys(s)))
}

// undoUser deletes a user that slipway made, and gives one that was there before what it had, or itself, back. The
// content of a home directory that was removed does not come back.
func undoUser(ctx context.Context, s *Session, b userBefore) error {
	users, err := s.Users()
	if err != nil {
		return err
	}
	u, there := users[b.Name]
	switch {
	case !b.Existed && (!there || !b.Want):
		return nil
	case !b.Existed:
		// Only the directory that was made with the user goes with it.
		if err := deleteUser(ctx, s, b.Name, slices.Contains(b.MakesHome, u.Home)); err != nil {
			return err
		}
		return bringPrivateGroup(ctx, s, b)
	case !there && b.Want:
		return nil // it was not slipway that took it away
	}
	if !there {
		if err := bringPrivateGroup(ctx, s, b); err != nil {
			return err
		}
	}
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	if there {
		err = b.undoAttributes(ctx, s, u, groups)
	} else {
		err = b.makeAgain(ctx, s, groups)
	}
	if err != nil {
		return err
	}
	if err := bringHash(ctx, s, b, u.Hash); err != nil {
		return err
	}
	return bringAgeing(ctx, s, b)
}

// undoAttributes brings back what slipway was asked to look after.
func (b userBefore) undoAttributes(ctx context.Context, s *Session, u system.User,
	groups map[string]system.Group) error {
	p := b.parameters(groups)
	if b.Want {
		for name := range p {
			if name != "groups" && !b.says(name) {
				delete(p, name)
			}
		}
		p["groups"] = b.undoGroups(u, groups)
	}
	p["membership"] = inclusive
	args := userModArguments(u, groups, p)
	if len(args) == 0 {
		return nil
	}
	if b.Moves && slices.Contains(args, "-d") {
		taken, err := s.Exists(string(b.Home))
		if err != nil {
			return err
		}
		if !taken {
			args = append(args, "-m")
		}
	}
	return runShadow(ctx, s, "usermod", append(args, b.Name)...)
}

// undoGroups returns the groups that the user is to be in again: without those that slipway added, and with those that
// it took away. A membership that it never spoke of stays as it is.
func (b userBefore) undoGroups(u system.User, groups map[string]system.Group) []any {
	var out []any
	is := supplementary(u, groups)
	for _, g := range is {
		if !slices.Contains(b.Listed, g) || slices.Contains(b.Groups, g) {
			out = append(out, g)
		}
	}
	for _, g := range b.Groups {
		if _, there := groups[g]; there && b.Inclusive && !slices.Contains(is, g) {
			out = append(out, g)
		}
	}
	return out
}

// makeAgain makes a user that slipway deleted.
func (b userBefore) makeAgain(ctx context.Context, s *Session, groups map[string]system.Group) error {
	p := b.parameters(groups)
	if !b.Homeless {
		home, err := s.Exists(string(b.Home))
		if err != nil {
			return err
		}
		p["managehome"] = !home
	}
	if err := runShadow(ctx, s, "useradd", userAddArguments(b.Name, p, true)...); err != nil {
		return err
	}
	for _, name := range b.Administers {
		g, there := groups[name]
		if !there || slices.Contains(g.Admins, b.Name) {
			continue
		}
		admins := strings.Join(append(slices.Clone(g.Admins), b.Name), ",")
		if err := runShadow(ctx, s, "gpasswd", "-A", admins, name); err != nil {
			return err
		}
	}
	return bringSubordinate(ctx, s, b)
}

// bringSubordinate gives a user that was made again the subordinate ids that it had, in the place of those that useradd
// gave.
func bringSubordinate(ctx context.Context, s *Session, b userBefore) error {
	if b.Subordinate == nil {
		return nil
	}
	is, err := subordinateOf(s, b.Name)
	if err != nil {
		return err
	}
	var args []string
	for _, ids := range []struct {
		remove, add string
		is, was     []string
	}{{"-V", "-v", is.UIDs, b.Subordinate.UIDs}, {"-W", "-w", is.GIDs, b.Subordinate.GIDs}} {
		for _, r := range ids.is {
			if !slices.Contains(ids.was, r) {
				args = append(args, ids.remove, r)
			}
		}
		for _, r := range ids.was {
			if !slices.Contains(ids.is, r) {
				args = append(args, ids.add, r)
			}
		}
	}
	if len(args) == 0 {
		return nil
	}
	return runShadow(ctx, s, "usermod", append(args, b.Name)...)
}

// parameters are those of a resource that makes the user as it was.
func (b userBefore) parameters(groups map[string]system.Group) resource.Parameters {
	p := resource.Parameters{
		"uid": int64(b.UID), "gid": strconv.Itoa(b.GID), "comment": string(b.Comment), "home": string(b.Home),
	}
	if b.Shell != "" {
		p["shell"] = string(b.Shell)
	}
	list := []any{}
	for _, g := range b.Groups {
		if _, there := groups[g]; there {
			list = append(list, g)
		}
	}
	p["groups"] = list
	return p
}

// bringPrivateGroup makes the group of the user's name again, if it was there before slipway and went with the user.
func bringPrivateGroup(ctx context.Context, s *Session, b userBefore) error {
	if b.Private == nil {
		return nil
	}
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	if _, there := groups[b.Name]; there {
		return nil
	}
	private := *b.Private
	private.Want = false
	private.Members = slices.DeleteFunc(slices.Clone(private.Members), func(m string) bool { return m == b.Name })
	return undoGroup(ctx, s, private)
}

// bringHash sets the password that the user had.
func bringHash(ctx context.Context, s *Session, b userBefore, is string) error {
	if b.Hash == "" {
		return nil
	}
	hash, err := s.kept(b.Hash)
	if err != nil {
		return copyGone(err, "its password's hash")
	}
	if string(hash) == is {
		return nil
	}
	return setHash(ctx, s, "chpasswd", b.Name, string(hash))
}

// bringAgeing sets the age of the password, and of a user that was made again all that /etc/shadow said about its
// expiry.
func bringAgeing(ctx context.Context, s *Session, b userBefore) error {
	s.Forget()
	users, err := s.Users()
	if err != nil {
		return err
	}
	u := users[b.Name]
	if len(u.Ageing) != len(ageingOptions) {
		return nil // there is no shadow database
	}
	var args []string
	for i, option := range ageingOptions {
		was, known := "", len(b.Ageing) == len(ageingOptions) && (!b.Want || i == 0) // a new password has changed its own age
		if known {
			was = b.Ageing[i]
		} else {
			was, known = b.Age[ageParameter(i)]
		}
		if known && was != u.Ageing[i] {
			args = append(args, option, cmp.Or(was, "-1"))
		}
	}
	if len(args) == 0 {
		return nil
	}
	return runShadow(ctx, s, "chage", append(args, b.Name)...)
}

// ageingOptions are the options of chage for User.Ageing.
var ageingOptions = []string{"-d", "-m", "-M", "-W", "-I", "-E"}
