package types

import (
	"encoding/json"
	"maps"
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

func TestCompareUser(t *testing.T) {
	s := wholeMachine(t, systemtest.AccountFiles(), noCommand)
	tests := []struct {
		parameters resource.Parameters
		want       string
		usermod    string // the arguments that repair it
	}{
		{nil, "", ""},
		{resource.Parameters{"uid": int64(1000), "gid": "ann", "groups": []any{"adm"}, "comment": "Ann A", "home": "/home/ann", "shell": "/bin/bash", "password": "$6$former$hash"}, "", ""},
		{resource.Parameters{"uid": int64(1001)}, "uid: 1000 -> 1001", "-u 1001"},
		{resource.Parameters{"gid": int64(1000)}, "", ""},
		{resource.Parameters{"gid": "web"}, "gid: ann -> web", "-g web"},
		{resource.Parameters{"gid": int64(33)}, "gid: 1000 -> 33", "-g 33"},
		{resource.Parameters{"gid": "nosuch"}, "gid: ann -> nosuch", "-g nosuch"},
		{resource.Parameters{"groups": []any{}}, "", ""},
		{resource.Parameters{"groups": []any{"web", "adm"}}, "groups: adm,users -> adm,web", "-a -G adm,web"},
		{resource.Parameters{"groups": []any{"users", "adm"}, "membership": "inclusive"}, "", ""},
		{resource.Parameters{"groups": []any{"adm", "ann"}, "membership": "inclusive"}, "groups: adm,users -> adm", "-G adm"},
		{resource.Parameters{"groups": []any{}, "membership": "inclusive"}, "groups: adm,users -> ", "-G "},
		{resource.Parameters{"groups": []any{"nosuch"}}, "groups: adm,users -> nosuch", "-a -G nosuch"},
		{resource.Parameters{"comment": "", "shell": "/bin/sh"}, "comment: Ann A -> ; shell: /bin/bash -> /bin/sh", "-c  -s /bin/sh"},
		{resource.Parameters{"home": "/srv/ann"}, "home: /home/ann -> /srv/ann", "-d /srv/ann"},
		{resource.Parameters{"home": "/srv/ann", "managehome": true}, "home: /home/ann -> /srv/ann", "-d /srv/ann -m"},
		{resource.Parameters{"password": "$6$new$secret"}, "password: another -> as given", ""},
	}
	users, err := s.Users()
	if err != nil {
		t.Fatal(err)
	}
	groups, err := s.Groups()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		r := res(t, userType{}, "ann", tt.parameters)
		diffs, err := userType{}.Check(t.Context(), s, r)
		var got []string
		for _, d := range diffs {
			got = append(got, d.Parameter+": "+d.Is+" -> "+d.Should)
		}
		if text := strings.Join(got, "; "); text != tt.want || err != nil {
			t.Errorf("%v: %q, %v; want %q", tt.parameters, text, err, tt.want)
		}
		if args := strings.Join(userModArguments(users["ann"], groups, r.Parameters), " "); args != tt.usermod {
			t.Errorf("%v: usermod %q, want %q", tt.parameters, args, tt.usermod)
		}
	}
}

func TestUserAddArguments(t *testing.T) {
	tests := []struct {
		parameters resource.Parameters
		private    bool
		want       string
	}{
		{nil, false, "-M bob"},
		{nil, true, "-g bob -M bob"},
		{resource.Parameters{"gid": "web"}, true, "-g web -M bob"},
		{resource.Parameters{"uid": int64(7), "gid": int64(33), "groups": []any{"users", "adm"}, "comment": "B", "home": "/srv/b", "shell": "/bin/sh",
			"managehome": true, "system": true, "password": "$6$a$secret"}, false, "-u 7 -g 33 -G adm,users -c B -d /srv/b -s /bin/sh -m -r bob"},
	}
	for _, tt := range tests {
		if got := strings.Join(userAddArguments("bob", tt.parameters, tt.private), " "); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.parameters, got, tt.want)
		}
	}
}

func TestUserMadeAndUndone(t *testing.T) {
	tests := []struct {
		name       string
		parameters resource.Parameters
		file       string // that is there already
		want, undo []string
	}{
		{"with its home", resource.Parameters{"managehome": true, "password": "$6$new$secret"}, "",
			[]string{"useradd -m bob", "chpasswd -e"}, []string{"userdel -r bob"}},
		{"a home that was there stays", resource.Parameters{"managehome": true}, "/base/bob/mine", []string{"useradd -m bob"}, []string{"userdel bob"}},
		{"without a home", nil, "", []string{"useradd -M bob"}, []string{"userdel bob"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := systemtest.AccountFiles()
			files["/etc/default/useradd"] = "# HOME=/no\nSHELL=/bin/sh\nHOME=/base\n"
			if tt.file != "" {
				files[tt.file] = ""
			}
			r := &recorder{}
			s := wholeMachine(t, files, r.Run)
			r.Effects = map[string]func(){
				"useradd": func() {
					systemtest.Edit(t, s.Root, "/etc/passwd", "root:x", "bob:x:1001:1001::/base/bob:/bin/sh\nroot:x")
					systemtest.Edit(t, s.Root, "/etc/shadow", "root:", "bob:!:1:0:99999:7:::\nroot:")
				},
				"chpasswd": func() { systemtest.Edit(t, s.Root, "/etc/shadow", "bob:!", "bob:$6$new$secret") },
				"userdel":  func() { systemtest.Edit(t, s.Root, "/etc/passwd", "bob:x:1001:1001::/base/bob:/bin/sh\n", "") },
			}
			each := res(t, userType{}, "bob", tt.parameters)
			before, err := userType{}.Capture(t.Context(), s, each)
			if err != nil {
				t.Fatal(err)
			}
			if err := (userType{}).Apply(t.Context(), s, each); err != nil {
				t.Fatal(err)
			}
			if i := slices.Index(r.Ran, "chpasswd -e"); i >= 0 && r.Stdin[i] != "bob:$6$new$secret\n" {
				t.Errorf("chpasswd read %q", r.Stdin[i])
			}
			r.WantRan(t, tt.want...)
			if diffs, err := (userType{}).Check(t.Context(), s, each); len(diffs) > 0 || err != nil {
				t.Errorf("after it: %v, %v", diffs, err)
			}
			undone(t, s, userType{}, each, before)
			r.WantRan(t, tt.undo...)
		})
	}
}

// TestUserThatWasThere: the former attributes come back, the hash by way of a kept file and never by the ledger or a command line.
func TestUserThatWasThere(t *testing.T) {
	r := &recorder{}
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	each := res(t, userType{}, "ann", resource.Parameters{"uid": int64(7), "groups": []any{"web"}, "comment": "", "password": "$6$new$secret"})
	before, err := userType{}.Capture(t.Context(), s, each)
	if err != nil {
		t.Fatal(err)
	}
	var b userBefore
	if err := json.Unmarshal(before, &b); err != nil {
		t.Fatal(err)
	}
	hash := b.Hash
	b.Hash = ""
	want := userBefore{Name: "ann", Want: true, Existed: true, Said: []string{"uid", "groups", "comment", "password"}, UID: 1000,
		Ageing: []string{"1", "0", "99999", "7", "", ""}, Listed: []string{"web"}, Comment: "Ann A", Private: &groupBefore{Name: "ann", Want: true, Existed: true, GID: 1000}}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(before), "former") {
		t.Errorf("the ledger holds the hash: %s", before)
	}
	if info, err := s.Lstat(system.BackupPath + "/" + hash); err != nil || info.Mode.Perm() != 0o600 {
		t.Errorf("kept hash: %v, %v", info.Mode, err)
	}
	if err := (userType{}).Apply(t.Context(), s, each); err != nil {
		t.Fatal(err)
	}
	r.WantRan(t, "usermod -u 7 -a -G web -c  ann", "chpasswd -e")

	systemtest.Edit(t, s.Root, "/etc/passwd", "ann:x:1000:1000:Ann A", "ann:x:7:1000:")
	systemtest.Edit(t, s.Root, "/etc/group", "web:x:33:", "web:x:33:ann")
	systemtest.Edit(t, s.Root, "/etc/shadow", "$6$former$hash", "$6$new$secret")
	s.Forget()
	if err := (userType{}).Undo(t.Context(), s, "ann", before); err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(r.Ran, "chpasswd -e"); i < 0 || r.Stdin[i] != "ann:$6$former$hash\n" {
		t.Errorf("ran %q with %q", r.Ran, r.Stdin)
	}
	r.WantRan(t, "usermod -u 1000 -G adm,users -c Ann A ann", "chpasswd -e")
}

// TestUserThatWasDeleted: the user comes back as it was, with a home directory only when it had one.
func TestUserThatWasDeleted(t *testing.T) {
	t.Run("with a home", func(t *testing.T) { bringUserBack(t, map[string]string{"/home/ann/": ""}, "-m") })
	t.Run("without", func(t *testing.T) { bringUserBack(t, nil, "-M") })
}

func bringUserBack(t *testing.T, homes map[string]string, makes string) {
	t.Helper()
	r := &recorder{}
	files := systemtest.AccountFiles()
	maps.Copy(files, homes)
	s := wholeMachine(t, files, r.Run)
	gone := func() {
		systemtest.Edit(t, s.Root, "/etc/passwd", "ann:x:1000:1000:Ann A:/home/ann:/bin/bash\n", "")
		systemtest.Edit(t, s.Root, "/etc/group", "ann:x:1000:\n", "")
	}
	r.Effects = map[string]func(){
		"userdel":  gone,
		"groupadd": func() { systemtest.Edit(t, s.Root, "/etc/group", "root:x:0:\n", "root:x:0:\nann:x:1000:\n") },
		"useradd": func() {
			systemtest.Edit(t, s.Root, "/etc/passwd", "root:x", "ann:x:1000:1000:Ann A:/home/ann:/bin/bash\nroot:x")
		},
	}
	each := res(t, userType{}, "ann", resource.Parameters{"ensure": "absent", "managehome": true})
	before := applied(t, s, userType{}, each)
	r.WantRan(t, "userdel -r ann")
	systemtest.Edit(t, s.Root, "/etc/shadow", "$6$former$hash", "!")
	if err := s.RemoveAll("/home/ann"); err != nil {
		t.Fatal(err)
	}
	if err := (userType{}).Undo(t.Context(), s, "ann", before); err != nil {
		t.Fatal(err)
	}
	r.WantRan(t, "groupadd -g 1000 ann", "useradd -u 1000 -g 1000 -G adm,users -c Ann A -d /home/ann -s /bin/bash "+makes+" ann", "chpasswd -e")
}

// TestSubordinateIDsComeBack: files of a user's containers belong to the ids that /etc/subuid and /etc/subgid gave it,
// so it gets these back and not those that useradd gives.
func TestSubordinateIDsComeBack(t *testing.T) {
	const others = "root:100000:65536\n"
	for name, tt := range map[string]struct{ was, gets, want string }{
		"other ids": {"ann:500000:1000\nann:700000:1\n", "ann:165536:65536\n",
			"usermod -V 165536-231071 -v 500000-500999 -v 700000-700000 -W 165536-231071 ann"},
		"the same ids": {"ann:165536:65536\n", "ann:165536:65536\n", ""},
		"none":         {"", "ann:165536:65536\n", "usermod -V 165536-231071 -W 165536-231071 ann"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			files := systemtest.AccountFiles()
			files["/etc/subuid"], files["/etc/subgid"] = others+tt.was, others
			if name == "the same ids" {
				files["/etc/subgid"] += tt.was
			}
			s := wholeMachine(t, files, r.Run)
			r.Effects = map[string]func(){
				"userdel": func() { systemtest.Edit(t, s.Root, "/etc/passwd", "ann:x:1000:1000:Ann A:/home/ann:/bin/bash\n", "") },
				"useradd": func() {
					systemtest.Edit(t, s.Root, "/etc/passwd", "root:x", "ann:x:1000:1000:Ann A:/home/ann:/bin/bash\nroot:x")
					systemtest.Edit(t, s.Root, "/etc/subuid", files["/etc/subuid"], others+tt.gets)
					systemtest.Edit(t, s.Root, "/etc/subgid", files["/etc/subgid"], others+tt.gets)
				},
			}
			each := res(t, userType{}, "ann", resource.Parameters{"ensure": "absent"})
			before := applied(t, s, userType{}, each)
			if err := (userType{}).Undo(t.Context(), s, "ann", before); err != nil {
				t.Fatal(err)
			}
			got := ""
			if i := slices.IndexFunc(r.Ran, func(c string) bool { return strings.HasPrefix(c, "usermod") }); i >= 0 {
				got = r.Ran[i]
			}
			if got != tt.want {
				t.Errorf("ran %q, want %q", r.Ran, tt.want)
			}
		})
	}
}

// TestUserdelTakesTheGroupAlong: a group of the user's name that another resource made is made again.
func TestUserdelTakesTheGroupAlong(t *testing.T) {
	r := &recorder{}
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	r.Effects = map[string]func(){"userdel": func() {
		systemtest.Edit(t, s.Root, "/etc/passwd", "ann:x:1000:1000:Ann A:/home/ann:/bin/bash\n", "")
		systemtest.Edit(t, s.Root, "/etc/group", "ann:x:1000:\n", "")
	}}
	text, err := json.Marshal(userBefore{Name: "ann", Want: true, Private: &groupBefore{Name: "ann", Existed: true, GID: 1000, Members: []string{"ann", "root", "gone"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := (userType{}).Undo(t.Context(), s, "ann", text); err != nil {
		t.Fatal(err)
	}
	r.WantRan(t, "userdel ann", "groupadd -g 1000 ann", "gpasswd -M root ann")
}

func TestUserErrors(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"userdel": {Status: 8, Combined: "userdel: user ann is currently used by process 7\n"}}}
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	apply := func(p resource.Parameters) error {
		return userType{}.Apply(t.Context(), s, res(t, userType{}, "ann", p))
	}
	for _, tt := range []struct {
		parameters resource.Parameters
		want       string
	}{
		{resource.Parameters{"ensure": "absent"}, `user "ann": userdel ended with status 8: userdel: user ann is currently used by process 7`},
		{resource.Parameters{"gid": "nosuch", "groups": []any{"adm", "none"}}, `user "ann": gid: the node has no group "nosuch"; groups: the node has no group "none"; make it`},
		{resource.Parameters{"gid": int64(77)}, `user "ann": gid: the node has no group "77"`},
	} {
		if err := apply(tt.parameters); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.parameters, err)
		}
	}
	r.Answers = nil // userdel now claims success
	if err := apply(resource.Parameters{"ensure": "absent"}); err == nil || !strings.Contains(err.Error(), "reported success, yet the user is still there") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(s.Root, "/usr/sbin/useradd")); err != nil {
		t.Fatal(err)
	}
	err := userType{}.Apply(t.Context(), s, res(t, userType{}, "bob", nil))
	if err == nil || !strings.Contains(err.Error(), "the node has no useradd; install the package that brings it") {
		t.Error(err)
	}
	if err := (userType{}).Undo(t.Context(), s, "x", []byte("{")); err == nil {
		t.Error("no error for a record that cannot be read")
	}
}

// TestUndoOfAUserLeavesTheRest: what the resource never spoke of is the user's own, whoever changed it since.
func TestUndoOfAUserLeavesTheRest(t *testing.T) {
	r := &recorder{}
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	first := res(t, userType{}, "ann", resource.Parameters{"groups": []any{"web", "adm"}})
	before, err := userType{}.Capture(t.Context(), s, first)
	if err != nil {
		t.Fatal(err)
	}
	systemtest.Edit(t, s.Root, "/etc/group", "web:x:33:", "web:x:33:ann") // by slipway
	// Later, and by others: another shell, another password, another group, and one group less.
	systemtest.Edit(t, s.Root, "/etc/passwd", "/home/ann:/bin/bash", "/home/ann:/bin/zsh")
	systemtest.Edit(t, s.Root, "/etc/shadow", "$6$former$hash", "$6$own$choice")
	systemtest.Edit(t, s.Root, "/etc/group", "users:x:100:ann,root", "users:x:100:root")
	systemtest.Edit(t, s.Root, "/etc/group", "root:x:0:\n", "root:x:0:\nsudo:x:27:ann\n")
	s.Forget()
	undone(t, s, userType{}, first, before)
	r.WantRan(t, "usermod -G adm,sudo ann", "usermod -G adm,sudo ann") // the recorder changes nothing

	// The shell is said later: it comes back as it was by then.
	second := res(t, userType{}, "ann", resource.Parameters{"groups": []any{"web", "sudo"}, "shell": "/bin/sh", "membership": "inclusive"})
	for range 2 {
		if before, err = (userType{}).Widen(t.Context(), s, second, before); err != nil {
			t.Fatal(err)
		}
	}
	systemtest.Edit(t, s.Root, "/etc/passwd", "/home/ann:/bin/zsh", "/home/ann:/bin/sh")
	systemtest.Edit(t, s.Root, "/etc/group", "adm:x:4:ann", "adm:x:4:")
	s.Forget()
	if err := (userType{}).Undo(t.Context(), s, "ann", before); err != nil {
		t.Fatal(err)
	}
	r.WantRan(t, "usermod -G adm,sudo -s /bin/zsh ann")

	// Deleted by others.
	systemtest.Edit(t, s.Root, "/etc/passwd", "ann:x:1000:1000:Ann A:/home/ann:/bin/sh\n", "")
	s.Forget()
	undone(t, s, userType{}, second, before)
	r.WantRan(t)
}

// TestHomeThatMoves: the content of a home directory goes back where it was, and a home that came with the user goes with it wherever it is.
func TestHomeThatMoves(t *testing.T) {
	r := &recorder{}
	s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
	moved := res(t, userType{}, "ann", resource.Parameters{"home": "/srv/ann", "managehome": true})
	before, err := userType{}.Capture(t.Context(), s, moved)
	if err != nil {
		t.Fatal(err)
	}
	systemtest.Edit(t, s.Root, "/etc/passwd", "/home/ann", "/srv/ann")
	if err := os.RemoveAll(filepath.Join(s.Root, "/home/ann")); err != nil {
		t.Fatal(err)
	}
	s.Forget()
	if err := (userType{}).Undo(t.Context(), s, "ann", before); err != nil {
		t.Fatal(err)
	}
	r.WantRan(t, "usermod -d /home/ann -m ann")

	before, err = userType{}.Capture(t.Context(), s, res(t, userType{}, "bob", resource.Parameters{"home": "/home/bob", "managehome": true}))
	if err != nil {
		t.Fatal(err)
	}
	systemtest.Edit(t, s.Root, "/etc/passwd", "root:x", "bob:x:1001:1001::/home/bob:/bin/sh\nroot:x")
	s.Forget()
	if before, err = (userType{}).Widen(t.Context(), s, res(t, userType{}, "bob", resource.Parameters{"home": "/srv/bob", "managehome": true}), before); err != nil {
		t.Fatal(err)
	}
	systemtest.Edit(t, s.Root, "/etc/passwd", "/home/bob", "/srv/bob")
	s.Forget()
	r.Effects = map[string]func(){"userdel": func() { systemtest.Edit(t, s.Root, "/etc/passwd", "bob:x:1001:1001::/srv/bob:/bin/sh\n", "") }}
	undone(t, s, userType{}, res(t, userType{}, "bob", nil), before)
	r.WantRan(t, "userdel -r bob")
}

// A user whose shell does not exist cannot log in.
func TestUserShellMustExist(t *testing.T) {
	for _, there := range []string{"", "ann:x:1000:1000:::/bin/sh\n"} {
		r := &recorder{}
		s := wholeMachine(t, map[string]string{"/etc/passwd": there, "/etc/group": "ann:x:1000:\n", "/etc/shells": "/bin/nosh\n", "/usr/sbin/useradd": "", "/usr/sbin/usermod": ""}, r.Run)
		err := userType{}.Apply(t.Context(), s, res(t, userType{}, "ann", resource.Parameters{"shell": "/bin/nosh"}))
		if err == nil || !strings.Contains(err.Error(), `user "ann": shell: the node has no program /bin/nosh; install its package first and require it`) || len(r.Ran) > 0 {
			t.Errorf("%v, ran %v", err, r.Ran)
		}
	}
}
