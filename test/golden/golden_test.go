package golden

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

var (
	update      = flag.Bool("update", false, "make all files anew, as root")
	updatePlans = flag.Bool("update-plans", false, "make what plans and companion show anew, from the stored states")
)

// machines are the nodes of the deployment "machines", while the files are made.
var machines = lab.Lab{Name: "golden", Nodes: 2}

func TestMain(m *testing.M) {
	flag.Parse()
	if *update {
		machines.Main(m)
	}
	os.Exit(m.Run())
}

// nodes of the deployment "folders" when the files are made. The last one leaves the site.
var folders = []string{"ctl1", "ctl2", "ctl3", "cmp11", "cmp12", "cmp21", "mon1", "old1"}

// origin is what the folders hold before slipway comes.
var origin = map[string]string{
	"etc/motd":    "old\n",
	"etc/issue":   "issue\n",
	"etc/app.ini": "[log]\nlevel = debug\nfile = x\n",
	"etc/hosts":   "127.0.0.1 localhost\n192.0.2.9 time\n",
}

// earlier is how the site was before: a node, a service and other things that are gone, and an older configuration.
var earlier = []edit{
	{"main.tf", `    mon1  = {`, `    old1  = { rack = "rack02", tags = ["compute"], labels = {}, roles = [] }
    mon1  = {`},
	{"services.tf", "workers = 8", "workers = 2"},
	{"services.tf", `host = "docs.example.org", root = "/srv/docs"`, `host = "old.example.org", root = "/srv/old"`},
	{"services.tf", `"/etc/motd.d/notes" = {`, `"/etc/motd.old" = { content = "old\n" }
"/etc/motd.d/notes" = {`},
	{"services.tf", "slipway_service.motd,", "slipway_service.motd, slipway_service.former,"},
	{"services.tf", `resource "slipway_service" "motd" {`, `resource "slipway_service" "former" {
  name       = "former"
  selectors  = [{ node_names = ["cmp11"] }]
  entity     = data.slipway_catalog.this.entities["note"]
  attributes = { text = "former" }
}

resource "slipway_service" "motd" {`},
	{"main.tf", `content = "a compute node\n", mode = "0644"`, `content = "a compute node\n", mode = "0600"`},
}

// TestUpdate makes the files that the other tests go on from: a creation, an update that fails and is rolled back, and
// two more.
func TestUpdate(t *testing.T) {
	if !*update {
		t.Skip("the files are made anew with -update only")
	}
	w := newWorkspace(t)
	for _, node := range folders {
		w.must(os.MkdirAll(w.path("nodes/"+node+"/etc"), 0o755))
		w.must(os.MkdirAll(w.path("nodes/"+node+"/var/spool/cron/crontabs"), 0o755))
		for name, content := range origin {
			w.write("nodes/"+node+"/"+name, []byte(content), 0o644)
		}
	}
	for _, name := range []string{"id_ed25519", "known_hosts"} {
		w.write(name, w.read(machines.State(name)), 0o600)
	}
	final := map[string][]byte{"main.tf": w.read(w.path("main.tf")), "services.tf": w.read(w.path("services.tf"))}
	w.edit(earlier...)
	w.apply(0)
	for name, content := range final {
		w.write(name, content, 0o644)
	}
	w.edit(edit{"services.tf", "workers = 8", "workers = 13"}) // its callback fails
	w.apply(1)
	w.write("services.tf", final["services.tf"], 0o644)
	w.edit(edit{"main.tf", `checked = "1"`, `checked = "0"`})
	w.apply(0)
	w.write("main.tf", final["main.tf"], 0o644)
	w.apply(0) // checks everything again
	w.apply(0)
	w.run(0, "plan", "-input=false", "-detailed-exitcode")
	w.must(os.Mkdir(w.path("ledgers"), 0o755))
	for n := range machines.Nodes {
		node := machines.Node(n + 1)
		w.write("ledgers/"+node.Name+".json", []byte(node.On(t, "cat /var/lib/slipway/ledger.json")), 0o644)
	}
	w.must(os.RemoveAll(w.path("nodes/old1")))
	w.store()
	commit, err := exec.Command("git", "log", "-1", "--format=%h", "--", "../..", ":!..").Output()
	w.must(err)
	text := fmt.Appendf(nil, "State, ledgers and journals were written by slipway at commit %s", commit)
	w.must(os.WriteFile("testdata/README", text, 0o644))
}

func (w *workspace) apply(status int) {
	w.t.Helper()
	w.run(status, "apply", "-input=false", "-no-color", "-auto-approve")
}

// TestNothingPlanned: what an earlier slipway left is read, and there is nothing to do. Nothing of it is written in
// another form.
func TestNothingPlanned(t *testing.T) {
	t.Parallel()
	w := restored(t)
	nodes, state := w.tree(), w.state()
	for _, args := range [][]string{{"-detailed-exitcode"}, {"-detailed-exitcode", "-refresh=false"}, {"-refresh-only"}} {
		text := w.run(0, append([]string{"plan", "-input=false", "-no-color"}, args...)...)
		if !strings.Contains(text, "No changes.") {
			t.Errorf("plan %v is not empty:\n%s", args, text)
		}
	}
	w.run(0, "apply", "-input=false", "-no-color", "-auto-approve", "-refresh-only")
	w.apply(0)
	compare(t, "state", state, w.state())
	compare(t, "nodes", fmt.Sprint(nodes), fmt.Sprint(w.tree()))
	for _, site := range []string{"folders", "machines"} {
		if string(w.read(w.path(".slipway/"+site+".db"))) != string(w.read("testdata/journal/"+site+".db")) {
			t.Errorf("the journal of %s was written", site)
		}
	}
}

// TestRepair: a run from what an earlier slipway left writes ledgers and state as that one did.
func TestRepair(t *testing.T) {
	t.Parallel()
	w := restored(t)
	of := []string{"run", "digest", "steps", "last_run_steps", "changed_nodes", "node_facts"} // the run
	before, nodes := w.state(of...), w.tree()
	w.write("nodes/cmp12/etc/motd", []byte("changed\n"), 0o644)
	w.apply(0)
	// Besides the run and its lease, an entry that is written anew notes that its object was there, and what it wants.
	run := regexp.MustCompile(`"run":"[^"]*"|"generation":\d+|,"there":true|,"wants":{[^}]*}|,"fences":{"folders":\[{[^]]*\]}`)
	text := func(tree []entry) (s string) {
		for _, e := range tree {
			s += run.ReplaceAllString(fmt.Sprintln(e.mode, e.name, e.target, e.content), "")
		}
		return s
	}
	compare(t, "nodes", text(nodes), text(w.tree()))
	compare(t, "state", before, w.state(of...))
}

// TestDestroy: what an earlier slipway noted in the ledgers brings back what was there before it.
func TestDestroy(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: what is brought back belongs to root")
	}
	w := restored(t)
	w.edit(edit{"main.tf", "destroy = true", "destroy = false"})
	w.apply(0)
	w.run(0, "destroy", "-input=false", "-no-color", "-auto-approve", "-target=slipway_deployment.folders")
	left := map[string]bool{}
	for _, e := range w.tree() {
		if e.target != "" || !strings.HasSuffix(e.name, "/") {
			left[e.name] = true
		}
	}
	for _, node := range folders[:len(folders)-1] {
		for name, want := range origin {
			name = "nodes/" + node + "/" + name
			if !left[name] {
				t.Errorf("%s is missing", name)
				continue
			}
			compare(t, name, want, string(w.read(w.path(name))))
			delete(left, name)
		}
	}
	if len(left) > 0 {
		t.Errorf("left on the nodes: %v", slices.Sorted(maps.Keys(left)))
	}
}

// state returns the state as text, with its private state decoded, without some attributes, and without what differs
// from one machine and one Terraform to the next.
func (w *workspace) state(without ...string) string {
	w.t.Helper()
	state := decode[map[string]any](w, registry(w.read(w.path("terraform.tfstate")), host(), "registry.terraform.io"))
	delete(state, "terraform_version")
	delete(state, "serial")
	delete(state, "check_results")
	for _, r := range state["resources"].([]any) {
		for _, i := range r.(map[string]any)["instances"].([]any) {
			instance := i.(map[string]any)
			dropAdded(instance["attributes"])
			for _, name := range without {
				delete(instance["attributes"].(map[string]any), name)
			}
			if paths, ok := instance["sensitive_attributes"].([]any); ok { // Terraform writes them in any order
				slices.SortFunc(paths, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			text, ok := instance["private"].(string)
			if !ok {
				continue
			}
			instance["private"] = w.private(text)
		}
	}
	raw, err := json.MarshalIndent(state, "", " ")
	w.must(err)
	return string(raw)
}

// dropAdded removes what a later slipway adds to the resources of a state, once and as null: attributes of rolling,
// what a group does when its criteria cannot be met, what bounds a run, secrets, zones of nodes, the run that is
// active, the facts of nodes, and ssh_config of a node's connection.
// A deployment keeps what it has of them.
func dropAdded(attributes any) {
	of, _ := attributes.(map[string]any)
	for _, name := range []string{"on_shortfall", "failure_budget", "freeze", "limit", "maintenance", "approval",
		"approved_batches", "secrets_wo", "secrets_version", "zone", "active_run", "node_facts"} {
		if value, there := of[name]; there && value == nil {
			delete(of, name)
		}
	}
	rolling, _ := of["rolling"].(map[string]any)
	for _, name := range []string{"node_order", "batches", "health_check", "soak", "approve", "on_failure"} {
		if value, there := rolling[name]; there && value == nil {
			delete(rolling, name)
		}
	}
	connect, _ := of["connect"].(map[string]any)
	if value, there := connect["ssh_config"]; there && value == nil {
		delete(connect, "ssh_config")
	}
}

// dropNoop removes the mark that a later slipway writes, once, before the digest of a resource that only ever had noop.
func dropNoop(applied any) {
	nodes, _ := applied.(map[string]any)
	for _, of := range nodes {
		resources, _ := of.(map[string]any)
		if digest, there := resources["file[/etc/watched]"].(string); there {
			resources["file[/etc/watched]"] = strings.TrimPrefix(digest, "noop:")
		}
	}
}

// private decodes private state. The machines in it are those that the ledgers belong to; what else is known of them
// is of this machine.
func (w *workspace) private(text string) map[string]any {
	w.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	w.must(err)
	out := map[string]any{}
	for key, value := range decode[map[string]any](w, raw) {
		encoded, ok := value.(string)
		if !ok {
			out[key] = value
			continue
		}
		inner, err := base64.StdEncoding.DecodeString(encoded)
		w.must(err)
		kept := decode[map[string]any](w, inner)
		dropNoop(kept["applied"])
		machines, _ := kept["machines"].(map[string]any)
		for _, m := range machines {
			machine := m.(map[string]any)
			for _, k := range []string{"machine", "boot", "root", "facts"} {
				delete(machine, k)
			}
		}
		out[key] = kept
	}
	return out
}

// TestCompanion: the companion reads the journals that an earlier slipway wrote, and prints what is stored.
func TestCompanion(t *testing.T) {
	t.Parallel()
	w := restored(t)
	var out strings.Builder
	show := func(args ...string) {
		fmt.Fprintf(&out, "$ %s\n%s\n", strings.Join(args, " "), w.companion(args...))
	}
	runs := decode[[]struct {
		Run string `json:"run"`
		ID  string `json:"id"`
	}](w, []byte(w.companion("runs", "--site", "folders", "-o", "json")))
	for _, site := range []string{"folders", "machines"} {
		show("runs", "--site", site)
		show("runs", "--site", site, "-o", "json")
		show("report", "--site", site)
		show("services", "list", "--site", site, "--all")
	}
	for _, r := range runs {
		show("report", r.Run+r.ID, "--site", "folders")
		show("report", r.Run+r.ID, "--site", "folders", "-o", "json")
	}
	for _, service := range []string{"former", "proxy", "tenant-red", "resting", "probe"} {
		for _, command := range []string{"show", "log", "diagnose"} {
			show("services", command, service, "--site", "folders")
		}
		show("services", "log", service, "--site", "folders", "-o", "json")
	}
	w.golden("companion.txt", out.String())
}
