package sequence

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// rs makes tasks from `service type[title] parameter=value ...`; a value with commas is a list.
func rs(lines ...string) []task.Task {
	var tasks []task.Task
	for _, line := range lines {
		// a blank that does not separate is written as another one
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' })
		typ, rest, _ := strings.Cut(fields[1], "[")
		r := resource.Resource{Type: typ, Title: strings.TrimSuffix(rest, "]"), Parameters: resource.Parameters{}}
		for _, f := range fields[2:] {
			name, value, _ := strings.Cut(strings.ReplaceAll(f, "\u00a0", " "), "=")
			var list []any
			for _, v := range strings.Split(value, ",") {
				list = append(list, v)
			}
			r.Parameters[name] = list
			if len(list) == 1 {
				r.Parameters[name] = value
			}
		}
		tasks = append(tasks, task.Task{Service: fields[0], Resource: r})
	}
	return tasks
}

// guardedByWords returns an exec whose guard is a program with its arguments, and files with the paths /opt/a and
// /opt/b.
func guardedByWords(words ...any) []task.Task {
	tasks := rs("a exec[e] command=true", "b file[/opt/a]", "c file[/opt/b] content=x")
	tasks[0].Resource.Parameters["unless"] = []any{words}
	return tasks
}

func idsOf(tasks []task.Task) []string {
	var ids []string
	for _, t := range tasks {
		ids = append(ids, string(t.Resource.ID()))
	}
	return ids
}

// The accounts of a unit that a template gives are those that it names in clear.
func TestOrderOfAUnitWithATemplate(t *testing.T) {
	tasks := rs("a systemd_unit[app.service]", "b user[app]")
	tasks[0].Resource.Parameters["content"] = map[string]any{"template": "User=app\nGroup=${node.name}\n"}
	ordered, errs := Order(tasks)
	if got := strings.Join(idsOf(ordered), " "); got != "user[app] systemd_unit[app.service]" || len(errs) > 0 {
		t.Errorf("got %s, %v", got, errs)
	}
}

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		tasks []task.Task
		want  string
	}{
		"service, type, title": {rs("b x[1]", "a y[2]", "a y[1]", "a x[9]"), "x[9] y[1] y[2] x[1]"},
		"require":              {rs("s x[1] require=x[2]", "s x[2] require=x[3]", "s x[3]"), "x[3] x[2] x[1]"},
		"before":               {rs("s x[1]", "s x[2]", "s x[3] before=x[1],x[2]"), "x[3] x[1] x[2]"},
		"notify":               {rs("s x[1]", "s x[2] notify=X[1]"), "x[2] x[1]"},
		"subscribe":            {rs("s x[1] subscribe=x[2]", "s x[2]"), "x[2] x[1]"},
		"the rest stays where it was": {rs("s x[1]", "s x[2] require=x[4]", "s x[3]", "s x[4]"),
			"x[1] x[3] x[4] x[2]"},
		"group: its members":                        {rs("a group[team] members=ann", "b user[ann]"), "user[ann] group[team]"},
		"group: its members, of which one needs it": {rs("a group[team] members=ann", "b user[ann] groups=team"), "group[team] user[ann]"},
		"file: parent directory": {rs("a file[/a/b/c]", "b file[/a]", "c file[/ab]"),
			"file[/a] file[/a/b/c] file[/ab]"},
		"file: nearest directory": {rs("a file[/a/b/c]", "b file[/a]", "c file[/a/b/]"),
			"file[/a] file[/a/b/] file[/a/b/c]"},
		"file: parameter path": {rs("a file[conf] path=/a/b", "b file[/a]"), "file[/a] file[conf]"},
		"file: owner and group": {rs("a file[/a] owner=u group=g", "b user[u] gid=g", "c group[g]"),
			"group[g] user[u] file[/a]"},
		"file: the program that checks it": {rs("a file[/a] content=x validate_cmd=/opt/check\u00a0%;cmp\u00a0/a\u00a0%",
			"b file[/opt/check]", "c file[/z] content=x validate_cmd=/y,%,/y.conf", "d file[/y.conf] content=x", "e file[/y]"),
			"file[/opt/check] file[/a] file[/y.conf] file[/y] file[/z]"},
		"file: an owner by number":    {rs("a file[/a] owner=12", "b user[12]"), "file[/a] user[12]"},
		"user: name instead of title": {rs("a file[/a] owner=u", "b user[x] name=u"), "user[x] file[/a]"},
		"user: groups":                {rs("a user[u] groups=g,h", "b group[h]"), "group[h] user[u]"},
		"user: shell":                 {rs("a user[u] shell=/opt/sh", "b file[/opt/sh]"), "file[/opt/sh] user[u]"},
		"cron: user":                  {rs("a cron[c] user=u", "b user[u]"), "user[u] cron[c]"},
		"exec: user and cwd": {rs("a exec[e] user=u cwd=/w", "b user[u]", "c file[/w]"),
			"user[u] file[/w] exec[e]"},
		"exec: the directory of what it creates": {rs("a exec[e] creates=/srv/app2/x", "b exec[f] creates=/a,/mnt/x/y",
			"c file[/srv/app2]", "d mount[/mnt]"), "file[/srv/app2] exec[e] mount[/mnt] exec[f]"},
		"ini_setting: its file": {rs("a ini_setting[i] path=/etc/x.ini", "b file[/etc/x.ini]"),
			"file[/etc/x.ini] ini_setting[i]"},
		"ssh_authorized_key: its user and directory": {
			rs("a ssh_authorized_key[k] user=ann", "b user[ann]", "c file[/home/ann/.ssh]"),
			"user[ann] file[/home/ann/.ssh] ssh_authorized_key[k]"},
		"service: its unit": {rs("a service[app@1]", "b service[web]", "c systemd_unit[app@.service]",
			"d systemd_unit[x] unit=web.service filename=x.conf", "e systemd_unit[other.service]"),
			"systemd_unit[app@.service] service[app@1] systemd_unit[x] service[web] systemd_unit[other.service]"},
		"service: its commands": {rs("a service[w] start=/opt/w,start stop=/opt/w2 restart=exec\u00a0/opt/w3 status=/opt/w4",
			"b file[/opt/w]", "c file[/opt/w2]", "d file[/opt/w3] content=x", "e file[/opt/w4]", "f file[/opt/w5]"),
			"file[/opt/w] file[/opt/w2] file[/opt/w3] file[/opt/w4] service[w] file[/opt/w5]"},
		"systemd_unit: its accounts, before its service": {rs("a service[app]",
			"b systemd_unit[app.service] content=[Service]\nUser=app\n\u00a0Group\u00a0=\u00a0web\r\n#Group=no\nSupplementaryGroups=a\u00a0b\nUser=%i",
			"c user[app]", "d group[web]", "e group[a]", "f group[b]", "g group[no]"),
			"user[app] group[web] group[a] group[b] systemd_unit[app.service] service[app] group[no]"},
		"systemd_unit: accounts that go": {rs("a user[app] ensure=absent", "b systemd_unit[app.service] content=User=app",
			"c service[app] ensure=stopped"), "systemd_unit[app.service] service[app] user[app]"},
		"systemd_unit: its directory": {rs("a systemd_unit[x] unit=web.service filename=x.conf",
			"b file[/etc/systemd/system/web.service.d]"), "file[/etc/systemd/system/web.service.d] systemd_unit[x]"},
		"sysctl: modules": {rs("a sysctl[net.bridge.x]", "b kernel_module[br_netfilter]"),
			"kernel_module[br_netfilter] sysctl[net.bridge.x]"},
		"package: repositories": {rs("a package[tree]", "b apt_repository[a]", "c yum_repository[b]",
			"d package[ca] before=apt_repository[a]"),
			"yum_repository[b] package[ca] apt_repository[a] package[tree]"},
		"apt_repository: its keyring": {rs("a apt_repository[a] keyring=/k", "b file[/k]", "c file[/etc/apt]"),
			"file[/k] file[/etc/apt] apt_repository[a]"},
		"archive: its user, source and directory": {rs("a archive[a] source=/s/a.tar extract=true extract_path=/o/a user=u group=g",
			"b user[u]", "c group[g]", "d file[/s]", "e file[/o]", "f mount[/o]", "g package[curl]", "h file[/o/a.tar]"),
			"user[u] group[g] file[/s] file[/o] mount[/o] package[curl] archive[a] file[/o/a.tar]"},
		"archive: a file below it": {rs("a file[/o/a/conf]", "b archive[a] source=/s extract=true extract_path=/o/a", "c file[/o/a]",
			"d file[/o/ab]"), "file[/o/a] archive[a] file[/o/a/conf] file[/o/ab]"},
		"archive: kept": {rs("a archive[/k/a.tar] source=https://x", "b file[/k]"), "file[/k] archive[/k/a.tar]"},
		"vcsrepo: its user, directory and git": {rs("a vcsrepo[/o/a] source=https://x user=u group=g", "b user[u]", "c group[g]", "d file[/o]",
			"e file[/o/a]", "f mount[/o]", "g package[git]", "h file[/o/a/conf]"),
			"user[u] group[g] file[/o] mount[/o] file[/o/a] package[git] vcsrepo[/o/a] file[/o/a/conf]"},
		"timezone: its package": {rs("a timezone[UTC]", "b package[p] name=tzdata", "c package[tree]"),
			"package[p] timezone[UTC] package[tree]"},
		"mount: its directory": {rs("a mount[/mnt]", "b file[/mnt]"), "file[/mnt] mount[/mnt]"},
		"file: below a mount": {rs("a file[/mnt/q/f]", "b mount[/mnt]", "c mount[/mnt/q]", "d file[/mnt]"),
			"file[/mnt] mount[/mnt] mount[/mnt/q] file[/mnt/q/f]"},
		"file: below a mount, through links": {rs("a file[/l/q/f]", "b file[/l] target=/k", "c file[/k] target=mnt",
			"d mount[/mnt]", "e mount[/mnt/q]"), "file[/k] file[/l] mount[/mnt] mount[/mnt/q] file[/l/q/f]"},
		"mount: file of swap": {rs("a mount[swap] device=/swapfile fstype=swap", "b file[/swapfile] mode=0600"),
			"file[/swapfile] mount[swap]"},
		"ini_setting, user: below a mount, through a link": {rs("a ini_setting[i] path=/l/x.ini", "b user[u] home=/l/u",
			"c file[/l] target=mnt/", "d mount[/mnt]"), "file[/l] mount[/mnt] ini_setting[i] user[u]"},
		"file: through links in a circle": {rs("a file[/l/f]", "b file[/l] target=/k", "c file[/k] target=/l",
			"d mount[/mnt]"), "file[/k] file[/l] file[/l/f] mount[/mnt]"},
		"file: below no mount": {rs("a file[/mntx]", "b mount[/mnt] ensure=absent", "c file[/mnt/f]"),
			"file[/mntx] mount[/mnt] file[/mnt/f]"},
		"ini_setting: below a mount": {rs("a ini_setting[i] path=/mnt/x.ini", "b mount[/mnt]"),
			"mount[/mnt] ini_setting[i]"},
		"exec, user: below a mount": {rs("a exec[e] cwd=/mnt/w", "a user[u] home=/mnt/u", "b mount[/mnt]"),
			"mount[/mnt] exec[e] user[u]"},
		"file: target of a link": {rs("a file[/l] target=/t/x", "b file[/t/x]"), "file[/t/x] file[/l]"},
		"exec: title": {rs("a exec[/opt/run] x=y", "b file[/opt/run]"),
			"file[/opt/run] exec[/opt/run]"},
		"exec: program of a list": {rs("a exec[e] command=/opt/run,-v,/opt/conf", "b file[/opt/run]",
			"c file[/opt/conf] content=x"), "file[/opt/run] file[/opt/conf] exec[e]"},
		"exec: guards": {rs("a exec[e] command=true unless=/opt/a onlyif=\"/opt/b\"", "b file[/opt/a]",
			"c file[/opt/b]"), "file[/opt/a] file[/opt/b] exec[e]"},
		"exec: guards as words": {guardedByWords("/opt/a", "-c", "/opt/b"), "file[/opt/a] file[/opt/b] exec[e]"},
		"exec: arguments": {rs("a exec[e] command=sh\u00a0--rc=/opt/a;.\u00a0'/opt/b'",
			"b file[/opt/a] source=/x", "c file[/opt/b] ensure=file"), "file[/opt/a] file[/opt/b] exec[e]"},
		"exec: what it makes": {rs("a exec[e] command=/opt/make,/k creates=/k", "b file[/k] content=x",
			"c exec[f] command=gen\u00a0>/o\u00a02>>\u00a0/o2\u00a0/p", "d file[/o2] content=x", "d file[/o] content=x",
			"e file[/p] mode=0600"), "exec[e] file[/k] exec[f] file[/o] file[/o2] file[/p]"},
		"what is written wins": {rs("a file[/a/b]", "b file[/a] require=file[/a/b]"), "file[/a/b] file[/a]"},
		"what is written wins, by way": {rs("a file[/a/b] before=x[1]", "b file[/a] require=x[1]", "c x[1]"),
			"file[/a/b] x[1] file[/a]"},
		"a directory goes last": {rs("a file[/a] ensure=absent", "b file[/a/b] ensure=absent"),
			"file[/a/b] file[/a]"},
		"groups without gid go last": {rs("a group[u] ensure=absent", "a group[z] ensure=absent",
			"b user[u] ensure=absent"), "user[u] group[u] group[z]"},
		"a group of the user's name": {rs("a user[u]", "b group[u]"), "group[u] user[u]"},
		"a group that outlives":      {rs("a group[u]", "b user[u] ensure=absent"), "user[u] group[u]"},
		"a group goes last":          {rs("a group[g] ensure=absent", "b user[u] gid=g"), "user[u] group[g]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				rand.Shuffle(len(tt.tasks), func(i, j int) { tt.tasks[i], tt.tasks[j] = tt.tasks[j], tt.tasks[i] })
				before := slices.Clone(tt.tasks)
				ordered, errs := Order(tt.tasks)
				if len(errs) > 0 {
					t.Fatal(errs)
				}
				if got := strings.Join(idsOf(ordered), " "); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				if d := cmp.Diff(before, tt.tasks); d != "" {
					t.Fatalf("the argument was changed: %s", d)
				}
			}
		})
	}
}

func TestRequiresAndNotifies(t *testing.T) {
	ordered, errs := Order(rs("s x[a] subscribe=x[c],x[b] require=x[b]", "s x[b] before=x[d]",
		"s x[c] notify=x[a],x[d]", "s x[d]"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := map[string][2][]resource.ID{}
	for _, task := range ordered {
		got[task.Resource.Title] = [2][]resource.ID{task.Requires, task.Notifies}
	}
	want := map[string][2][]resource.ID{
		"a": {{"x[b]", "x[c]"}, nil},
		"b": {nil, {"x[a]"}},
		"c": {nil, {"x[a]", "x[d]"}},
		"d": {{"x[b]", "x[c]"}, nil},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestUnresolved(t *testing.T) {
	_, errs := Order(rs("s x[a] require=x[bb],y[1] notify=z[none]", "s x[b]"))
	var got []string
	for _, err := range errs {
		if err.Code != invalid.UnknownReference {
			t.Fatalf("got %v", err)
		}
		got = append(got, err.Error())
	}
	want := []string{
		"x[a]: require: there is no x[bb]; did you mean x[b]?",
		"x[a]: require: there is no y[1]; did you mean x[b]?",
		"x[a]: notify: there is no z[none]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCycle(t *testing.T) {
	tests := map[string]struct {
		tasks []task.Task
		want  []string // error, then who wrote which relation to whom
	}{
		"of two": {rs("s x[a] require=x[b]", "s x[b] require=x[a]"),
			[]string{"x[a] requires x[b] requires x[a]; x[a] require x[b]"}},
		"by before and notify": {rs("s x[a] before=x[b]", "s x[b] notify=x[a]"),
			[]string{"x[a] requires x[b] requires x[a]; x[b] notify x[a]"}},
		"the shortest, and what hangs on it is not named": {
			rs("s x[a] require=x[b],x[d]", "s x[b] require=x[c]", "s x[c] require=x[a]", "s x[d] require=x[a]",
				"s x[e] require=x[a]"),
			[]string{"x[a] requires x[d] requires x[a]; x[a] require x[d]"},
		},
		"each component once": {
			rs("s x[a] require=x[b]", "s x[b] require=x[a]", "s x[c] subscribe=x[d]", "s x[d] subscribe=x[c]"),
			[]string{"x[a] requires x[b] requires x[a]; x[a] require x[b]",
				"x[c] requires x[d] requires x[c]; x[c] subscribe x[d]"},
		},
		"of one": {rs("s x[a] require=x[a]"), []string{"x[a] requires x[a]; x[a] require x[a]"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, errs := Order(tt.tasks)
			var got []string
			for _, err := range errs {
				if err.Code != invalid.DependencyCycle {
					t.Fatalf("got %v", err)
				}
				got = append(got, err.Error()+"; "+string(err.Writer.Resource.ID())+" "+err.Relation+" "+string(err.Reference))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOrderProperties: whatever the requirements, each task comes once and after all that it requires, and the order of
// the input does not show.
func TestOrderProperties(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		rank := r.Perm(len(names))
		var lines []string
		for i, n := range names {
			line := "s" + string(rune('0'+r.IntN(2))) + " x[" + n + "]"
			for _, relation := range []string{"require", "before"} {
				var refs []string
				for j, other := range names {
					if r.IntN(4) == 0 && ((relation == "require" && rank[j] < rank[i]) ||
						(relation == "before" && rank[j] > rank[i])) {
						refs = append(refs, "x["+other+"]")
					}
				}
				if refs != nil {
					line += " " + relation + "=" + strings.Join(refs, ",")
				}
			}
			lines = append(lines, line)
		}
		tasks := rs(lines...)
		ordered, errs := Order(tasks)
		if len(errs) > 0 || len(ordered) != len(tasks) {
			t.Fatalf("seed %d: %d of %d tasks, %v", seed, len(ordered), len(tasks), errs)
		}
		place := map[resource.ID]int{}
		for i, task := range ordered {
			place[task.Resource.ID()] = i
		}
		for i, task := range ordered {
			for _, id := range task.Requires {
				if at, ok := place[id]; !ok || at >= i {
					t.Fatalf("seed %d: %s comes before %s, which it requires", seed, task.Resource.ID(), id)
				}
			}
		}
		r.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		again, _ := Order(tasks)
		if d := cmp.Diff(ordered, again); d != "" {
			t.Fatalf("seed %d: the order of the input shows: %s", seed, d)
		}
	}
}

func TestPhases(t *testing.T) {
	one := []task.Task{{Node: "n"}}
	phases, err := Phases([]string{"g2", "g1"}, map[Key][]task.Task{
		{task.Node, "g1"}: one, {task.Prepare, "g1"}: one, {task.Cleanup, ""}: one, {task.PostCluster, ""}: one,
		{task.Management, ""}: one,
		{task.Node, "g2"}:     one, {task.Cluster, "g2"}: one, {task.PreNode, "g2"}: {},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range phases {
		got = append(got, strings.TrimSpace(p.Group+" "+string(p.TaskGroup)))
	}
	want := []string{"management", "g2 node", "g2 cluster", "g1 prepare", "g1 node", "post_cluster", "cleanup"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, key := range []Key{{task.Node, "g3"}, {task.Node, ""}, {"lunch", ""}, {task.Cleanup, "g1"}} {
		if _, err := Phases([]string{"g1"}, map[Key][]task.Task{key: one}); err == nil {
			t.Errorf("%v has no place, and no error tells", key)
		}
	}
}
