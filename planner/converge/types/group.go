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

// groupType is Puppet's group: a group of the node's own database. Its members are set from the side of the users.
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
	Hash    string   `json:"hash,omitempty"` // the name of a kept file that holds it: the ledger holds no secrets
}

func (groupType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	g, there := groups[schema.AccountName(r)]
	switch {
	case there != schema.AccountWanted(r):
		return []Difference{ensureDifference(there)}, nil
	case there && r.Parameters.Has("gid") && int64(g.GID) != r.Parameters.Int("gid"):
		should := strconv.FormatInt(r.Parameters.Int("gid"), 10)
		return []Difference{{Parameter: "gid", Is: strconv.Itoa(g.GID), Should: should}}, nil
	}
	return nil, nil
}

func (groupType) capture(_ context.Context, s *Session, r resource.Resource) (*groupBefore, error) {
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	b, err := captureGroup(s, groups, schema.AccountName(r), schema.AccountWanted(r))
	b.Said = r.Parameters.Has("gid")
	return &b, err
}

// now takes down the whole group.
func (groupType) now(_ context.Context, s *Session, _ string, b *groupBefore) (*groupBefore, error) {
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	n, err := captureGroup(s, groups, b.Name, false)
	n.Want = !n.Existed // one that is not there goes again
	return &n, err
}

// widen takes down the id when r is the first to say something of it.
func (groupType) widen(_ context.Context, s *Session, r resource.Resource, b *groupBefore) error {
	groups, err := s.Groups()
	if g, there := groups[b.Name]; there && !b.Said && r.Parameters.Has("gid") {
		b.Said, b.GID = true, g.GID
	}
	return err
}

// release returns the id that the group had or, where slipway made it with the one that was given, the one that
// groupadd gives.
func (groupType) release(
	_ context.Context, s *Session, r resource.Resource, b *groupBefore,
) (resource.Parameters, error) {
	if !b.Want || !b.Said || r.Parameters.Has("gid") {
		return nil, nil
	}
	groups, err := s.Groups()
	if err != nil {
		return nil, err
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
	return resource.Parameters{"gid": int64(gid)}, nil
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
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	_, there := groups[name]
	gid := ""
	if r.Parameters.Has("gid") {
		gid = strconv.FormatInt(r.Parameters.Int("gid"), 10)
	}
	switch {
	case !schema.AccountWanted(r):
		err = runShadow(ctx, s, "groupdel", name)
	case there:
		err = runShadow(ctx, s, "groupmod", "-g", gid, name)
	default:
		err = runShadow(ctx, s, "groupadd", groupAddArguments(name, gid, r.Parameters.Bool("system"))...)
	}
	if err != nil {
		return fmt.Errorf("group %q: %w", name, err)
	}
	return nil
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
	if err := undoGroup(ctx, s, *b); err != nil {
		return fmt.Errorf("group %q: %w", b.Name, err)
	}
	return nil
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
	hash, _, err := s.kept(b.Hash)
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
