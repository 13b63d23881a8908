package planner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// tmpl is a value that is written as a template.
func tmpl(text string) map[string]any { return map[string]any{"template": text} }

// valued is a site of the nodes a, b and c with one service.
func valued(c conf, overrides ...site.Override) site.Site {
	s := templated("x", overrides...)
	s.Services[0].Configuration = c
	return s
}

// Every value of inline configuration may be a template, alone or in a list; what it gives is as if it had been written.
func TestTemplatesOfValues(t *testing.T) {
	templates := conf{
		"host":     {"db": {"ip": tmpl("${facts.default_address}"), "host_aliases": []any{"x", tmpl("db-${node.name}")}}},
		"mount":    {"/srv": {"device": tmpl("${facts.os.family == \"Debian\" ? \"/dev/vda1\" : \"/dev/sda1\"}"), "pass": tmpl("${1 + 1}")}},
		"package":  {"web": {"name": tmpl("${facts.os.family == \"Debian\" ? \"apache2\" : \"httpd\"}")}},
		"hostname": {"name": {"hostname": tmpl("${node.name}")}},
		"exec": {"announce": {"command": []any{"announce", tmpl("${facts.default_address}")}, "environment": tmpl("RACK=${node.rack}"),
			"unless": []any{[]any{"announced", tmpl("${facts.default_address}")}}}},
		"service": {"app": {"enable": tmpl("${facts.virtual}"), "restart": tmpl("restart-app ${node.name}")}},
		"file":    {"/etc/f": {"content": tmpl("${node.name}\n"), "mode": tmpl("06${length(node.rack)}4")}},
	}
	written := conf{
		"host":     {"db": {"ip": "10.0.0.5", "host_aliases": []any{"x", "db-a"}}},
		"mount":    {"/srv": {"device": "/dev/vda1", "pass": int64(2)}},
		"package":  {"web": {"name": "apache2"}},
		"hostname": {"name": {"hostname": "a"}},
		"exec": {"announce": {"command": []any{"announce", "10.0.0.5"}, "environment": "RACK=r1",
			"unless": []any{[]any{"announced", "10.0.0.5"}}}},
		"service": {"app": {"enable": "false", "restart": "restart-app a"}},
		"file":    {"/etc/f": {"content": "a\n", "mode": "0624"}},
	}
	of := func(c conf) map[resource.ID]task.Task {
		s := valued(c)
		s.Nodes = s.Nodes[:1]
		s.Facts = map[string]*resource.Facts{"a": machine(2048)}
		desired, errs := planner.Desired(s)
		if len(errs.Errors()) > 0 {
			t.Fatal(errs)
		}
		out := map[resource.ID]task.Task{}
		for _, each := range desired["a"] {
			out[each.Resource.ID()] = each
		}
		return out
	}
	if d := cmp.Diff(of(written), of(templates)); d != "" {
		t.Error(d)
	}
}

// Values of nodes that have not said their facts are known in the run, and have the digest of the next plan there.
func TestFactsOfValuesInTheRun(t *testing.T) {
	s := valued(conf{"package": {"web": {"name": tmpl("${lower(facts.os.family)}-${node.name}"), "ensure": "latest"}},
		"host": {"db": {"ip": tmpl("${facts.default_address}"), "comment": tmpl("${facts.os.name}")}}})
	s.Facts = map[string]*resource.Facts{"b": machine(2048), "c": machine(2048)}
	p := mustMake(t, s, nil, nil)
	steps := strings.Join(p.Steps(), "\n")
	for _, want := range []string{
		"create host[db] (comment, ip known in the run, from facts.default_address, facts.os.name of the node) on a",
		"package[web] (name known in the run, from facts.os.family of the node) on a",
	} {
		if !strings.Contains(steps, want) {
			t.Errorf("no %q in\n%s", want, steps)
		}
	}
	if desired, _ := planner.Desired(s); len(desired["a"]) != 0 || len(desired["b"]) != 2 {
		t.Errorf("%d resources of a can drift, and %d of b", len(desired["a"]), len(desired["b"]))
	}
	for id, want := range map[resource.ID]resource.Parameters{
		"package[web]": {"name": "debian-a", "ensure": "latest"}, "host[db]": {"ip": "10.0.0.5", "comment": "Debian"},
	} {
		awaited := change(t, p, id, "a")
		if _, err := p.WithFacts(awaited, nil); !errors.Is(err, planner.ErrNoFacts) {
			t.Errorf("without facts the error is %v", err)
		}
		made, err := p.WithFacts(awaited, machine(2048))
		if d := cmp.Diff(want, made.Resource.Parameters); err != nil || d != "" || made.Awaited != nil {
			t.Fatalf("the task is %+v, %v\n%s", made, err, d)
		}
		next := s
		next.Facts = map[string]*resource.Facts{"a": machine(2048)}
		if now := change(t, mustMake(t, next, nil, nil), id, "a"); now.Digest != made.Digest || now.Digest == awaited.Digest {
			t.Errorf("the digest is %s in the run and %s in the next plan", made.Digest, now.Digest)
		}
	}
	other := machine(2048)
	other.DefaultAddress = "10.0.0.6"
	want := `facts changed since the plan: node "b": facts.default_address was "10.0.0.5" and is "10.0.0.6", and the ip is made from it; plan again`
	if _, err := p.WithFacts(change(t, p, "host[db]", "b"), other); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if _, err := p.WithFacts(change(t, p, "package[web]", "b"), other); err != nil {
		t.Errorf("facts that nothing reads give %v", err)
	}
	other.DefaultAddress = "" // nobody knows it
	if _, err := p.WithFacts(change(t, p, "host[db]", "a"), other); err == nil || !strings.HasPrefix(err.Error(),
		`its template on node "a", with the facts of the node: ip: `) {
		t.Errorf("the error is %v", err)
	}
}

// An override replaces a template, and may be one; what is written about it is checked as it is for other values.
func TestOverriddenTemplatesOfValues(t *testing.T) {
	c := func(ip any) conf { return conf{"host": {"db": {"ip": ip}}} }
	ips := func(s site.Site) map[string]any {
		out := map[string]any{}
		desired, errs := planner.Desired(s)
		if len(errs.Errors()) > 0 {
			t.Fatal(errs)
		}
		for node, tasks := range desired {
			out[node] = tasks[0].Resource.Parameters["ip"]
		}
		return out
	}
	for name, tt := range map[string]struct {
		written, of any
		want        map[string]any
	}{
		"by a template": {"10.0.0.1", tmpl("10.0.1.${length(node.rack)}"), map[string]any{"a": "10.0.0.1", "b": "10.0.1.2", "c": "10.0.0.1"}},
		"of a template": {tmpl("10.0.0.${length(node.rack)}"), "10.0.0.1", map[string]any{"a": "10.0.0.2", "b": "10.0.0.1", "c": "10.0.0.2"}},
		"both":          {tmpl("10.0.0.${length(node.rack)}"), tmpl("10.0.1.1"), map[string]any{"a": "10.0.0.2", "b": "10.0.1.1", "c": "10.0.0.2"}},
	} {
		o := site.Override{Name: "o", Nodes: []string{"b"}, Configuration: c(tt.of)}
		if d := cmp.Diff(tt.want, ips(valued(c(tt.written), o))); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// Errors name the parameter, the node where it is one of the value, and never a shell that would read what a node says.
func TestErrorsOfTemplatesOfValues(t *testing.T) {
	const line = "reads facts.hostname, and nothing that a node says may be in a line for a shell; write a list"
	host := tmpl("x ${facts.hostname}")
	for name, tt := range map[string]struct {
		c    conf
		want string
	}{
		"syntax":         {conf{"host": {"db": {"ip": tmpl("${nod.name}")}}}, `configuration.host["db"].ip: there is no variable "nod"`},
		"not allowed":    {conf{"host": {"db": {"ip": tmpl("${node.rack}")}}}, `configuration.host["db"].ip: its template gives what is not allowed: "r1" is not an IPv4 or IPv6 address (on all 2 nodes)`},
		"in a list":      {conf{"user": {"u": {"groups": []any{"x", tmpl("a b")}}}}, `configuration.user["u"].groups: its template gives what is not allowed: `},
		"whole resource": {conf{"file": {"/f": {"content": "x", "ensure": tmpl("link"), "target": "/x"}}}, `configuration.file["/f"].content: with what templates of the resource give: does not go with ensure = "link"`},
		"more than that": {conf{"host": {"db": {"ip": map[string]any{"template": "x", "y": "z"}}}}, "ip: must be a string, not a map"},
		"metaparameter":  {conf{"host": {"db": {"ip": "10.0.0.1", "noop": tmpl("true")}}}, "noop: must be true or false, without quotes, not a map"},
		"reference":      {conf{"host": {"db": {"ip": "10.0.0.1", "require": []any{tmpl("file[/x]")}}}}, "must be a string, not a map"},
		"line":           {conf{"exec": {"x": {"command": host}}}, `configuration.exec["x"].command: ` + line},
		"list of a line": {conf{"exec": {"x": {"command": []any{host}}}}, `configuration.exec["x"].command[0]: ` + line},
		"words of sh":    {conf{"exec": {"x": {"command": []any{"/bin/sh", "-ec", host}}}}, `configuration.exec["x"].command[2]: ` + line},
		"guard":          {conf{"exec": {"x": {"unless": []any{"true", host}}}}, `configuration.exec["x"].unless[1]: ` + line},
		"guard in sh":    {conf{"exec": {"x": {"onlyif": []any{[]any{"sh", "-c", host}}}}}, `configuration.exec["x"].onlyif[0][2]: ` + line},
		"cron":           {conf{"cron": {"x": {"command": host}}}, `configuration.cron["x"].command: ` + line},
		"restart":        {conf{"service": {"x": {"restart": host}}}, `configuration.service["x"].restart: ` + line},
		"validate_cmd":   {conf{"file": {"/x": {"content": "", "validate_cmd": tmpl("% ${facts.hostname}")}}}, `configuration.file["/x"].validate_cmd: reads facts.hostname`},
	} {
		s := valued(tt.c)
		s.Nodes = s.Nodes[:2]
		s.Facts = map[string]*resource.Facts{"a": machine(1), "b": machine(1), "c": machine(1)}
		_, errs := planner.Make(s, nil, nil)
		if got := errs.Error(); !strings.Contains(got, tt.want) || len(errs) != 1 {
			t.Errorf("%s: no %q in:\n%s", name, tt.want, got)
		}
	}
	secret := conf{"user": {"u": {"password": tmpl("hunter2:${node.name}")}}}
	if _, errs := planner.Make(valued(secret), nil, nil); len(errs) == 0 || strings.Contains(errs.Error(), "hunter2") {
		t.Errorf("the errors are %v", errs)
	}
}
