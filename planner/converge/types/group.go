package types

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// groupType is Puppet's group: a group of the node's own database.
type groupType struct {
	recorded[groupType, *groupBefore]
}

func (groupType) Schema() resource.Schema { return schema.Group() }

// groupBefore is what Capture records: a group as it was, if it was there.
type groupBefore struct {
	Name    string   `json:"name"`
	Want    bool     `json:"want"` // slipway wanted it to be there
	Existed bool     `json:"existed"`
	Said    bool     `json:"said,omitempty"` // the resource has said something of the id
	GID     int      `json:"gid,omitempty"`  // before that; of a group that slipway made with that id, none
	Members []string `json:"members,omitempty"`
	Admins  []string `json:"admins,omitempty"`
	// Listed are the members that the resource has named so far; Inclusive says that there were to be no others.
	Listed    []string `json:"listed,omitempty"`
	Inclusive bool     `json:"inclusive,omitempty"`
	Hash      string   `json:"hash,omitempty"` // the name of a kept file that holds it: the ledger holds no secrets
}

func (groupType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	g, there := groups[schema.AccountName(r)]
	if there != schema.AccountWanted(r) {
		return []Difference{ensureDifference(there)}, nil
	}
	if !there {
		return nil, nil
	}
	primary, err := primaryMembers(s, g, r)
	return compareGroup(g, r.Parameters, primary), err
}

// primaryMembers returns the members named by r that need no entry in the group g, because it is their primary group,
// or will be when the user resource makes them that wants it. The group comes before such a user.
func primaryMembers(s *Session, g system.Group, r resource.Resource) (primary []string, err error) {
	if !r.Parameters.Has("members") {
		return nil, nil
	}
	users, err := s.Users()
	if err != nil {
		return nil, err
	}
	for _, m := range r.Parameters.Strings("members") {
		u, there := users[m]
		is := there && g.Name != "" && u.GID == g.GID
		will := !there && slices.ContainsFunc(s.Wanted, func(w resource.Resource) bool {
			return w.Type == "user" && schema.AccountName(w) == m && schema.AccountWanted(w) &&
				w.Parameters.String("gid") == schema.AccountName(r)
		})
		if is || will {
			primary = append(primary, m)
		}
	}
	return primary, nil
}

// compareGroup returns how a group that is there differs. primary is what [primaryMembers] returns.
func compareGroup(g system.Group, p resource.Parameters, primary []string) (found []Difference) {
	if p.Has("gid") && int64(g.GID) != p.Int("gid") {
		should := strconv.FormatInt(p.Int("gid"), 10)
		found = append(found, Difference{Parameter: "gid", Is: strconv.Itoa(g.GID), Should: should})
	}
	is, should := sortedUnion(g.Members, nil), wantedMembers(g, p, primary)
	if p.Has("members") && !slices.Equal(is, should) {
		found = append(found, Difference{
			Parameter: "members", Is: shorten(strings.Join(is, ",")), Should: shorten(strings.Join(should, ",")),
		})
	}
	return found
}

// wantedMembers returns the members that a group should list, sorted: of primary, those that it lists already.
func wantedMembers(g system.Group, p resource.Parameters, primary []string) []string {
	listed := slices.DeleteFunc(slices.Clone(p.Strings("members")), func(m string) bool {
		return slices.Contains(primary, m) && !slices.Contains(g.Members, m)
	})
	if p.Bool("auth_membership") {
		return sortedUnion(listed, nil)
	}
	return sortedUnion(listed, g.Members)
}

// setMembers gives a group its members, who must be there.
func setMembers(ctx context.Context, s *Session, group string, members []string) error {
	users, err := s.Users()
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(members), func(m string) bool { return users[m].Name != "" })
	if len(missing) > 0 {
		return fmt.Errorf("members: the node has no user %s; make it with a user resource that this one requires",
			strings.Join(missing, ", "))
	}
	return runShadow(ctx, s, "gpasswd", "-M", strings.Join(members, ","), group)
}

func (groupType) capture(_ context.Context, s *Session, r resource.Resource) (*groupBefore, error) {
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	b, err := captureGroup(s, groups, schema.AccountName(r), schema.AccountWanted(r))
	b.Said = r.Parameters.Has("gid")
	b.list(r.Parameters)
	return &b, err
}

// list notes the members that are spoken of.
func (b *groupBefore) list(p resource.Parameters) {
	b.Listed = sortedUnion(b.Listed, p.Strings("members"))
	b.Inclusive = b.Inclusive || p.Bool("auth_membership")
}

// widenMembers takes down which of the users that r speaks of for the first time are members.
func (b *groupBefore) widenMembers(g system.Group, p resource.Parameters) {
	if !p.Has("members") {
		return
	}
	for _, m := range g.Members {
		if !b.Inclusive && !slices.Contains(b.Listed, m) && !slices.Contains(b.Members, m) {
			b.Members = append(b.Members, m)
		}
	}
	// Those who were members at the first touch and are none now left without slipway.
	b.Members = slices.DeleteFunc(b.Members, func(m string) bool {
		return !b.Inclusive && !slices.Contains(b.Listed, m) && !slices.Contains(g.Members, m)
	})
	b.list(p)
}

// undoMembers returns the members that a group is to have again: without those that slipway added, and with those that
// it took away.
func (b *groupBefore) undoMembers(g system.Group) []string {
	var out []string
	for _, m := range g.Members {
		if !slices.Contains(b.Listed, m) || slices.Contains(b.Members, m) {
			out = append(out, m)
		}
	}
	if b.Inclusive {
		out = append(out, b.Members...)
	}
	return sortedUnion(out, nil)
}

// now takes down the whole group.
func (groupType) now(_ context.Context, s *Session, _ string, b *groupBefore) (*groupBefore, error) {
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	n, err := captureGroup(s, groups, b.Name, false)
	n.Want = !n.Existed // one that is not there goes again
	if n.Existed && (b.Inclusive || len(b.Listed) > 0) {
		n.Listed, n.Inclusive = b.Listed, true
	}
	return &n, err
}

// widen takes down the id when r is the first to say something of it.
func (groupType) widen(_ context.Context, s *Session, r resource.Resource, b *groupBefore) error {
	groups, err := s.Groups()
	if g, there := groups[b.Name]; there && !b.Said && r.Parameters.Has("gid") {
		b.Said, b.GID = true, g.GID
	}
	if g, there := groups[b.Name]; there && b.Want {
		b.widenMembers(g, r.Parameters)
	}
	return err
}

// release returns the id that the group had or, where slipway made it with the one that was given, the one that
// groupadd gives, and the members.
func (groupType) release(
	_ context.Context, s *Session, r resource.Resource, b *groupBefore,
) (resource.Parameters, error) {
	if !b.Want {
		return nil, nil
	}
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	returning := resource.Parameters{}
	if g, there := groups[b.Name]; there && !r.Parameters.Bool("auth_membership") {
		listed := r.Parameters.Strings("members")
		other := func(m string) bool { return !slices.Contains(listed, m) }
		if b.Inclusive || slices.ContainsFunc(b.Listed, other) {
			returning["members"] = texts(sortedUnion(b.undoMembers(g), listed))
			returning["auth_membership"] = true
		}
		b.Inclusive, b.Listed = false, slices.DeleteFunc(b.Listed, other)
	}
	if !b.Said || r.Parameters.Has("gid") {
		return returning, nil
	}
	gid, used := b.GID, map[int]bool{}
	for name, g := range groups {
		if name != b.Name {
			used[g.GID] = true
		}
	}
	if !b.Existed && (gid == 0 || used[gid]) {
		if gid, err = newID(s, "GID", r.Parameters.Bool("system"), used); err != nil {
			return nil, fmt.Errorf("group %q: %w", b.Name, err)
		}
	}
	b.Said = false
	returning["gid"] = int64(gid)
	return returning, nil
}

// captureGroup takes down a group; of one that stays, not what can only be lost with it.
func captureGroup(
	s *Session, groups map[string]system.Group, name string, want bool,
) (b groupBefore, err error) {
	g, existed := groups[name]
	b = groupBefore{Name: name, Want: want, Existed: existed, GID: g.GID, Members: slices.Clone(g.Members)}
	if want {
		return b, nil
	}
	b.Admins = slices.Clone(g.Admins)
	if strings.Trim(g.Hash, "!*") != "" {
		b.Hash, err = s.keepText("password of group "+name, g.Hash)
	}
	return b, err
}

func (groupType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	name := schema.AccountName(r)
	if err := (groupType{}).apply(ctx, s, name, r); err != nil {
		return fmt.Errorf("group %q: %w", name, err)
	}
	return nil
}

func (groupType) apply(ctx context.Context, s *Session, name string, r resource.Resource) error {
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	g, there := groups[name]
	p, gid := r.Parameters, ""
	if p.Has("gid") {
		gid = strconv.FormatInt(p.Int("gid"), 10)
	}
	primary, err := primaryMembers(s, g, r)
	if err != nil {
		return err
	}
	differs := func(parameter string) bool { return differsIn(parameter, compareGroup(g, p, primary)) }
	switch {
	case !schema.AccountWanted(r):
		return runShadow(ctx, s, "groupdel", name)
	case !there:
		err = runShadow(ctx, s, "groupadd", groupAddArguments(name, gid, p.Bool("system"))...)
	case differs("gid"):
		err = runShadow(ctx, s, "groupmod", "-g", gid, name)
	}
	if err != nil || !differs("members") {
		return err
	}
	return setMembers(ctx, s, name, wantedMembers(g, p, primary))
}

func groupAddArguments(name, gid string, system bool) []string {
	var args []string
	if gid != "" {
		args = append(args, "-g", gid)
	}
	if system {
		args = append(args, "-r")
	}
	return append(args, name)
}

// runShadow runs one of the shadow tools. None of their arguments is secret.
func runShadow(ctx context.Context, s *Session, tool string, args ...string) error {
	if err := shadowTool(s, tool); err != nil {
		return err
	}
	return mustRun(ctx, s, system.Command{Argv: append([]string{tool}, args...)})
}

func (groupType) there(_ context.Context, s *Session, _ string, b *groupBefore) (bool, error) {
	groups, err := s.Groups()
	return groups[b.Name].Name != "", err
}

// undo deletes a group that slipway made, and gives one that was there before its id, or itself with its members, back.
func (groupType) undo(ctx context.Context, s *Session, _ string, b *groupBefore) error {
	err := undoGroup(ctx, s, *b)
	if err == nil && b.Existed {
		err = b.bringMembers(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("group %q: %w", b.Name, err)
	}
	return nil
}

// bringMembers gives a group that was there before the members that it had, as far as the resource spoke of them and
// they are there.
func (b *groupBefore) bringMembers(ctx context.Context, s *Session) error {
	users, groups, err := s.Accounts()
	g, there := groups[b.Name]
	if err != nil || !there || !b.Inclusive && len(b.Listed) == 0 {
		return err
	}
	members := slices.DeleteFunc(b.undoMembers(g), func(m string) bool { return users[m].Name == "" })
	if slices.Equal(members, sortedUnion(g.Members, nil)) {
		return nil
	}
	return setMembers(ctx, s, b.Name, members)
}

func undoGroup(ctx context.Context, s *Session, b groupBefore) error {
	users, groups, err := s.Accounts()
	if err != nil {
		return err
	}
	g, there := groups[b.Name]
	switch {
	case !b.Existed && b.Want && there:
		return deleteGroup(ctx, s, g, users)
	case !b.Existed, there && g.GID == b.GID, there && b.Want && !b.Said, !there && b.Want:
		return nil // nothing to bring back, or it was not slipway that changed it
	case there:
		return runShadow(ctx, s, "groupmod", "-g", strconv.Itoa(b.GID), b.Name)
	}
	if err := runShadow(ctx, s, "groupadd", "-g", strconv.Itoa(b.GID), b.Name); err != nil {
		return err
	}
	for _, list := range []struct {
		option string
		names  []string
	}{{"-M", b.Members}, {"-A", b.Admins}} {
		names := slices.DeleteFunc(slices.Clone(list.names), func(m string) bool { _, ok := users[m]; return !ok })
		if len(names) == 0 {
			continue
		}
		if err := runShadow(ctx, s, "gpasswd", list.option, strings.Join(names, ","), b.Name); err != nil {
			return err
		}
	}
	if b.Hash == "" {
		return nil
	}
	hash, err := s.kept(b.Hash)
	if err != nil {
		return copyGone(err, "its password's hash")
	}
	return setHash(ctx, s, "chgpasswd", b.Name, string(hash))
}

// deleteGroup deletes a group, unless a user has it as primary group: groupdel would refuse in fewer words.
func deleteGroup(ctx context.Context, s *Session, g system.Group, users map[string]system.User) error {
	var of []string
	for name, u := range users {
		if u.GID == g.GID {
			of = append(of, name)
		}
	}
	if len(of) > 0 {
		slices.Sort(of)
		return errors.New("it is the primary group of " +
			strings.Join(of, ", ") + "; give them another one or remove them first")
	}
	return runShadow(ctx, s, "groupdel", g.Name)
}
