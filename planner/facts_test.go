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

// machine returns facts of a machine with so much memory.
func machine(memory int64) *resource.Facts {
	return &resource.Facts{OS: resource.OS{Family: "Debian", Name: "Debian", Release: "12"}, CPUs: 4, MemoryMiB: memory,
		DefaultInterface: "eth0.100", DefaultAddress: "10.0.0.5",
		Interfaces: map[string]resource.Interface{"eth0.100": {MAC: "52:54:00:12:34:56", Addresses: []string{"10.0.0.5", "2001:db8::5"}}}}
}

// change returns the only task of a plan that changes a file on a node.
func change(t *testing.T, p *planner.Plan, id resource.ID, node string) task.Task {
	t.Helper()
	for _, phase := range p.Phases {
		for _, each := range phase.Tasks {
			if each.Node == node && each.Resource.ID() == id {
				return each
			}
		}
	}
	t.Fatalf("no %s on %s in %v", id, node, work(p))
	return task.Task{}
}

// Templates read facts; nodes of which they are the same share a content, whatever else differs.
func TestTemplatesReadFacts(t *testing.T) {
	for text, want := range map[string]string{
		"${facts.os.family}/${facts.os.release}":                                   "Debian/12",
		"${facts.memory_mib / 2}":                                                  "1024",
		`${facts["os"]["name"]}`:                                                   "Debian",
		"%{ if facts.virtual }v%{ else }p%{ endif }":                               "p",
		`${join(",", facts.interfaces["eth0.100"].addresses)}`:                     "10.0.0.5,2001:db8::5",
		"${facts.interfaces[facts.default_interface].mac}":                         "52:54:00:12:34:56",
		`${facts.fqdn == null ? "none" : facts.fqdn}`:                              "none",
		"%{ for name, i in facts.interfaces }${name} ${i.mac}%{ endfor }":          "eth0.100 52:54:00:12:34:56",
		`${coalesce(facts.os.codename, "none")} ${length(keys(facts.interfaces))}`: "none 1",
	} {
		s := templated(text)
		s.Facts = map[string]*resource.Facts{"a": machine(2048), "b": machine(2048), "c": machine(2048)}
		if d := cmp.Diff(map[string]any{"a": want, "b": want, "c": want}, contents(t, s, "file[/etc/f]")); d != "" {
			t.Errorf("%s:\n%s", text, d)
		}
	}
}

// The content of a node that has not said its facts is known in the run, and its digest there is that of the next plan.
// Facts that differ from those of the plan are an error, unless the template does not read them.
func TestFactsInTheRun(t *testing.T) {
	s := templated("${node.name}: ${facts.memory_mib} of ${facts.os.name}")
	s.Facts = map[string]*resource.Facts{"b": machine(2048), "c": machine(2048)}
	p := mustMake(t, s, nil, nil)
	steps := strings.Join(p.Steps(), "\n")
	if !strings.Contains(steps, "create file[/etc/f] (content known in the run, from facts.memory_mib, facts.os.name of the node) on a") {
		t.Errorf("the steps are:\n%s", steps)
	}
	if desired, _ := planner.Desired(s); len(desired["a"]) != 1 || len(desired["b"]) != 2 {
		t.Errorf("%d resources of a can drift, and %d of b", len(desired["a"]), len(desired["b"]))
	}
	awaited := change(t, p, "file[/etc/f]", "a")
	if _, err := p.WithFacts(awaited, nil); !errors.Is(err, planner.ErrNoFacts) {
		t.Errorf("without facts the error is %v", err)
	}
	made, err := p.WithFacts(awaited, machine(512))
	if err != nil || made.Resource.Parameters["content"] != "a: 512 of Debian" || made.Awaited != nil ||
		made.Resource.Parameters.Has("template") {
		t.Fatalf("the task is %+v, %v", made, err)
	}
	s.Facts["a"] = machine(512)
	next := mustMake(t, s, nil, nil)
	if now := change(t, next, "file[/etc/f]", "a"); now.Digest != made.Digest || now.Digest == awaited.Digest || next.Digest == p.Digest {
		t.Errorf("the digest is %s in the run and %s in the next plan", made.Digest, now.Digest)
	}
	planned := change(t, p, "file[/etc/f]", "b")
	if same, err := p.WithFacts(planned, machine(2048)); err != nil || cmp.Diff(planned, same) != "" {
		t.Errorf("the same facts give %+v, %v", same, err)
	}
	other := machine(2048)
	other.CPUs, other.DefaultAddress = 64, ""
	if _, err := p.WithFacts(planned, other); err != nil {
		t.Errorf("facts that nothing reads give %v", err)
	}
	want := `facts changed since the plan: node "b": facts.memory_mib was 2048 and is 4096, and the content is made from it; plan again`
	if _, err := p.WithFacts(planned, machine(4096)); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	gone := change(t, p, "file[/etc/g]", "b")
	if same, err := p.WithFacts(gone, nil); err != nil || cmp.Diff(gone, same) != "" {
		t.Errorf("a file without a template gives %+v, %v", same, err)
	}
}

// A guard needs a service manager on the node that puts the change back: the plan refuses it where the facts say that
// there is none, and the run before it touches the node where they were not known.
func TestGuardNeedsAServiceManager(t *testing.T) {
	of := func(provider string) *resource.Facts { return &resource.Facts{ServiceProvider: provider} }
	s := templated("text")
	s.Services[0].Configuration["file"]["/etc/g"]["guard"] = true
	s.Facts = map[string]*resource.Facts{"a": of("systemd"), "b": of(resource.NoServiceProvider), "c": of("")}
	_, errs := planner.Make(s, nil, nil)
	want := `file[/etc/g] cannot be guarded on a node that neither systemd nor OpenRC runs, so nothing could put the change ` +
		`back; leave guard out there, by an override for example (on node b)`
	if found := errs.Errors(); len(found) != 1 || found[0].Message != want || found[0].Attribute != `configuration.file["/etc/g"].guard` {
		t.Errorf("the plan has the errors %v, want %s", found, want)
	}
	s.Facts = nil
	p := mustMake(t, s, nil, nil)
	first := change(t, p, "file[/etc/f]", "b") // which has no guard
	if _, err := p.WithFacts(first, nil); !errors.Is(err, planner.ErrNoFacts) {
		t.Errorf("without facts the error is %v", err)
	}
	_, err := p.WithFacts(first, of(resource.NoServiceProvider))
	if err == nil || !strings.Contains(err.Error(), "file[/etc/g] cannot be guarded on a node that neither systemd nor OpenRC runs") {
		t.Errorf("the error is %v", err)
	}
	for _, provider := range []string{"systemd", "openrc", ""} { // "": an older slipway found the facts
		if _, err := p.WithFacts(first, of(provider)); err != nil {
			t.Errorf("%q: %v", provider, err)
		}
	}
}

// A digest depends on the facts that a template reads, and on no others.
func TestFactsInDigests(t *testing.T) {
	digest := func(facts *resource.Facts) string {
		s := templated("${facts.memory_mib > 1000}")
		s.Facts = map[string]*resource.Facts{"a": facts, "b": facts, "c": facts}
		return mustMake(t, s, nil, nil).Digest
	}
	if a, b := digest(machine(2048)), digest(machine(4096)); a != b {
		t.Errorf("the same content has the digests %s and %s", a, b)
	}
	if a, b := digest(machine(2048)), digest(machine(512)); a == b {
		t.Error("another content has the same digest")
	}
}

func TestErrorsOfFacts(t *testing.T) {
	known := func(text string) site.Site {
		s := templated(text)
		s.Facts = map[string]*resource.Facts{"a": machine(2048)}
		return s
	}
	for text, want := range map[string]string{
		"a\n${facts.memry_mib}":        `template: facts has no "memry_mib"; did you mean "memory_mib"? (line 2, column 9 of the template)`,
		"a\n${facts.os.familiy}":       `template: there is no "familiy" here; did you mean "family"? (line 2, column`,
		"${fact.os.family}":            `there is no variable "fact"; did you mean "facts"? (line 1, column 3 of the template)`,
		"${facts.fqdn}":                `(on node a)`,
		`${facts.interfaces.eth0.mac}`: `the map has no key "eth0"`,
		"${facts.os}":                  "template: ",
	} {
		_, errs := planner.Make(known(text), nil, nil)
		if got := errs.Error(); !strings.Contains(got, want) || len(errs) != 1 {
			t.Errorf("%s: no %q in:\n%s", text, want, got)
		}
	}
}
