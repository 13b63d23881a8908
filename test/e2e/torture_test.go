package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

var (
	tortureSeed = flag.Uint64("torture.seed", 1, "what the interruptions of TestTorture are drawn from")
	tortureHits = flag.Int("torture.hits", 10, "how many interruptions of TestTorture must hit a run at work")
)

// TestTorture interrupts creates, updates and destroys of sites on four nodes with 17 resources each, at random moments and in random ways. After each
// interruption at most two applies, or destroys, must reach what the configuration says. What the nodes are like is judged by shell commands on them, not
// by slipway. After the destroy every node is as it was before. Two sites are tried at a time until enough interruptions have hit.
func TestTorture(t *testing.T) {
	t.Parallel()
	hits := &hits{wanted: *tortureHits, byOperation: map[string]int{}, byVictim: map[string]int{}}
	t.Logf("torture: seed %d, %d hits; again with: make torture SEED=%[1]d N=%[2]d", *tortureSeed, *tortureHits)
	t.Run("sites", func(t *testing.T) {
		for site := range uint64(2) {
			t.Run(fmt.Sprint(site+1), func(t *testing.T) {
				t.Parallel()
				four := nodes.Take(t, 4)
				for round := site; !t.Failed() && !hits.enough() && int(round) < 2*hits.wanted; round += 2 {
					torture{t: t, nodes: four, random: rand.New(rand.NewPCG(*tortureSeed, round)), round: int(round), hits: hits}.live()
				}
			})
		}
	})
	t.Log(hits)
	if !t.Failed() && !hits.enough() {
		t.Errorf("too few interruptions hit: %d, want %d, and at least %d of each operation", hits.total(), hits.wanted, hits.wanted/4)
	}
}

// hits counts the interruptions that hit a run at work.
type hits struct {
	wanted int

	mu                    sync.Mutex
	byOperation, byVictim map[string]int
	missed                int
}

func (h *hits) add(operation string, s strike) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byOperation[operation]++
	h.byVictim[s.String()]++
}

func (h *hits) miss() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missed++
}

func (h *hits) total() (n int) {
	for _, of := range h.byOperation {
		n += of
	}
	return n
}

// enough reports whether as many hit as were wanted, at least a quarter of them in each operation.
func (h *hits) enough() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.total() < h.wanted {
		return false
	}
	for _, operation := range []string{"create", "update", "destroy"} {
		if h.byOperation[operation] < h.wanted/4 {
			return false
		}
	}
	return true
}

func (h *hits) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "torture: %d hits, %d missed\n", h.total(), h.missed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, count := range []map[string]int{h.byOperation, h.byVictim} {
		for _, name := range slices.Sorted(maps.Keys(count)) {
			fmt.Fprintf(w, "%s\t%d\n", name, count[name])
		}
	}
	_ = w.Flush() // into memory
	return b.String()
}

// torture is one life of a site.
type torture struct {
	t      *testing.T
	nodes  []lab.Node
	random *rand.Rand
	round  int
	hits   *hits
}

func (x torture) live() {
	x.t.Helper()
	before := fingerprints(x.t, x.nodes...)
	w := newWorkspace(x.t, config{site: "torture", nodes: x.nodes, services: tortureService, more: []string{"torture"}, extra: `timeouts = { create = "3m", update = "3m", delete = "3m" }`}.hcl(x.t))
	for _, operation := range []string{"create", "update"} {
		w.set("revision", operation)
		x.interrupt(w, operation)
		x.converge(w, operation)
	}
	x.interrupt(w, "destroy")
	if last := x.within2(w, "destroy"); last.status != 0 {
		x.t.Fatalf("round %d: two destroys did not end the site:\n%s", x.round, last.out)
	}
	for _, n := range x.nodes {
		n.On(x.t, "rm -rf /var/www /var/tmp/torture*") // nginx's package leaves the first, and what commands made stays
	}
	assertUntouched(x.t, before, x.nodes...)
}

// converge applies until an apply succeeds and checks what was reached.
func (x torture) converge(w *workspace, operation string) {
	x.t.Helper()
	if last := x.within2(w, "apply"); last.status != 0 {
		x.t.Fatalf("round %d: %s: two applies did not converge:\n%s", x.round, operation, last.out)
	}
	if r := w.plan(); r.status != 0 {
		x.t.Fatalf("round %d: %s: the plan after a successful apply is not empty:\n%s", x.round, operation, r.out)
	}
	for _, n := range x.nodes {
		if got, want := n.On(x.t, tortureLook), tortureWant[operation]; got != want {
			x.t.Fatalf("round %d: %s: %s is\n%s\nwant\n%s", x.round, operation, n.Name, got, want)
		}
	}
}

// within2 runs a command of Terraform until it succeeds, at most twice.
func (x torture) within2(w *workspace, command string) (last result) {
	x.t.Helper()
	for range 2 {
		if last = w.run(command, "-input=false", "-no-color", "-auto-approve"); last.status == 0 {
			break
		}
		x.t.Logf("round %d: %s failed:\n%s", x.round, command, last.out)
	}
	return last
}

// interrupt starts an operation, strikes at a random moment and waits until everything that works in the folder has ended.
func (x torture) interrupt(w *workspace, operation string) {
	x.t.Helper()
	s := strikes[x.random.IntN(len(strikes))]
	when := x.moment(operation)
	victim := x.nodes[x.random.IntN(len(x.nodes))]
	command := "apply"
	if operation == "destroy" {
		command = operation
	}
	p := w.begin(command, "-input=false", "-no-color", "-auto-approve")
	struck := make(chan bool, 1)
	over := make(chan struct{})
	go func() {
		defer close(struck)
		struck <- x.strike(w, p, s, victim, operation, when, over)
	}()
	r := p.wait()
	close(over)
	hit := <-struck
	s.heal(x.t, victim)
	await(x.t, "no provider is left", func() bool { return len(w.processes(x.t)) == 0 })
	if hit {
		x.hits.add(operation, s)
	} else {
		x.hits.miss()
	}
	x.t.Logf("round %d: %s, %s at %s, %s: hit %t, exit status %d", x.round, operation, s, victim.Name, when, hit, r.status)
}
