package workers

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	visit "go.temporal.io/api/proxy"
	"go.temporal.io/sdk/client"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/encryption/encryptiontest"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// left is what a run left encrypted in the journal, or on the Temporal server.
type left struct {
	kind    string   // what it is, such as slot, or the type of an event
	bound   []string // what it may be bound to, as who reads it knows
	content []byte
}

// zone is the one in clear in a content.
func (l left) zone() string { return string(l.content[10 : 10+int(l.content[9])]) }

// leftOf returns all that the runs of a site left encrypted.
func (c *cluster) leftOf() (all []left) {
	c.t.Helper()
	db, err := sql.Open("pgx", c.journal)
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // it was only read
	rows, err := db.QueryContext(c.t.Context(), strings.ReplaceAll(`SELECT run, address, content, CASE
		WHEN EXISTS (SELECT 1 FROM SITE.runs WHERE request = address) THEN 'request'
		WHEN EXISTS (SELECT 1 FROM SITE.runs WHERE outcome = address) THEN 'outcome'
		WHEN address LIKE '% %' THEN split_part(address, ' ', 1) ELSE 'address' END FROM SITE.blobs`, "SITE", "slipway_"+c.site.Name))
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	for rows.Next() {
		var run, address, kind string
		var content []byte
		if err := rows.Scan(&run, &address, &content, &kind); err != nil {
			c.t.Fatal(err)
		}
		bound := []string{"blob " + c.site.Name + " " + run + " " + address}
		for _, use := range []journal.Use{journal.UseRequest, journal.UseSaved, journal.UseOutcome} {
			bound = append(bound, fmt.Sprintf("blob %s %s %s %s", c.site.Name, run, use, address))
		}
		all = append(all, left{"journal: " + kind, bound, content})
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	server := c.server.Client(c.t, client.Options{})
	histories := c.histories()
	var workflows []string // of one, and of its children
	for _, w := range histories {
		workflows = append(workflows, "payload of Temporal, workflow "+w.GetExecution().GetWorkflowId())
	}
	for _, w := range histories {
		bound := slices.Clone(workflows)
		for _, name := range []string{"Open", "Program", "Step", "Sessions", "Watch", "Close", "Look"} {
			bound = append(bound, "payload of Temporal, activity "+name+" of the workflow "+w.GetExecution().GetWorkflowId())
		}
		for i := server.GetWorkflowHistory(c.t.Context(), w.GetExecution().GetWorkflowId(), w.GetExecution().GetRunId(), false,
			enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); i.HasNext(); {
			e, err := i.Next()
			if err == nil {
				err = visit.VisitPayloads(c.t.Context(), e, visit.VisitPayloadsOptions{SkipSearchAttributes: true,
					Visitor: func(_ *visit.VisitPayloadsContext, payloads []*common.Payload) ([]*common.Payload, error) {
						for _, p := range payloads {
							all = append(all, left{"Temporal: " + e.GetEventType().String(), bound, p.GetData()})
						}
						return payloads, nil
					}})
			}
			if err != nil {
				c.t.Fatal(err)
			}
		}
	}
	return all
}

// open returns what keys open of that, and of which kind it is.
func (c *cluster) open(text string, all []left) (contents [][]byte, kinds []string) {
	c.t.Helper()
	keys, err := encryption.Parse(text)
	if err != nil {
		c.t.Fatal(err)
	}
	found := map[string]int{}
	for _, l := range all {
		for _, bound := range l.bound {
			if content, err := keys.Decrypt(l.zone(), bound, l.content); err == nil {
				contents = append(contents, content)
				found[l.kind]++
				break
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		kinds = append(kinds, fmt.Sprintf("%d x %s", found[kind], kind))
	}
	return contents, kinds
}

// A worker of a zone that was broken into, and reads the database and the Temporal server, reads what is for its zone
// and nothing else: of all that runs and looks for drift left there, the key of a zone opens the sessions of its nodes,
// and no secret and no name of another zone's node. The key of the provider opens everything.
func TestKeyOfAZoneOpensItsZoneAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "xray-in-the-first-rack", Zone: "rack1"},
		site.Node{Name: "yankee-in-the-second-rack", Zone: "rack2"}, site.Node{Name: "zulu-in-no-rack-at-all"})
	c.site.Name = "boundary"
	secrets := map[string]string{}
	for _, n := range c.site.Nodes {
		secrets[n.Name] = "correct horse of " + n.Name
		c.site.Services = append(c.site.Services, site.Service{Name: "app-" + n.Name,
			Selectors: site.Selectors{{NodeNames: []string{n.Name}}}, Configuration: resource.Configuration{
				"file": {"/etc/app": {"content": secrets[n.Name], "mode": "0600"}}}})
	}
	c.worker([]string{"--control"})
	keys := map[string]string{} // by node
	for _, n := range c.site.Nodes {
		keys[n.Name] = c.keyOf(n.Zone)
		c.worker([]string{"--zone", n.Zone}, variable("SLIPWAY_KEY", keys[n.Name]))
	}
	c.apply()
	e := c.engine(c.settings())
	if out := e.Check(t.Context(), c.prior.State, c.site, engine.Inspection{}); len(out.Unreachable)+len(out.Drift) > 0 ||
		len(out.Messages) > 0 {
		t.Fatalf("%v do not answer, drift %v: %v", out.Unreachable, out.Drift, out.Messages)
	}

	all := c.leftOf()
	contents, kinds := c.open(c.key, all)
	if len(contents) != len(all) {
		t.Errorf("the key of the provider opens %d of %d: %q", len(contents), len(all), kinds)
	}
	for _, kind := range []string{"1 x journal: request", "1 x journal: outcome", "Temporal: WorkflowExecutionStarted"} {
		if !strings.Contains(strings.Join(kinds, "\n"), kind) {
			t.Errorf("the run left no %s: %q", kind, kinds)
		}
	}
	for node, key := range keys {
		contents, kinds := c.open(key, all)
		t.Logf("the key of %s opens %d of %d: %q", node, len(contents), len(all), kinds)
		for _, kind := range kinds {
			_, kind, _ = strings.Cut(kind, " x ")
			if strings.HasPrefix(kind, "Temporal: ") && kind != "Temporal: ActivityTaskScheduled" &&
				kind != "Temporal: ActivityTaskCompleted" || kind == "journal: request" || kind == "journal: outcome" {
				t.Errorf("the key of %s opens: %s", node, kind)
			}
		}
		own := 0
		for _, content := range contents {
			if encryptiontest.Form(content, secrets[node]) != "" {
				own++
			}
			for other, secret := range secrets {
				if other != node && cmp.Or(encryptiontest.Form(content, secret), encryptiontest.Form(content, other)) != "" {
					t.Errorf("the key of %s opens what is of %s: %.200q", node, other, content)
				}
			}
		}
		if own == 0 { // the session that wrote the file; the look at it is deleted
			t.Errorf("%d contents that the key of %s opens have its secret", own, node)
		}
	}
}

// The key that `key --zone` printed before, with that of nodes without a zone beside it, is that of its zone as before.
// The worker says that it has more than it needs.
func TestKeyOfAZoneThatWasPrintedBefore(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a", Zone: "rack1"})
	c.worker([]string{"--control"})
	w := c.worker([]string{"--zone", "rack1"}, variable("SLIPWAY_KEY", c.keyOf("rack1")+" "+c.keyOf("")))
	c.file("x\n")
	c.apply()
	w.end(syscall.SIGKILL)
	if got := c.content("a", "etc/app"); got != "x\n" {
		t.Errorf("the file is %q", got)
	}
	if said, want := w.errors.String(), `SLIPWAY_KEY has a key of the zone "", and this worker does not work for it. Give it no more `+
		"than what `terraform-provider-slipway key --zone` prints for its own."; !strings.Contains(said, want) {
		t.Errorf("no %q in %q", want, said)
	}
}
