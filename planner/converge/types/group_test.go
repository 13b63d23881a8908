package types

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestGroup(t *testing.T) {
	r := &recorder{}
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	r.Effects = map[string]func(){
		"groupadd -g 2000 -r new": func() { systemtest.Edit(t, s.Root, "/etc/group", "root:x:0:\n", "root:x:0:\nnew:x:2000:\n") },
		"groupdel new":            func() { systemtest.Edit(t, s.Root, "/etc/group", "new:x:2000:\n", "") },
		"groupmod -g 2001 web":    func() { systemtest.Edit(t, s.Root, "/etc/group", "web:x:33:", "web:x:2001:") },
		"groupmod -g 33 web":      func() { systemtest.Edit(t, s.Root, "/etc/group", "web:x:2001:", "web:x:33:") },
		"groupdel users":          func() { systemtest.Edit(t, s.Root, "/etc/group", "users:x:100:ann,root\n", "") },
		"groupadd -g 100 users":   func() { systemtest.Edit(t, s.Root, "/etc/group", "root:x:0:\n", "root:x:0:\nusers:x:100:\n") },
		"gpasswd":                 func() { systemtest.Edit(t, s.Root, "/etc/group", "users:x:100:\n", "users:x:100:ann,root\n") },
	}
	tests := []struct {
		title      string
		parameters resource.Parameters
		diff       string
		want, undo []string
	}{
		{"new", resource.Parameters{"gid": int64(2000), "system": true}, "ensure: absent -> present", []string{"groupadd -g 2000 -r new"}, []string{"groupdel new"}},
		{"web", resource.Parameters{"gid": int64(2001)}, "gid: 33 -> 2001", []string{"groupmod -g 2001 web"}, []string{"groupmod -g 33 web"}},
		{"users", resource.Parameters{"ensure": "absent"}, "ensure: present -> absent", []string{"groupdel users"}, []string{"groupadd -g 100 users", "gpasswd -M ann,root users"}},
		{"adm", nil, "", nil, nil},
		{"nosuch", resource.Parameters{"ensure": "absent"}, "", nil, nil},
	}
	for _, tt := range tests {
		each := res(t, groupType{}, tt.title, tt.parameters)
		diffs, err := groupType{}.Check(t.Context(), s, each)
		got := ""
		for _, d := range diffs {
			got += d.Parameter + ": " + d.Is + " -> " + d.Should
		}
		if got != tt.diff || err != nil {
			t.Errorf("%s: %q, %v; want %q", tt.title, got, err, tt.diff)
		}
		former, _ := os.ReadFile(filepath.Join(s.Root, "/etc/group"))
		before := applied(t, s, groupType{}, each)
		r.WantRan(t, tt.want...)
		undone(t, s, groupType{}, each, before)
		r.WantRan(t, tt.undo...)
		now, _ := os.ReadFile(filepath.Join(s.Root, "/etc/group"))
		if len(former) != len(now) {
			t.Errorf("%s: /etc/group was %s, is %s", tt.title, former, now)
		}
	}
}

// TestGroupShadowComesBack: the password and the administrators of a group, which /etc/gshadow has, return with the group
// and with the user who administered it.
func TestGroupShadowComesBack(t *testing.T) {
	remove := func(t *testing.T, s *Session, lines map[string][]string) func() {
		return func() {
			for path, list := range lines {
				for _, line := range list {
					systemtest.Edit(t, s.Root, path, line, "")
				}
			}
		}
	}
	for name, tt := range map[string]struct {
		typ        Type
		title      string
		lines      map[string][]string // what the removal takes out of files
		want, undo []string
		hash       string
	}{
		"of a group": {groupType{}, "users",
			map[string][]string{
				"/etc/group":   {"users:x:100:ann,root\n"},
				"/etc/gshadow": {"users:$6$group$hash:root,gone:ann,root\n"},
			},
			[]string{"groupdel users"},
			[]string{"groupadd -g 100 users", "gpasswd -M ann,root users", "gpasswd -A root users", "chgpasswd -e"},
			"users:$6$group$hash\n"},
		"of a user": {userType{}, "ann",
			map[string][]string{
				"/etc/passwd":  {"ann:x:1000:1000:Ann A:/home/ann:/bin/bash\n"},
				"/etc/group":   {"ann:x:1000:\n"},
				"/etc/gshadow": {"ann:$6$private::\n", ",ann"},
			},
			[]string{"userdel ann"},
			[]string{"groupadd -g 1000 ann", "chgpasswd -e",
				"useradd -u 1000 -g 1000 -G adm,users -c Ann A -d /home/ann -s /bin/bash -M ann", "gpasswd -A root,ann web",
				"chpasswd -e"},
			"ann:$6$private\n"},
	} {
		t.Run(name, func(t *testing.T) {
			files := systemtest.AccountFiles()
			files["/etc/gshadow"] = "root:*::\nadm:!::ann\nweb:!:root,ann:\n" +
				"users:$6$group$hash:root,gone:ann,root\nann:$6$private::\n"
			files["/usr/sbin/chgpasswd"] = ""
			r := &recorder{}
			s := wholeMachine(t, files, r.Run)
			gone := remove(t, s, tt.lines)
			r.Effects = map[string]func(){
				"groupdel": gone, "userdel": gone,
				"groupadd -g 1000": func() { systemtest.Edit(t, s.Root, "/etc/group", "root:x:0:\n", "root:x:0:\nann:x:1000:\n") },
				"useradd": func() {
					systemtest.Edit(t, s.Root, "/etc/passwd", "root:x", "ann:x:1000:1000:Ann A:/home/ann:/bin/bash\nroot:x")
				},
			}
			each := res(t, tt.typ, tt.title, resource.Parameters{"ensure": "absent"})
			before := applied(t, s, tt.typ, each)
			r.WantRan(t, tt.want...)
			if strings.Contains(string(before), "$6$") {
				t.Errorf("the ledger has a hash: %s", before)
			}
			if name == "of a user" {
				systemtest.Edit(t, s.Root, "/etc/shadow", "$6$former$hash", "!")
			}
			if err := tt.typ.Undo(t.Context(), s, tt.title, before); err != nil {
				t.Fatal(err)
			}
			if i := slices.Index(r.Ran, "chgpasswd -e"); i < 0 || r.Stdin[i] != tt.hash {
				t.Errorf("ran %q with %q, want the hash %q of the group", r.Ran, r.Stdin, tt.hash)
			}
			r.WantRan(t, tt.undo...)
		})
	}
}

func TestGroupErrors(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"groupadd": {Status: 4, Combined: "groupadd: GID '0' already exists\n"}}}
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	err := groupType{}.Apply(t.Context(), s, res(t, groupType{}, "new", resource.Parameters{"gid": int64(0)}))
	if err == nil || err.Error() != `group "new": groupadd ended with status 4: groupadd: GID '0' already exists` {
		t.Error(err)
	}
	err = groupType{}.Undo(t.Context(), s, "ann", []byte(`{"name":"ann","want":true}`))
	if err == nil || !strings.Contains(err.Error(), "it is the primary group of ann") {
		t.Error(err)
	}
	err = groupType{}.Apply(t.Context(), wholeMachine(t, map[string]string{"/etc/group": ""}, noCommand), res(t, groupType{}, "new", nil))
	if err == nil || !strings.Contains(err.Error(), "the node has no groupadd; install the package that brings it") {
		t.Error(err)
	}
}

func TestAccountSchemas(t *testing.T) {
	tests := []struct {
		typ        Type
		title      string
		parameters resource.Parameters
		wrong      string
	}{
		{groupType{}, "web", resource.Parameters{"gid": int64(33), "system": true}, ""},
		{groupType{}, "web team", nil, "name"},
		{groupType{}, "-r", nil, "name"},
		{groupType{}, "web", resource.Parameters{"gid": int64(-1)}, "gid"},
		{groupType{}, "web", resource.Parameters{"gid": int64(1 << 32)}, "gid"},
		{userType{}, "ann", resource.Parameters{"uid": int64(1000), "gid": int64(1000), "groups": "adm", "shell": "/bin/sh", "password": "!"}, ""},
		{userType{}, "ann", resource.Parameters{"gid": "web", "groups": []any{"adm"}, "membership": "inclusive"}, ""},
		{userType{}, "ann", resource.Parameters{"gid": "4294967295"}, "gid"},
		{userType{}, "ann", resource.Parameters{"groups": []any{"a,b"}}, "groups"},
		{userType{}, "ann", resource.Parameters{"membership": "inclusive"}, "membership"},
		{userType{}, "ann", resource.Parameters{"comment": "a:b"}, "comment"},
		{userType{}, "ann", resource.Parameters{"comment": "a\nroot2:x:0:0"}, "comment"},
		{userType{}, "ann", resource.Parameters{"home": "home/ann"}, "home"},
		{userType{}, "ann", resource.Parameters{"home": "/home/../etc"}, "home"},
		{userType{}, "ann", resource.Parameters{"shell": "/bin/sh:"}, "shell"},
		{userType{}, "ann", resource.Parameters{"password": ""}, "password"},
		{userType{}, "ann", resource.Parameters{"password": "secret\nroot:x"}, "password"},
		{userType{}, "ann:x", nil, "name"},
		{userType{}, "ann", resource.Parameters{"expiry": "absent", "password_max_age": int64(-1)}, ""},
		{userType{}, "ann", resource.Parameters{"expiry": "31.12.2027"}, "expiry"},
		{userType{}, "ann", resource.Parameters{"password_max_age": int64(100000)}, "password_max_age"},
		{groupType{}, "web", resource.Parameters{"members": []any{"ann"}, "auth_membership": "true"}, ""},
		{groupType{}, "web", resource.Parameters{"members": []any{"a,b"}}, "members"},
		{groupType{}, "web", resource.Parameters{"auth_membership": true}, "auth_membership"},
	}
	for _, tt := range tests {
		schema := tt.typ.Schema()
		errs := schema.Validate(resource.Resource{Type: schema.Type, Title: tt.title, Parameters: tt.parameters})
		if tt.wrong == "" && len(errs) > 0 || tt.wrong != "" && (len(errs) != 1 || errs[0].Attribute != tt.wrong) {
			t.Errorf("%s[%s] %v: %v, want %q", schema.Type, tt.title, tt.parameters, errs, tt.wrong)
		}
		for _, e := range errs {
			if strings.Contains(e.Message, "secret") {
				t.Errorf("the password is shown: %s", e.Message)
			}
		}
		if !schema.NeedsMachine {
			t.Errorf("%s can do without a machine", schema.Type)
		}
	}
}

func TestGroupNamed(t *testing.T) {
	if diff := cmp.Diff("adm", groupNamed(map[string]system.Group{"zz": {GID: 4}, "adm": {GID: 4}}, 4)); diff != "" {
		t.Error(diff)
	}
}

// TestUndoOfAGroupLeavesTheRest: an id that the resource never spoke of, and a deletion by others, are not slipway's to take back.
func TestUndoOfAGroupLeavesTheRest(t *testing.T) {
	r := &recorder{}
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	r.Effects = map[string]func(){"groupmod": func() { systemtest.Edit(t, s.Root, "/etc/group", "web:x:43:", "web:x:44:") }}
	first := res(t, groupType{}, "web", nil)
	before := applied(t, s, groupType{}, first)
	systemtest.Edit(t, s.Root, "/etc/group", "web:x:33:", "web:x:43:")
	s.Forget()
	undone(t, s, groupType{}, first, before)
	r.WantRan(t)

	before = updated(t, s, groupType{}, res(t, groupType{}, "web", resource.Parameters{"gid": int64(44)}), before)
	r.Effects = map[string]func(){"groupmod": func() { systemtest.Edit(t, s.Root, "/etc/group", "web:x:44:", "web:x:43:") }}
	r.Ran = nil
	undone(t, s, groupType{}, first, before)
	r.WantRan(t, "groupmod -g 43 web")

	systemtest.Edit(t, s.Root, "/etc/group", "web:x:43:\n", "")
	s.Forget()
	undone(t, s, groupType{}, first, before)
	r.WantRan(t)
}
