package types

import (
	"context"
	"encoding/json"
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
type groupType struct{}

func (groupType) Declared() schema.Type { return schema.Group{} }

// groupBefore is what Capture records: a group as it was, if it was there.
type groupBefore struct {
	Name    string   `json:"name"`
	Want    bool     `json:"want"` // slipway wanted it to be there
	Existed bool     `json:"existed"`
	Said    bool     `json:"said,omitempty"` // the resource has said something of the id
	GID     int      `json:"gid,omitempty"`  // before that; of a group that slipway made with that id, none
	Members []string `json:"members,omitempty"`
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

// ensureDifference is that of an object that is there and should not be, or the other way round.
func ensureDifference(there bool) Difference {
	if there {
		return Difference{Parameter: "ensure", Is: "present", Should: "absent"}
	}
	return Difference{Parameter: "ensure", Is: "absent", Should: "present"}
}

func (groupType) Capture(_ context.Context, s *Session, r resource.Resource) (json.RawMessage, error) {
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	b := captureGroup(groups, schema.AccountName(r), schema.AccountWanted(r))
	b.Said = r.Parameters.Has("gid")
	return json.Marshal(b)
}

// Widen takes down the id when r is the first to say something of it.
func (groupType) Widen(
	_ context.Context, s *Session, r resource.Resource, before json.RawMessage,
) (json.RawMessage, error) {
	var b groupBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return nil, fmt.Errorf("group %q: the ledger's record of what was there before: %w", r.Title, err)
	}
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	if g, there := groups[b.Name]; there && !b.Said && r.Parameters.Has("gid") {
		b.Said, b.GID = true, g.GID
	}
	return json.Marshal(b)
}

// Release returns the id that the group had or, where slipway made it with the one that was given, the one that
// groupadd gives.
func (groupType) Release(
	_ context.Context, s *Session, r resource.Resource, before json.RawMessage,
) (resource.Parameters, json.RawMessage, error) {
	var b groupBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return nil, nil, fmt.Errorf("group %q: the ledger's record of what was there before: %w", r.Title, err)
	}
	if !b.Want || !b.Said || r.Parameters.Has("gid") {
		return nil, before, nil
	}
	groups, err := s.Groups()
	if err != nil {
		return nil, nil, err
	}
	gid, used := b.GID, map[int]bool{}
	for name, g := range groups {
		if name != b.Name {
			used[g.GID] = true
		}
	}
	if !b.Existed && (gid == 0 || used[gid]) {
		if gid, err = newID(s, "GID", r.Parameters.Bool("system"), used); err != nil {
			return nil, nil, fmt.Errorf("group %q: %w", b.Name, err)
		}
	}
	b.Said = false
	rest, err := json.Marshal(b)
	return resource.Parameters{"gid": int64(gid)}, rest, err
}

func captureGroup(groups map[string]system.Group, name string, want bool) groupBefore {
	g, existed := groups[name]
	return groupBefore{Name: name, Want: want, Existed: existed, GID: g.GID, Members: slices.Clone(g.Members)}
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

func (groupType) There(_ context.Context, s *Session, _ string, before json.RawMessage) (bool, error) {
	var b groupBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return false, err
	}
	groups, err := s.Groups()
	return groups[b.Name].Name != "", err
}

// Undo deletes a group that slipway made, and gives one that was there before its id, or itself with its members, back.
func (groupType) Undo(ctx context.Context, s *Session, title string, before json.RawMessage) error {
	var b groupBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return fmt.Errorf("group %q: the ledger's record of what was there before: %w", title, err)
	}
	if err := undoGroup(ctx, s, b); err != nil {
		return fmt.Errorf("group %q: %w", b.Name, err)
	}
	return nil
}

func undoGroup(ctx context.Context, s *Session, b groupBefore) error {
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	g, there := groups[b.Name]
	switch {
	case !b.Existed && b.Want && there:
		return deleteGroup(ctx, s, g)
	case !b.Existed, there && g.GID == b.GID, there && b.Want && !b.Said, !there && b.Want:
		return nil // nothing to bring back, or it was not slipway that changed it
	case there:
		return runShadow(ctx, s, "groupmod", "-g", strconv.Itoa(b.GID), b.Name)
	}
	if err := runShadow(ctx, s, "groupadd", "-g", strconv.Itoa(b.GID), b.Name); err != nil {
		return err
	}
	users, err := s.Users()
	if err != nil {
		return err
	}
	members := slices.DeleteFunc(slices.Clone(b.Members), func(m string) bool { _, ok := users[m]; return !ok })
	if len(members) == 0 {
		return nil
	}
	return runShadow(ctx, s, "gpasswd", "-M", strings.Join(members, ","), b.Name)
}

// deleteGroup deletes a group, unless a user has it as primary group: groupdel would refuse in fewer words.
func deleteGroup(ctx context.Context, s *Session, g system.Group) error {
	users, err := s.Users()
	if err != nil {
		return err
	}
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
