package workers

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/temporal/temporaltest"
)

var (
	tortureSeed  = flag.Uint64("torture.seed", 1, "what the kills of TestTortureEngine are drawn from")
	tortureKills = flag.Int("torture.kills", 4, "how many kills of TestTortureEngine there are")
)

// TestTortureEngine kills, with SIGKILL, workers, the Temporal server, the database and who asked for the run, each as
// often as the others, at random moments of runs that are handed over, one or two in a run, and starts them again. After
// each run at most two more applies must reach what the configuration says. Logs that the commands write on the nodes
// show that no two of them ever ran at the same time on a node, that none that was to run is missing, and that none ran
// again unless a worker, the server or the database was killed. One site is applied by the companion, one by Terraform.
func TestTortureEngine(t *testing.T) {
	t.Parallel()
	if shared.err != nil {
		newCluster(t)
	}
	t.Logf("torture: seed %d, %d kills; again with: make torture-engine SEED=%[1]d KILLS=%[2]d", *tortureSeed, *tortureKills)
	x := &torture{random: rand.New(rand.NewPCG(*tortureSeed, 0)), killed: map[string]int{}, workers: map[string]*process{}}
	companion := on(t, temporaltest.Start(t), postgrestest.Start(t), tortured...)
	sites := []*victimSite{{cluster: companion}, {cluster: companion.other(t, "lon2"), terraform: terraform()}}
	if sites[1].terraform == "" {
		t.Log("NOT TESTED: Terraform killed, because neither it nor OpenTofu is on PATH")
		sites = sites[:1]
	}
	x.cluster = companion
	for _, name := range slices.Sorted(maps.Keys(tortureWorkers)) {
		if err := x.start(name); err != nil {
			t.Fatal(err)
		}
	}
	for round := 1; !t.Failed() && x.total() < *tortureKills; round++ {
		x.round(sites[(round-1)%3%2%len(sites)])
	}
	for _, s := range sites {
		if s.rounds > 0 && !t.Failed() {
			s.destroyed()
		}
	}
	t.Logf("torture: %d kills: %v", x.total(), x.killed)
}

// tortured are the nodes of each site.
var tortured = []site.Node{{Name: "a", Zone: "z1"}, {Name: "b", Zone: "z1"}, {Name: "c", Zone: "z2"}, {Name: "d", Zone: "z2"}}

// tortureWorkers are the arguments of the workers by name: those of zones have the name of their zone.
var tortureWorkers = map[string][]string{"control": {"--control", "--lost-after", "10s", "--zone-wait", "1m"},
	"z1": {"--zone", "z1"}, "z2": {"--zone", "z2"}}

// torture is what is killed.
type torture struct {
	*cluster
	random *rand.Rand
	deck   []string // what is killed next

	mu      sync.Mutex // guards what is started and killed
	killed  map[string]int
	workers map[string]*process
	client  *companion // who asked for the run
}

// victimSite is a site whose runs are disturbed.
type victimSite struct {
	*cluster
	terraform string // its program; empty: the companion applies the site
	rounds    int
	commands  []string // of this round, as the logs name them
	seen      map[string]int
}

// other returns a site with the same nodes, elsewhere, and the same workers.
func (c *cluster) other(t *testing.T, name string) *cluster {
	t.Helper()
	other := on(t, c.server, c.database, tortured...)
	other.journal, other.key, other.prefix, other.site.Name = c.journal, c.key, c.prefix, name
	return other
}

// terraform returns the program of Terraform or OpenTofu, if there is one.
func terraform() string {
	for _, name := range []string{os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform", "tofu"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func (x *torture) total() (n int) {
	for _, of := range x.killed {
		n += of
	}
	return n
}

// draw returns what is killed next: each kind once in four kills.
func (x *torture) draw() string {
	if len(x.deck) == 0 {
		names := slices.Sorted(maps.Keys(tortureWorkers))
		x.deck = []string{names[x.random.IntN(len(names))], "server", "database", "client"}
		x.random.Shuffle(len(x.deck), func(i, j int) { x.deck[i], x.deck[j] = x.deck[j], x.deck[i] })
	}
	victim := x.deck[0]
	x.deck = x.deck[1:]
	return victim
}

// kill is one kill.
type kill struct {
	victim      string
	lines       int           // in the logs of the nodes, after which it comes
	later, down time.Duration // so much later, and for so long
}

func (k kill) String() string {
	return fmt.Sprintf("%s %s after line %d for %s", k.victim, k.later, k.lines, k.down)
}

// round changes a site and applies it, kills, and checks what came of it.
func (x *torture) round(s *victimSite) {
	s.next(x.random)
	var kills []kill
	for range min(1+x.random.IntN(2), *tortureKills-x.total()) {
		k := kill{x.draw(), x.random.IntN(2 * len(s.commands)), time.Duration(x.random.IntN(300)) * time.Millisecond,
			time.Duration(x.random.IntN(2000)) * time.Millisecond}
		kills = append(kills, k)
	}
	x.t.Logf("torture: site %s, round %d: %q", s.site.Name, s.rounds, kills)
	x.client = s.asks("apply")
	var all sync.WaitGroup
	for _, k := range kills {
		all.Go(func() { x.strike(s, k) })
	}
	all.Wait()
	<-x.client.ended
	for try := 1; x.client.cmd.ProcessState.ExitCode() != 0; try++ {
		text := x.client.text()
		x.t.Logf("torture: apply %d ended with status %d: %s", try, x.client.cmd.ProcessState.ExitCode(), text[max(0, len(text)-800):])
		if try > 2 {
			x.t.Errorf("the site did not converge after %q", kills)
			return
		}
		x.client = s.asks("apply")
		<-x.client.ended
	}
	again := slices.ContainsFunc(kills, func(k kill) bool { return k.victim != "client" && k.victim != "control" })
	s.check(again)
}

// strike kills at its moment, and starts the victim again. Where the run ends before, nothing is killed.
func (x *torture) strike(s *victimSite, k kill) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for limit := time.After(patience); s.lines() < k.lines; {
		select {
		case <-ticker.C:
		case <-limit:
			x.t.Logf("torture: %q: there are %d lines after %s", k, s.lines(), patience)
			return
		}
		if x.ended() {
			x.t.Logf("torture: %q: the run ended before", k)
			return
		}
	}
	<-time.After(k.later)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended() {
		return
	}
	x.killed[k.victim]++
	report := func(err error) {
		if err != nil {
			x.t.Errorf("%q: %v", k, err)
		}
	}
	switch k.victim {
	case "client":
		x.client.kill()
	case "server":
		report(x.server.End(syscall.SIGKILL))
		<-time.After(k.down)
		report(x.server.Restart())
	case "database":
		report(x.database.Kill())
		<-time.After(k.down)
		report(patiently(func() error { return x.database.Up() }))
	default:
		x.workers[k.victim].end(syscall.SIGKILL)
		<-time.After(k.down)
		report(patiently(func() error { return x.start(k.victim) }))
	}
}

// ended reports whether who asked for the run has ended without being killed.
func (x *torture) ended() bool {
	select {
	case <-x.client.ended:
		return x.client.cmd.ProcessState.Exited()
	default:
		return false
	}
}

// patiently tries until there is no error, as who starts processes again does.
func patiently(try func() error) error {
	for start := time.Now(); ; <-time.After(100 * time.Millisecond) {
		if err := try(); err == nil || time.Since(start) > limit {
			return err
		}
	}
}

// start starts a worker.
func (x *torture) start(name string) error {
	p := x.command(tortureWorkers[name])
	x.workers[name] = p
	x.t.Cleanup(func() { p.end(syscall.SIGKILL) })
	err := p.works()
	if err != nil {
		p.end(syscall.SIGKILL)
	}
	return err
}

// next changes the site: one more file on each node, and two commands that have not run yet.
func (s *victimSite) next(random *rand.Rand) {
	s.t.Helper()
	s.rounds++
	s.commands, s.seen, s.site.Services = nil, map[string]int{}, nil
	files := map[string]resource.Parameters{}
	for round := range s.rounds {
		files[fmt.Sprint("/etc/round", round+1)] = resource.Parameters{"content": fmt.Sprintln(round + 1)}
	}
	for _, n := range s.site.Nodes {
		commands := map[string]resource.Parameters{}
		for _, name := range []string{"one", "two"} {
			id := fmt.Sprint(name, "-", s.rounds)
			s.commands = append(s.commands, n.Name+" "+id)
			commands[name] = resource.Parameters{"command": s.logged(n.Name, fmt.Sprintf(
				"echo begin %s >>log; /bin/sleep 0.%d 9>&-; echo end %[1]s >>log", id, 1+random.IntN(5)))}
		}
		commands["two"]["require"] = []any{"exec[one]"}
		s.site.Services = append(s.site.Services, site.Service{Name: "app-" + n.Name,
			Selectors:     site.Selectors{{NodeNames: []string{n.Name}}},
			Configuration: resource.Configuration{"file": files, "exec": commands}})
		s.seen[n.Name] = len(s.content(n.Name, "log"))
		if s.rounds == 1 {
			s.seen[n.Name] = 0
		}
	}
	s.configure()
}

// logged returns a command on a node that is alone there, and says in the log when it is not.
func (s *victimSite) logged(node, command string) string {
	return fmt.Sprintf("cd %q; exec 9>>lock; flock -n 9 || echo twice >>log; %s", s.path(node, ""), command)
}

// configure writes the site, as a document or as a configuration of Terraform.
func (s *victimSite) configure() {
	s.t.Helper()
	after, name := "depends_on", "site.yaml"
	if s.terraform != "" {
		after, name = "depends_on_groups", "main.tf.json"
	}
	var nodes, groups, services []any
	for i, n := range s.site.Nodes {
		nodes = append(nodes, map[string]any{"name": n.Name, "zone": n.Zone, "address": n.Address})
		before := []any{}
		if i%2 == 1 { // the second one of a zone
			before = append(before, "of-"+s.site.Nodes[i-1].Name)
		}
		groups = append(groups, map[string]any{"name": "of-" + n.Name, "critical": true, after: before,
			"selectors": []any{map[string]any{"node_names": []any{n.Name}}},
			"rolling":   map[string]any{"lock": s.logged(n.Name, "echo lock >>log"), "unlock": s.logged(n.Name, "echo unlock >>log")}})
		services = append(services, map[string]any{"name": s.site.Services[i].Name, "configuration": s.site.Services[i].Configuration,
			"selectors": []any{map[string]any{"node_names": []any{n.Name}}}})
	}
	all := map[string]any{"site": s.site.Name, "nodes": nodes, "groups": groups, "services": services}
	if s.terraform != "" {
		all = map[string]any{
			"terraform": map[string]any{"required_providers": map[string]any{"slipway": map[string]any{"source": "slipway/slipway"}}},
			"provider": map[string]any{"slipway": map[string]any{"engine": map[string]any{"temporal": map[string]any{
				"address": s.server.Address, "task_queue_prefix": s.prefix}}}},
			"resource": map[string]any{"slipway_deployment": map[string]any{"this": all}}}
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, name), text, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// command starts what asks for something about the site: Terraform, whose provider is this program, or the companion.
func (s *victimSite) asks(command string) *companion {
	s.t.Helper()
	if s.terraform == "" {
		args := map[string][]string{"apply": {"apply", "--yes"}, "check": {"check"}, "destroy": {"destroy", "--yes"}}[command]
		return s.companion(true, append(args, "site.yaml")...)
	}
	args := map[string][]string{"apply": {"apply", "-auto-approve"}, "check": {"plan", "-detailed-exitcode"},
		"destroy": {"destroy", "-auto-approve"}}[command]
	provider, rc := filepath.Join(s.dir, "provider"), filepath.Join(s.dir, "terraformrc")
	self, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(provider, 0o755)
	}
	if err == nil {
		if err = os.Symlink(self, filepath.Join(provider, "terraform-provider-slipway")); os.IsExist(err) {
			err = nil
		}
	}
	if err == nil {
		err = os.WriteFile(rc, fmt.Appendf(nil, "provider_installation {\n  dev_overrides { \"slipway/slipway\" = %q }\n  direct {}\n}\n",
			provider), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	p := s.command(nil, variable(processVariable, "provider"), variable("TF_CLI_CONFIG_FILE", rc))
	p.cmd.Path, p.cmd.Args = s.terraform, append([]string{s.terraform}, append(args, "-input=false", "-no-color")...)
	return s.begin(p)
}

// lines returns how many lines the commands of this round have written.
func (s *victimSite) lines() (n int) {
	for node, seen := range s.seen {
		if text := s.content(node, "log"); len(text) > seen {
			n += strings.Count(text[seen:], "\n")
		}
	}
	return n
}

// check checks what a round left behind: again says that commands may have begun again.
func (s *victimSite) check(again bool) {
	s.t.Helper()
	for _, n := range s.site.Nodes {
		text := s.content(n.Name, "log")[s.seen[n.Name]:]
		if what := s.history(n.Name, strings.Split(strings.TrimSpace(text), "\n"), again); what != "" {
			s.t.Errorf("site %s, round %d, node %s: %s in the log:\n%s", s.site.Name, s.rounds, n.Name, what, text)
		}
		for round := range s.rounds {
			if got, want := s.content(n.Name, fmt.Sprint("etc/round", round+1)), fmt.Sprintln(round+1); got != want {
				s.t.Errorf("site %s, round %d: file %d of node %s is %q", s.site.Name, s.rounds, round+1, n.Name, got)
			}
		}
	}
	check := s.asks("check")
	check.says(0)
	if runs := s.companion(false, "runs", "--site", s.site.Name).says(0); strings.Contains(runs, "running") {
		s.t.Errorf("site %s, round %d: a run has not ended:\n%s", s.site.Name, s.rounds, runs)
	}
}

// history returns what is wrong in the log of a node.
func (s *victimSite) history(node string, lines []string, again bool) string {
	locked, at := false, ""
	begun, ended := map[string]int{}, map[string]int{}
	for _, line := range lines {
		switch word, id, _ := strings.Cut(line, " "); {
		case word == "lock":
			locked = true
		case word == "unlock":
			locked = false
		case word == "begin" && locked && slices.Contains(s.commands, node+" "+id):
			at = id
			begun[id]++
		case word == "end" && at == id:
			at = ""
			ended[id]++
		default:
			return fmt.Sprintf("%q", line)
		}
	}
	if locked {
		return "a lock that stayed"
	}
	for _, command := range s.commands {
		of, id, _ := strings.Cut(command, " ")
		switch {
		case of != node:
		case ended[id] == 0:
			return "no end of " + id
		case begun[id] > 1 && !again:
			return "a second start of " + id
		}
	}
	return ""
}

// destroyed destroys a site, of which nothing is left.
func (s *victimSite) destroyed() {
	s.t.Helper()
	s.asks("destroy").says(0)
	for _, n := range s.site.Nodes {
		if left, err := os.ReadDir(s.path(n.Name, "etc")); err != nil || len(left) > 0 {
			s.t.Errorf("site %s: node %s still has %v, %v", s.site.Name, n.Name, left, err)
		}
	}
}

// What TestTortureEngine looks for in the log of a node is found.
func TestTortureFinds(t *testing.T) {
	t.Parallel()
	s := &victimSite{commands: []string{"a one", "a two", "b three"}}
	const whole = "lock begin-one end-one begin-two end-two unlock"
	for name, tt := range map[string]struct {
		log   string
		again bool
		want  string
	}{
		"nothing":                       {whole, false, ""},
		"nothing, after a kill":         {"lock begin-one begin-one end-one begin-two end-two unlock", true, ""},
		"two at once":                   {"lock begin-one twice begin-one end-one end-one begin-two end-two unlock", true, `"twice"`},
		"another one in the middle":     {"lock begin-one begin-two end-one end-two unlock", true, `"end one"`},
		"one that is missing":           {"lock begin-one end-one unlock", true, "no end of two"},
		"one that did not end":          {"lock begin-one end-one begin-two unlock", true, "no end of two"},
		"one that ran again":            {"lock begin-one end-one begin-one end-one begin-two end-two unlock", false, "a second start of one"},
		"one without a lock":            {"lock begin-one end-one unlock begin-two end-two", true, `"begin two"`},
		"a node that was left locked":   {"lock begin-one end-one begin-two end-two", true, "a lock that stayed"},
		"the end of what nobody began":  {"lock end-one begin-one end-one begin-two end-two unlock", true, `"end one"`},
		"what belongs to another round": {"lock begin-zero end-zero begin-one end-one begin-two end-two unlock", false, `"begin zero"`},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Fields(tt.log)
			for i := range lines {
				lines[i] = strings.Replace(lines[i], "-", " ", 1)
			}
			if got := s.history("a", lines, tt.again); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
