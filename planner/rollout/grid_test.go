package rollout

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/server"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// The page of a run has, before anything has started, a cell for each phase of each node that the run's program has, and
// no other one.
func TestGridIsTheProgram(t *testing.T) {
	t.Parallel()
	file := func(titles ...string) resource.Configuration {
		out := map[string]resource.Parameters{}
		for _, title := range titles {
			out[title] = resource.Parameters{"content": title + "\n"}
		}
		return resource.Configuration{"file": out}
	}
	s := site.Site{Name: "lon1",
		Groups: []site.Group{
			{Name: "ntp", Critical: true, Selectors: site.Selectors{{NodeTags: []string{"ntp"}}}},
			{Name: "web", DependsOn: []string{"ntp"}, Selectors: site.Selectors{{NodeTags: []string{"web"}}},
				Rolling: &site.Rolling{MaxParallel: 1, Batches: []string{"1", "100%"}, Soak: time.Minute,
					HealthCheck: &site.HealthCheck{Command: "true"}}},
		},
		Services: []site.Service{{Name: "all", Configuration: file("/etc/a", "/etc/b")},
			{Name: "some", Selectors: site.Selectors{{NodeNames: []string{"w2", "n1"}}}, Configuration: file("/etc/c")}},
	}
	for _, n := range []string{"ntp n1", "ntp n2", "web w1", "web w2", "web w3", "idle i1"} {
		tag, name, _ := strings.Cut(n, " ")
		s.Nodes = append(s.Nodes, site.Node{Name: name, Address: name + ".example", Tags: []string{tag}})
	}
	p, errs := planner.Make(s, nil, nil)
	if p == nil {
		t.Fatal(errs)
	}
	program, err := run.Compile(s, p, run.Settings{})
	if err != nil {
		t.Fatal(err)
	}

	names, several := map[int]string{}, map[string]int{} // of phases, by their number
	for i, phase := range p.Phases {
		several[phase.Group+string(phase.TaskGroup)]++
		names[i+1] = string(phase.TaskGroup)
		if n := several[phase.Group+string(phase.TaskGroup)]; n > 1 {
			names[i+1] = fmt.Sprintf("%s %d", phase.TaskGroup, n)
		}
	}
	want := map[string][]string{} // node -> its cells, by their columns
	add := func(sessions ...run.Session) {
		for _, session := range sessions {
			if name := names[session.Phase]; session.Phase > 0 && !slices.Contains(want[session.Node], name) {
				want[session.Node] = append(want[session.Node], name)
			}
		}
	}
	for _, session := range program.Prepare {
		add(session)
	}
	for _, sessions := range program.Deploy {
		add(sessions...)
	}
	for _, node := range []string{"w1", "w2", "w3"} { // the machine adds them to each batch
		want[node] = append(want[node], "health check")
	}
	for _, ph := range slices.Concat(program.Before, program.After) {
		add(ph.Sessions...)
	}
	if len(want) != 5 || len(want["w2"]) < 2 {
		t.Fatalf("the program has %v", want)
	}

	at := journal.Location{Path: t.TempDir()}
	store, err := at.Open(t.Context(), s.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // the test is over
	w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: s.Name, Operation: "create"})
	if err != nil {
		t.Fatal(err)
	}
	events := append([]journal.Event{{Kind: journal.RunStarted, Output: outline(program, nil)}}, planned(p, program)...)
	if err := w.Record(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Finish(t.Context(), "deployed", ""); err != nil {
			t.Error(err)
		}
	}()
	answer := httptest.NewRecorder()
	server.New(server.Options{Journals: at}).ServeHTTP(answer,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/runs/run-1", nil))
	head, body, _ := strings.Cut(answer.Body.String(), "<tbody role=\"rowgroup\">")
	var columns []string
	for _, c := range regexp.MustCompile(`<th role="columnheader">([^<]+)</th>`).FindAllStringSubmatch(head, -1) {
		columns = append(columns, c[1])
	}
	grid := map[string][]string{}
	for row := range strings.SplitSeq(body, `<tr role="row" id="`) {
		name := regexp.MustCompile(`nodes/([a-z0-9]+)"`).FindStringSubmatch(row)
		if name == nil {
			continue
		}
		for i, c := range regexp.MustCompile(`<td role="cell" id="[^"]+"( class="cell waiting")?>(waiting)?</td>`).FindAllStringSubmatch(row, -1) {
			if c[1] != "" && c[2] != "" {
				grid[name[1]] = append(grid[name[1]], columns[i+2]) // after node and group
			}
		}
	}
	for _, cells := range []map[string][]string{want, grid} {
		for _, of := range cells {
			slices.Sort(of)
		}
	}
	if d := cmp.Diff(want, grid); d != "" {
		t.Errorf("the cells of the program and of the grid: %s", d)
	}
}
