package strategy

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func TestOrder(t *testing.T) {
	tests := []struct {
		name   string
		groups string // "a:b,c" is a depends on b and c
		want   string
	}{
		{"none", "", ""},
		{"document order", "b a c", "b a c"},
		{"example of the seed (AS-62)", "control:ntp c1:control c2:control mon ntp", "mon ntp control c1 c2"},
		{"released in document order", "z:r y:r r x:r", "r z y x"},
		{"breadth before depth", "r1 r2 a:r1 aa:a b:r2", "r1 r2 a b aa"},
		{"the last parent releases", "d:a,b a b:c c", "a c b d"},
		{"a dependency given twice is one", "b:a,a a c:b,b", "a b c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var groups []site.Group
			for _, text := range strings.Fields(tt.groups) {
				name, parents, _ := strings.Cut(text, ":")
				groups = append(groups, site.Group{Name: name,
					DependsOn: strings.FieldsFunc(parents, func(r rune) bool { return r == ',' })})
			}
			got, err := Order(groups)
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, %v, want %s", got, err, tt.want)
			}
		})
	}
	if got, err := Order([]site.Group{{Name: "a", DependsOn: []string{"b"}},
		{Name: "b", DependsOn: []string{"a"}}}); err == nil {
		t.Errorf("a cycle has the order %v", got)
	}
}

func TestEvaluate(t *testing.T) {
	tests := []struct {
		percent, minimum, maximum int // -1 is not given
		members, ok               int
		want                      string
	}{
		{-1, -1, -1, 4, 0, ""},
		{75, -1, -1, 4, 3, ""},
		{67, -1, -1, 3, 2, "percent_successful_nodes 67 66"},
		{66, -1, -1, 3, 2, ""},
		{58, -1, -1, 50, 29, ""}, // 57.99999999999999 in floating point (D-10)
		{29, -1, -1, 100, 29, ""},
		{57, -1, -1, 100, 57, ""},
		{100, -1, -1, 0, 0, ""},
		{0, -1, -1, 5, 0, ""},
		{-1, 1, -1, 0, 0, "minimum_successful_nodes 1 0"},
		{-1, 0, -1, 0, 0, ""},
		{-1, -1, 0, 0, 0, ""},
		{-1, -1, 1, 4, 3, ""},
		{-1, -1, 1, 4, 2, "maximum_failed_nodes 1 2"},
		{79, 3, 1, 4, 3, "percent_successful_nodes 79 75"},
		{90, 3, 1, 4, 1, "percent_successful_nodes 90 25, minimum_successful_nodes 3 1, maximum_failed_nodes 1 3"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			given := func(n int) *int {
				if n < 0 {
					return nil
				}
				return &n
			}
			var got []string
			for _, s := range Evaluate(&site.SuccessCriteria{
				PercentSuccessfulNodes: given(tt.percent), MinimumSuccessfulNodes: given(tt.minimum),
				MaximumFailedNodes: given(tt.maximum),
			}, tt.members, tt.ok) {
				got = append(got, fmt.Sprintf("%s %d %d", s.Criterion, s.Needed, s.Actual))
			}
			if text := strings.Join(got, ", "); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
	if got := Evaluate(nil, 3, 0); got != nil {
		t.Errorf("no criteria: got %v", got)
	}
}

// TestTransitions walks the whole table of airship.md 4.
func TestTransitions(t *testing.T) {
	allowed := map[[2]Stage]bool{
		{NotStarted, Prepared}: true, {NotStarted, Failed}: true,
		{Prepared, Deployed}: true, {Prepared, Failed}: true,
	}
	for _, from := range stages {
		for _, to := range stages {
			if err := Transition(from, to); (err == nil) != (from == to || allowed[[2]Stage{from, to}]) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		}
		if from.Complete() != (from == Deployed || from == Failed) {
			t.Errorf("%s: complete is %v", from, from.Complete())
		}
	}
	for _, pair := range [][2]Stage{{"", ""}, {"READY", Prepared}, {NotStarted, "READY"}, {"READY", "READY"}} {
		if Transition(pair[0], pair[1]) == nil {
			t.Errorf("%q to %q is no error", pair[0], pair[1])
		}
	}
}

func TestDefaultAndTargets(t *testing.T) {
	percent := 100
	whole := &site.SuccessCriteria{PercentSuccessfulNodes: &percent}
	if got, want := Default(), []site.Group{{Name: "default", Critical: true, Selectors: site.Selectors{{}},
		SuccessCriteria: whole}}; !reflect.DeepEqual(got, want) {
		t.Errorf("default: got %+v, want %+v", got, want)
	}
	got, err := Targets([]string{"a", "b"})
	want := []site.Group{{Name: "target-group", Critical: true,
		Selectors: site.Selectors{{NodeNames: []string{"a", "b"}}}, SuccessCriteria: whole}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("targets: got %+v, %v, want %+v", got, err, want)
	}
	if got, err := Targets(nil); err == nil {
		t.Errorf("no targets: got %+v, which selects every node", got)
	}
}

func TestReportTable(t *testing.T) {
	number := func(n int) *int { return &n }
	nodes := []site.Node{{Name: "k"}, {Name: "idle"}}
	for i := range 12 {
		nodes = append(nodes, site.Node{Name: fmt.Sprintf("cmp%02d", i), Tags: []string{"compute"}})
	}
	m, err := New([]site.Group{
		{Name: "compute", Selectors: site.Selectors{{NodeTags: []string{"compute"}}},
			SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: number(100), MaximumFailedNodes: number(0)}},
		{Name: "größe", Selectors: site.Selectors{{NodeNames: []string{"k"}}}},
		{Name: "control", Critical: true, DependsOn: []string{"compute", "größe"},
			Selectors: site.Selectors{{NodeNames: []string{"k"}}}},
	}, nodes, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.StartPrepare("compute")
	m.FinishPrepare("compute", []string{"cmp00", "idle"})
	m.StartPrepare("größe")
	m.FinishPrepare("größe", []string{"k"})
	const want = `GROUP    STAGE     CRITICAL  NODES  WHY
compute  FAILED    no        12     1 of 12 nodes prepared, percent_successful_nodes asks for 100 %; 11 of 12 nodes not prepared, maximum_failed_nodes allows 0
größe    PREPARED  no        1
control  FAILED    yes       1      compute failed

STAGE        COUNT  NODES
NOT_STARTED  0
PREPARED     2      cmp00 k
DEPLOYED     0
FAILED       11     cmp01 cmp02 cmp03 cmp04 cmp05 cmp06 cmp07 cmp08 cmp09 cmp10
                    cmp11

warning: group "compute": a result came for node "idle", which was not to become PREPARED with this group; it is ignored

a critical group has failed
`
	if got := m.Report().String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	empty, err := New([]site.Group{}, nodes, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := empty.Report().String(), "STAGE        COUNT  NODES\nNOT_STARTED  0\nPREPARED     0\nDEPLOYED     0\nFAILED       0\n"; got != want {
		t.Errorf("no groups: got\n%s\nwant\n%s", got, want)
	}
}
