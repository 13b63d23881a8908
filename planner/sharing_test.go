package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// vhosts is a site of one node whose services, one for each name, each bring package[nginx] and a file of their own.
func vhosts(names ...string) site.Site {
	s := site.Site{Name: "web", Nodes: []site.Node{{Name: "web1", Roles: []string{"web"}}}}
	for _, name := range names {
		s.Services = append(s.Services, site.Service{Name: name, Configuration: conf{
			"package": titles{"nginx": {"ensure": "1.24"}},
			"file": titles{"/etc/nginx/" + name: {"content": name + "\n", "require": "package[nginx]",
				"notify": "service[nginx]"}},
			"service": titles{"nginx": {"ensure": "running", "require": "package[nginx]"}},
		}})
	}
	return s
}

// What two services bring with equal parameters is one resource, which goes with the last of them.
func TestTwoServicesBringTheSame(t *testing.T) {
	both := mustMake(t, vhosts("a", "b"), nil, nil)
	want := "2. default (critical): node phase: 4 changes on node web1: create package[nginx] (brought by a, b), " +
		"file[/etc/nginx/a], file[/etc/nginx/b], service[nginx] (brought by a, b)"
	if got := both.Steps()[1]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	applied := allApplied(t, vhosts("a", "b"))
	for _, left := range [][]string{{"a"}, {"b"}} {
		got := strings.Join(mustMake(t, vhosts(left...), applied, nil).Steps(), "\n")
		gone := map[string]string{"a": "b", "b": "a"}[left[0]]
		if !strings.Contains(got, "1 change on node web1: remove file[/etc/nginx/"+gone+"]") {
			t.Errorf("with %s alone:\n%s", left, got)
		}
	}
	got := strings.Join(mustMake(t, vhosts(), applied, nil).Steps(), "\n")
	if !strings.Contains(got, "4 changes on node web1") || !strings.Contains(got, "package[nginx]") {
		t.Errorf("without any:\n%s", got)
	}
}

// Who brings a resource is in no digest, and the order of services says nothing.
func TestDigestWithoutOwners(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	want := mustMake(t, vhosts(names...), nil, nil)
	once := vhosts(names...)
	for _, s := range once.Services[1:] {
		delete(s.Configuration, "package")
		delete(s.Configuration, "service")
	}
	if got := mustMake(t, once, nil, nil); got.Digest != want.Digest {
		t.Errorf("the digest with one owner is %s, with four %s", got.Digest, want.Digest)
	}
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		s := vhosts(names...)
		r.Shuffle(len(s.Services), func(i, j int) { s.Services[i], s.Services[j] = s.Services[j], s.Services[i] })
		if got := mustMake(t, s, nil, nil); text(got, nil) != text(want, nil) {
			t.Errorf("with the services in another order:\n%s\nwant:\n%s", text(got, nil), text(want, nil))
		}
	})
}

// Any services, some of which bring the same resources: there is a plan exactly where all forms of each resource on a
// node are equal, and it has each resource once.
func TestSharedResourcesOfAnyServices(t *testing.T) {
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		s := site.Site{Name: "any", Nodes: []site.Node{{Name: "n1"}, {Name: "n2"}}}
		forms := map[string]map[string]bool{} // node and title -> forms
		wrong := false
		for i := range 2 + r.IntN(4) {
			on := s.Nodes[r.IntN(2)].Name
			service := site.Service{Name: fmt.Sprint("s", i), Configuration: conf{"package": titles{}},
				Selectors: site.Selectors{{NodeNames: []string{on}}}}
			for range 1 + r.IntN(3) {
				title, ensure := fmt.Sprint("p", r.IntN(6)), "installed"
				if r.IntN(8) == 0 {
					ensure = "absent"
				}
				service.Configuration["package"][title] = params{"ensure": ensure}
			}
			for title, p := range service.Configuration["package"] {
				key := on + " " + title
				if forms[key] == nil {
					forms[key] = map[string]bool{}
				}
				forms[key][p["ensure"].(string)] = true
				wrong = wrong || len(forms[key]) > 1
			}
			s.Services = append(s.Services, service)
		}
		p, errs := planner.Make(s, nil, nil)
		if (p == nil) != wrong {
			t.Fatalf("unequal forms: %t; plan: %t\n%v", wrong, p != nil, errs)
		}
		if p == nil {
			return
		}
		seen := map[string]int{}
		for _, phase := range p.Phases {
			for _, task := range phase.Tasks {
				if task.Resource.Type != "" {
					seen[task.Node+" "+task.Resource.Title]++
				}
			}
		}
		for key := range forms {
			if seen[key] != 1 {
				t.Errorf("%s is there %d times", key, seen[key])
			}
		}
	})
}

// Unequal forms are an error with both values and both services, judged after overrides.
func TestUnequalResourcesOfTwoServices(t *testing.T) {
	unequal := func() site.Site {
		s := vhosts("a", "b")
		s.Services[1].Configuration["package"]["nginx"] = params{"ensure": "1.26"}
		return s
	}
	secret := unequal()
	secret.Services[1].Configuration["package"]["nginx"]["sensitive"] = true
	long := vhosts("a", "b")
	for i, end := range []string{"another", "one\n"} {
		long.Services[i].Configuration["file"]["/etc/same"] = params{"content": strings.Repeat("x", 100) + end}
	}
	secrets := vhosts("a", "b")
	for i, name := range []string{"one", "two"} {
		ref := "⟦secret:" + name + "@1⟧"
		secrets.Services[i].Configuration["file"]["/etc/same"] = params{"content": ref}
		secrets.Services[i].Configuration["cron"] = titles{"c": {"command": "true", "environment": []any{"A=1", "B=" + ref}}}
		secrets.Services[i].Configuration["file_line"] = titles{"l": {"path": "/etc/l", "line": "password=" + ref}}
	}
	tests := map[string]struct {
		site site.Site
		want string
	}{
		"a secret":           {secrets, `content is the secret "two" here and the secret "one" there`},
		"a secret in a text": {secrets, `line is "password=${secrets.two}" here and "password=${secrets.one}" there`},
		"a secret in a list": {secrets, `environment is ["A=1","B=${secrets.two}"] here and ["A=1","B=${secrets.one}"] there`},
		"parameters": {unequal(), `service "b": configuration.package["nginx"]: the service "a" brings package[nginx] as ` +
			`well, with other parameters: ensure is "1.26" here and "1.24" there; write the same in both, keep it in ` +
			`one of them, or place them on different nodes (on node web1)`},
		"long texts": {long, `content is "…` + strings.Repeat("x", 20) + `one\n" here and "…` + strings.Repeat("x", 20) +
			`another" there`},
		"sensitive": {secret, `ensure is (sensitive) here and (sensitive) there`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, errs := planner.Make(test.site, nil, nil)
			at := slices.IndexFunc(errs, func(e invalid.Error) bool {
				return e.Code == invalid.DuplicateResource && strings.Contains(e.Error(), test.want)
			})
			if p != nil || at < 0 {
				t.Errorf("plan: %t; got\n%v\nwant\n%s", p != nil, errs, test.want)
			}
		})
	}
	equalised := unequal()
	equalised.Overrides = []site.Override{{Name: "one", Roles: []string{"web"},
		Configuration: conf{"package": titles{"nginx": {"ensure": "1.28"}}}}}
	p := mustMake(t, equalised, nil, nil)
	if got := p.Steps()[1]; !strings.Contains(got, "package[nginx] (brought by a, b, by override one)") {
		t.Errorf("with an override that makes them equal: %s", got)
	}
	if got, want := p.Phases[1].Tasks[0].Digest, resource.Digest(resource.Resource{Type: "package", Title: "nginx",
		Parameters: params{"ensure": "1.28"}}); got != want {
		t.Errorf("the digest of the overridden package is %s, want %s", got, want)
	}
}

// Services that are deployed again and want unequal forms of what they share: it gets the form that it had before the
// run, on each node, and stays as it is where none of them wants that.
func TestDeployedAgainWithUnequalForms(t *testing.T) {
	forms := func(contents ...string) site.Site {
		s := site.Site{Name: "web", Nodes: []site.Node{{Name: "n1"}, {Name: "n2"}}}
		for i, content := range contents {
			s.Services = append(s.Services, site.Service{Name: string(rune('a' + i)), Configuration: conf{"file": titles{
				"/etc/shared":                           {"content": content, "notify": "service[d]"},
				fmt.Sprintf("/etc/own-%c", rune('a'+i)): {"content": content}},
				"service": titles{"d": {"ensure": "running"}}}})
		}
		return s
	}
	on := func(contents ...string) planner.Applied { // what each node has, n1 and n2
		out := planner.Applied{}
		for i, content := range contents {
			out[fmt.Sprint("n", i+1)] = allApplied(t, forms(content, content))["n1"]
		}
		return out
	}
	const asBefore, asItIs = "stays as it was before the run", "stays as the run left it"
	tests := map[string]struct {
		wants         []string // of a, b and so on
		selected      string
		formerly, now planner.Applied
		changes       []string // of /etc/shared: node and content
		stays         []string
	}{
		"the run did not change it": {[]string{"one", "two"}, "ab", on("two", "two"), on("two", "two"), nil,
			[]string{`node "n1": file[/etc/shared] ` + asBefore + `: a, b, deployed again, want it in different forms`,
				`node "n2": file[/etc/shared] ` + asBefore + `: a, b, deployed again, want it in different forms`}},
		"it was another one on each node": {[]string{"one", "two"}, "ab", on("one", "two"), on("three", "three"),
			[]string{"n1 one", "n2 two"}, []string{asBefore, asBefore}},
		"none of them wants that": {[]string{"one", "two"}, "ab", on("four", "four"), on("three", "four"), nil,
			[]string{`node "n1": file[/etc/shared] ` + asItIs + `: a, b, deployed again, want it in different forms`, asBefore}},
		"it was not there": {[]string{"one", "two"}, "ab", nil, on("three", "three"), nil, []string{asItIs, asItIs}},
		"three services":   {[]string{"one", "two", "two"}, "abc", on("two", "one"), on("two", "two"), []string{"n2 one"}, []string{asBefore, asBefore}},
		"another one keeps it": {[]string{"one", "two", "two"}, "ab", on("one", "one"), on("two", "two"), nil,
			[]string{"deployed again without c", "deployed again without c"}},
		"equal forms": {[]string{"one", "one"}, "ab", on("two", "two"), on("two", "two"), []string{"n1 one", "n2 one"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, selected := forms(test.wants...), map[string]bool{}
			for _, c := range test.selected {
				selected[string(c)] = true
			}
			owners, errs := (&planner.Cache{}).OwnersOf(s)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			p, errs := (&planner.Cache{}).MakeFor(s, test.now, test.formerly, selected, owners)
			if p == nil {
				t.Fatal(errs)
			}
			var changes []string
			own := 0
			for _, phase := range p.Phases {
				for _, task := range phase.Tasks {
					switch task.Resource.Title {
					case "/etc/shared":
						changes = append(changes, task.Node+" "+task.Resource.Parameters.String("content"))
						if want := resource.Digest(task.Resource); task.Digest != want || len(task.Owners()) != len(test.wants) {
							t.Errorf("digest %s, want %s, owners %q", task.Digest, want, task.Owners())
						}
					case "/etc/own-a", "/etc/own-b":
						own++
					}
				}
			}
			if own == 0 {
				t.Error("the files that are not shared are in no plan")
			}
			if !slices.Equal(changes, test.changes) {
				t.Errorf("changes %q, want %q", changes, test.changes)
			}
			var stays []string
			for _, stay := range p.Stays {
				stays = append(stays, stay.String())
			}
			if !slices.EqualFunc(stays, test.stays, strings.Contains) {
				t.Errorf("stays\n%s\nwant\n%s", strings.Join(stays, "\n"), strings.Join(test.stays, "\n"))
			}
		})
	}
}

// Ways to write the same of a node are equal: the first service's stays, with its digest, and others are not.
func TestServicesThatWriteTheSameDifferently(t *testing.T) {
	tests := []struct {
		typ      string
		one, two params
		equal    bool
	}{
		{"package", params{"ensure": "present"}, params{"ensure": "installed"}, true},
		{"package", params{}, params{"ensure": "installed"}, true},
		{"package", params{"ensure": "present"}, params{"ensure": "latest"}, false},
		{"package", params{}, params{"ensure": "absent"}, false},
		{"file", params{"content": "x", "mode": "644"}, params{"content": "x", "mode": "0644"}, true},
		{"file", params{"content": "x", "mode": "644"}, params{"content": "x", "mode": "4644"}, false},
		{"file", params{"content": "x"}, params{"content": "x", "ensure": "file"}, true},
		{"file", params{"target": "/x"}, params{"target": "/x", "ensure": "link"}, true},
		{"file", params{"mode": "0644"}, params{"ensure": "file", "mode": "0644"}, false},
		{"file", params{"content": "x"}, params{"content": "x", "mode": "0644"}, false},
		{"user", params{"uid": int64(1500)}, params{"uid": "1500", "ensure": "present"}, true},
		{"host", params{"ip": "192.0.2.1"}, params{"ip": "192.0.2.1", "ensure": "present"}, true},
		{"mount", params{"device": "/dev/sdb"}, params{"device": "/dev/sdb", "ensure": "mounted"}, true},
		{"mount", params{"device": "/dev/sdb", "ensure": "defined"}, params{"device": "/dev/sdb", "ensure": "present"}, true},
		{"mount", params{"device": "/dev/sdb"}, params{"device": "/dev/sdb", "ensure": "present"}, false},
	}
	for _, test := range tests {
		for _, forms := range [][]params{{test.one, test.two}, {test.two, test.one}} {
			s, alone := vhosts("a", "b"), vhosts("a")
			for i := range forms {
				s.Services[i].Configuration = conf{test.typ: titles{"/same": forms[i]}}
			}
			if test.typ == "package" || test.typ == "user" || test.typ == "host" {
				for i := range forms {
					s.Services[i].Configuration = conf{test.typ: titles{"same": forms[i]}}
				}
			}
			alone.Services[0].Configuration = s.Services[0].Configuration
			p, errs := planner.Make(s, nil, nil)
			if (p != nil) != test.equal {
				t.Errorf("%s: %v beside %v: equal: %t, want %t\n%v", test.typ, forms[0], forms[1], p != nil, test.equal, errs)
				continue
			}
			if p != nil && p.Digest != mustMake(t, alone, nil, nil).Digest {
				t.Errorf("%s: %v beside %v: the digest is not that of the first alone", test.typ, forms[0], forms[1])
			}
		}
	}
}
