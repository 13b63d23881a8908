package converge

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// shadowSuite runs useradd, usermod, userdel, groupadd and groupmod on the files of a node, as far as these tests use
// them: a user without a gid gets a group of its own, and ids are the next free ones.
type shadowSuite struct {
	t *testing.T
	s *types.Session
}

func (x shadowSuite) run(c system.Command) (system.Output, error) {
	x.t.Helper()
	x.s.Forget()
	users, err := x.s.Users()
	if err != nil {
		return system.Output{}, err
	}
	groups, err := x.s.Groups()
	if err != nil {
		return system.Output{}, err
	}
	tool, args := c.Argv[0], c.Argv[1:]
	options, name := map[string]string{}, args[len(args)-1]
	for i := 0; i < len(args)-1; i++ {
		if option := args[i]; slices.Contains([]string{"-m", "-M", "-r", "-a"}, option) {
			options[option] = ""
		} else {
			options[option] = args[i+1]
			i++
		}
	}
	number := func(option string, otherwise int) int {
		if n, err := strconv.Atoi(options[option]); err == nil {
			return n
		}
		return otherwise
	}
	gid := func(otherwise int) int {
		if g, named := groups[options["-g"]]; named {
			return g.GID
		}
		return number("-g", otherwise)
	}
	_, ofSystem := options["-r"]
	free := func(taken func(int) bool) int {
		id, step := 1000, 1
		if ofSystem {
			id, step = 999, -1
		}
		for taken(id) {
			id += step
		}
		return id
	}
	uid := free(func(id int) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(users)), func(u system.User) bool { return u.UID == id })
	})
	u := users[name]
	switch tool {
	case "groupadd":
		groups[name] = system.Group{Name: name, GID: gid(free(func(id int) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(groups)), func(g system.Group) bool { return g.GID == id })
		}))}
	case "groupmod":
		groups[name] = system.Group{Name: name, GID: gid(0), Members: groups[name].Members}
	case "groupdel":
		delete(groups, name)
	case "useradd":
		u = system.User{Name: name, UID: number("-u", uid), Home: "/home/" + name, Shell: "/bin/sh"}
		if u.GID = gid(u.UID); options["-g"] == "" {
			groups[name] = system.Group{Name: name, GID: u.GID}
		}
		fallthrough
	case "usermod":
		was := u.Home
		u.UID, u.GID = number("-u", u.UID), gid(u.GID)
		if home, given := options["-d"]; given {
			u.Home = home
		}
		if shell, given := options["-s"]; given {
			u.Shell = shell
		}
		if _, moves := options["-m"]; moves {
			if err := x.s.RemoveAll(was); err != nil {
				return system.Output{}, err
			}
			if err := x.s.Mkdir(u.Home, system.Attributes{}); err != nil {
				return system.Output{}, err
			}
		}
		users[name] = u
	case "userdel":
		if _, removes := options["-r"]; removes {
			if err := x.s.RemoveAll(u.Home); err != nil {
				return system.Output{}, err
			}
		}
		delete(users, name)
		delete(groups, name)
	default:
		x.t.Errorf("unexpected command %v", c.Argv)
	}
	var passwd, group strings.Builder
	for _, name := range slices.Sorted(maps.Keys(users)) {
		u := users[name]
		fmt.Fprintf(&passwd, "%s:x:%d:%d:%s:%s:%s\n", name, u.UID, u.GID, u.Comment, u.Home, u.Shell)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(&group, "%s:x:%d:%s\n", name, groups[name].GID, strings.Join(groups[name].Members, ","))
	}
	for file, text := range map[string]string{"/etc/passwd": passwd.String(), "/etc/group": group.String()} {
		if err := x.s.WriteFile(file, []byte(text), system.Attributes{}); err != nil {
			return system.Output{}, err
		}
	}
	return system.Output{}, nil
}

// What only an earlier form gave of a user or group that slipway made returns to what it had, or to what a new one has.
func TestUserAndGroupEndEqual(t *testing.T) {
	user := func(p resource.Parameters) Item {
		r := res(t, types.All["user"], "bob", p)
		return Item{Resource: r, Digest: resource.Digest(r)}
	}
	group := func(p resource.Parameters) Item {
		r := res(t, types.All["group"], "crew", p)
		return Item{Resource: r, Digest: resource.Digest(r)}
	}
	more := resource.Parameters{
		"uid": int64(5000), "gid": "web", "home": "/srv/bob", "shell": "/bin/bash", "managehome": true,
	}
	homely := resource.Parameters{"managehome": true}
	for name, forms := range map[string][]Item{
		"a user, given at once":     {user(more), user(homely)},
		"a user, given later":       {user(homely), user(more), user(homely)},
		"a user, given twice":       {user(homely), user(more), user(homely), user(more), user(homely)},
		"a user without a home":     {user(resource.Parameters{"home": "/srv/bob", "uid": int64(5000), "gid": "web"}), user(nil)},
		"a user whose uid is given": {user(resource.Parameters{"uid": int64(4000), "gid": "web"}), user(resource.Parameters{"uid": int64(4000)})},
		"a user of the system":      {user(resource.Parameters{"uid": int64(5000), "gid": "web", "system": true}), user(resource.Parameters{"system": true})},
		"a group, given at once":    {group(resource.Parameters{"gid": int64(5000)}), group(nil)},
		"a group, given later":      {group(nil), group(resource.Parameters{"gid": int64(5000)}), group(nil)},
		"a group of the system":     {group(resource.Parameters{"gid": int64(5000), "system": true}), group(resource.Parameters{"system": true})},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := shadowNode(t), shadowNode(t)
			runAll(t, want, forms[len(forms)-1])
			was := systemtest.Inventory(t, got.Root)
			for _, form := range forms {
				for range 2 {
					if r := runAll(t, got, form)[0]; r.Status != Changed && r.Status != Unchanged {
						t.Fatalf("%s: %s", r.Status, r.Message)
					}
				}
			}
			if d := cmp.Diff(systemtest.Inventory(t, want.Root), systemtest.Inventory(t, got.Root)); d != "" {
				t.Errorf("nodes with equal configuration differ: %s", d)
			}
			runAll(t, got)
			if d := cmp.Diff(was, systemtest.Inventory(t, got.Root)); d != "" {
				t.Errorf("after the tear-down: %s", d)
			}
		})
	}
}

// shadowNode is a node with a user and the shadow suite.
func shadowNode(t *testing.T) *types.Session {
	t.Helper()
	files := map[string]string{
		"/etc/login.defs": "# UID_MIN 1\nUID_MIN\t1000\nUSERGROUPS_ENAB yes\n", "/etc/default/useradd": "SHELL=/bin/sh\n",
		"/etc/passwd": "ann:x:1000:1000::/home/ann:/bin/sh\n", "/etc/group": "ann:x:1000:\nweb:x:33:\n", "/home/": "", "/srv/": "",
	}
	programs := []string{"/bin/sh", "/bin/bash"}
	for _, tool := range []string{"useradd", "usermod", "userdel", "groupadd", "groupmod", "groupdel"} {
		programs = append(programs, "/usr/sbin/"+tool)
	}
	for _, program := range programs {
		files[program] = ""
	}
	s := wholeMachine(t, files, nil)
	for _, program := range programs {
		if err := s.SetAttributes(program, system.Attributes{Mode: pointer[fs.FileMode](0o755)}); err != nil {
			t.Fatal(err)
		}
	}
	s.Commands = func(_ context.Context, c system.Command) (system.Output, error) { return shadowSuite{t, s}.run(c) }
	return s
}
