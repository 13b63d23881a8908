package types

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// membersNode has a group "users" whose members gpasswd sets.
func membersNode(t *testing.T, r *recorder) *Session {
	t.Helper()
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	now := "ann,root"
	r.Effects = map[string]func(){}
	for _, members := range []string{"", "ann", "root", "ann,root"} {
		r.Effects["gpasswd -M "+members+" users"] = func() {
			systemtest.Edit(t, s.Root, "/etc/group", "users:x:100:"+now+"\n", "users:x:100:"+members+"\n")
			now = members
		}
	}
	return s
}

// TestGroupMembers adds members, with auth_membership also removes others, and brings back who was a member.
func TestGroupMembers(t *testing.T) {
	for _, tt := range []struct {
		name       string
		parameters resource.Parameters
		diff       string
		want, undo []string
	}{
		{"as they are", resource.Parameters{"members": []any{"ann"}}, "", nil, nil},
		{"no others", resource.Parameters{"members": []any{"ann"}, "auth_membership": true}, "members: ann,root -> ann", []string{"gpasswd -M ann users"}, []string{"gpasswd -M ann,root users"}},
		{"nobody", resource.Parameters{"members": []any{}, "auth_membership": true}, "members: ann,root -> ", []string{"gpasswd -M  users"}, []string{"gpasswd -M ann,root users"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			s := membersNode(t, r)
			each := res(t, groupType{}, "users", tt.parameters)
			diffs, err := groupType{}.Check(t.Context(), s, each)
			got := ""
			for _, d := range diffs {
				got += d.Parameter + ": " + d.Is + " -> " + d.Should
			}
			if got != tt.diff || err != nil {
				t.Errorf("%q, %v; want %q", got, err, tt.diff)
			}
			before := applied(t, s, groupType{}, each)
			r.WantRan(t, tt.want...)
			undone(t, s, groupType{}, each, before)
			r.WantRan(t, tt.undo...)
		})
	}
}

// TestGroupMembersReturn: a member that is no longer named goes again, and one that the resource never spoke of stays as it is.
func TestGroupMembersReturn(t *testing.T) {
	r := &recorder{}
	s := membersNode(t, r)
	r.Effects["gpasswd -M root users"]()
	s.Forget()
	both := res(t, groupType{}, "users", resource.Parameters{"members": []any{"ann"}})
	before := applied(t, s, groupType{}, both)
	r.WantRan(t, "gpasswd -M ann,root users")
	without := res(t, groupType{}, "users", nil)
	back, rest, err := groupType{}.Release(t.Context(), s, without, before)
	if got := strings.Join(back.Strings("members"), ","); err != nil || got != "root" || !back.Bool("auth_membership") || strings.Contains(string(rest), "listed") {
		t.Errorf("%v, %s, %v", back, rest, err)
	}
	undone(t, s, groupType{}, both, before)
	r.WantRan(t, "gpasswd -M root users")
	err = groupType{}.Apply(t.Context(), s, res(t, groupType{}, "users", resource.Parameters{"members": []any{"nosuch"}}))
	if err == nil || !strings.Contains(err.Error(), `group "users": members: the node has no user nosuch; make it`) {
		t.Error(err)
	}
}

// TestUserAges sets when an account expires and how old its password may become, and brings back what was.
func TestUserAges(t *testing.T) {
	r := &recorder{}
	files := systemtest.AccountFiles()
	files["/usr/bin/chage"] = ""
	s := wholeMachine(t, files, r.Run)
	shadow := ""
	for line := range strings.Lines(files["/etc/shadow"]) {
		if strings.HasPrefix(line, "ann:") {
			shadow = strings.TrimSpace(line)
		}
	}
	fields := strings.Split(shadow, ":")
	aged := strings.Join(append(append([]string{}, fields[:3]...), "1", "90", "", fields[6], "21183", fields[8]), ":")
	mine := res(t, userType{}, "ann", resource.Parameters{
		"password_min_age": "1", "password_max_age": int64(90), "password_warn_days": int64(-1), "expiry": "2027-12-31",
	})
	set := "chage -m 1 -M 90 -W -1 -E 21183 ann"
	r.Effects = map[string]func(){set: func() { systemtest.Edit(t, s.Root, "/etc/shadow", shadow, aged) }}
	diffs, err := userType{}.Check(t.Context(), s, mine)
	got := ""
	for _, d := range diffs {
		got += d.String() + "; "
	}
	if want := "password_min_age is 0, should be 1; password_max_age is 99999, should be 90; password_warn_days is 7, should be -1; " +
		"expiry is absent, should be 2027-12-31; "; got != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	before := applied(t, s, userType{}, mine)
	r.WantRan(t, set)
	back, _, err := userType{}.Release(t.Context(), s, res(t, userType{}, "ann", nil), before)
	if err != nil || back["password_max_age"] != int64(99999) || back["expiry"] != "absent" {
		t.Errorf("%v, %v", back, err)
	}
	undo := "chage -m 0 -M 99999 -W 7 -E -1 ann"
	r.Effects = map[string]func(){undo: func() { systemtest.Edit(t, s.Root, "/etc/shadow", aged, shadow) }}
	undone(t, s, userType{}, mine, before)
	r.WantRan(t, undo)
}

// TestMemberOfItsPrimaryGroup: a group is made before the user who has it as primary group and is named as its member. Neither then differs, and the user goes before it.
func TestMemberOfItsPrimaryGroup(t *testing.T) {
	r := &recorder{}
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	group := res(t, groupType{}, "g7", resource.Parameters{"members": []any{"u7"}})
	user := res(t, userType{}, "u7", resource.Parameters{"gid": "g7"})
	add := func(file, line string) func() {
		return func() {
			path := filepath.Join(s.Root, file)
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, append(text, line...), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Effects = map[string]func(){"groupadd g7": add("/etc/group", "g7:x:1700:\n")}
	if err := (groupType{}).Apply(t.Context(), s, group); err == nil || !strings.Contains(err.Error(), "no user u7") {
		t.Errorf("a member whom nothing makes: %v", err)
	}
	r.WantRan(t, "groupadd g7")
	s = wholeMachine(t, systemtest.AccountFiles(), r.Run)
	s.Wanted = []resource.Resource{group, user}
	before := applied(t, s, groupType{}, group)
	r.WantRan(t, "groupadd g7")
	add("/etc/passwd", "u7:x:1700:1700::/home/u7:/bin/sh\n")()
	if diffs, err := (groupType{}).Check(t.Context(), s, group); len(diffs) > 0 || err != nil {
		t.Errorf("with the user: %v %v", diffs, err)
	}
	systemtest.Edit(t, s.Root, "/etc/passwd", "u7:x:1700:1700::/home/u7:/bin/sh\n", "")
	r.Effects["groupdel g7"] = func() { systemtest.Edit(t, s.Root, "/etc/group", "g7:x:1700:\n", "") }
	undone(t, s, groupType{}, group, before)
	r.WantRan(t, "groupdel g7")
}
