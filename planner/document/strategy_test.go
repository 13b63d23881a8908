package document

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const whole = `---
schema: shipyard/DeploymentStrategy/v1
metadata:
  schema: metadata/Document/v1
  name: deployment-strategy
data:
  groups:
    - name: control-nodes
      critical: true
      depends_on: [ntp-node]
      selectors:
        - {node_names: [], node_labels: ["a:b"], node_tags: [control], rack_names: [rack03]}
      success_criteria: {percent_successful_nodes: 90, minimum_successful_nodes: 3, maximum_failed_nodes: 1}
      owner: nobody
    - {name: ntp-node, critical: false, depends_on: [], selectors: []}
`

func number(n int) *int { return &n }

func TestParseStrategy(t *testing.T) {
	control := site.Group{
		Name: "control-nodes", Critical: true, DependsOn: []string{"ntp-node"},
		Selectors: site.Selectors{{NodeNames: []string{}, NodeLabels: []string{"a:b"}, NodeTags: []string{"control"},
			RackNames: []string{"rack03"}}},
		SuccessCriteria: &site.SuccessCriteria{
			PercentSuccessfulNodes: number(90), MinimumSuccessfulNodes: number(3), MaximumFailedNodes: number(1),
		},
	}
	ntp := site.Group{Name: "ntp-node", DependsOn: []string{}, Selectors: site.Selectors{}}
	tests := []struct {
		name, text string
		want       []site.Group
	}{
		{"whole document", whole, []site.Group{control, ntp}},
		{"what is below data", "groups: [{name: ntp-node, critical: false, depends_on: [], selectors: []}]",
			[]site.Group{ntp}},
		{"JSON", `{"groups": [{"name": "ntp-node", "critical": false, "depends_on": [], "selectors": []}]}`,
			[]site.Group{ntp}},
		{"no groups", "groups: []", []site.Group{}},
		{"keys beside groups are tolerated", "groups: []\nnotes: {x: [1]}\n", []site.Group{}},
		{"found among other documents", "---\nschema: pegleg/Site/v1\ndata: {}\n" + whole + "---\n- a list\n",
			[]site.Group{control, ntp}},
		{"aliases",
			"groups:\n- &g {name: ntp-node, critical: false, depends_on: &none [], selectors: *none}\n- {<<: *g, name: other}\n",
			[]site.Group{ntp, {Name: "other", DependsOn: []string{}, Selectors: site.Selectors{}}}},
		{"merges: own first, then in order", `
base: &base {name: b, critical: true, depends_on: [b]}
more: &more {name: m, critical: false, selectors: []}
groups: [{<<: [*base, *more], depends_on: []}]`,
			[]site.Group{{Name: "b", Critical: true, DependsOn: []string{}, Selectors: site.Selectors{}}}},
		{"text with a tag", "groups: [{name: !!str 5, critical: false, depends_on: [], selectors: []}]",
			[]site.Group{{Name: "5", DependsOn: []string{}, Selectors: site.Selectors{}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := ParseStrategy("s.yaml", []byte(tt.text))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// group puts one key of a group, or of something below it, into a strategy that is right otherwise.
func group(key, value string) string {
	lines := []string{"name: g", "critical: true", "depends_on: []", "selectors: []"}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, key+":") })
	if value != "" {
		lines = append(lines, key+": "+value)
	}
	return "groups:\n- " + strings.Join(lines, "\n  ") + "\n"
}

func TestParseStrategyRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // "code: error"
	}{
		{"empty", "", []string{`schema: s.yaml: the document is empty; a strategy has the key "groups"`}},
		{"only comments", "# none\n---\n",
			[]string{`schema: s.yaml: the document is empty; a strategy has the key "groups"`}},
		{"not well formed", "groups: [\n",
			[]string{`schema: s.yaml:2:1: not well formed: did not find expected node content`}},
		{"a list", "- 1", []string{`schema: s.yaml:1:1: is a list, not a mapping`}},
		{"no groups", "{}", []string{`missing_field: s.yaml:1:1: the key "groups" is missing`}},
		{"groups mistyped", "group: []",
			[]string{`missing_field: s.yaml:1:1: the key "groups" is missing; is "group" meant to be it?`}},
		{"groups not a list", "groups: {}", []string{`schema: s.yaml:1:9: groups: is a mapping, not a list`}},
		{"a group that is not a mapping", "groups: [g]",
			[]string{`schema: s.yaml:1:10: groups[0]: is text, not a mapping`}},
		{"everything missing", "groups: [{depends-on: []}]", []string{
			`missing_field: s.yaml:1:10: groups[0]: the key "critical" is missing`,
			`missing_field: s.yaml:1:10: groups[0]: the key "depends_on" is missing; is "depends-on" meant to be it?`,
			`missing_field: s.yaml:1:10: groups[0]: the key "name" is missing`,
			`missing_field: s.yaml:1:10: groups[0]: the key "selectors" is missing`,
		}},
		{"name empty", group("name", `""`),
			[]string{`schema: s.yaml:5:9: groups[0].name: is empty; give the group a name`}},
		{"name a number", group("name", "007"), []string{
			`schema: s.yaml:5:9: groups[0].name: is a number, not text; write it in quotes, "007", if that is meant`}},
		{"name a date", group("name", "2020-01-01"), []string{
			`schema: s.yaml:5:9: groups[0].name: is a date, not text; write it in quotes, "2020-01-01", if that is meant`}},
		{"critical null", group("critical", "null"), []string{
			`schema: s.yaml:5:13: groups[0].critical: is nothing (null), not true or false`}},
		{"critical left open", group("critical", " "), []string{
			`schema: s.yaml:5:12: groups[0].critical: is nothing (null), not true or false`}},
		{"critical text", group("critical", "cheese"), []string{
			`schema: s.yaml:5:13: groups[0].critical: is text, not true or false`}},
		{"depends_on text", group("depends_on", "h"), []string{
			`schema: s.yaml:5:15: groups[0].depends_on: is text, not a list`}},
		{"depends_on of lists", group("depends_on", "[[h]]"),
			[]string{`schema: s.yaml:5:16: groups[0].depends_on[0]: is a list, not text`}},
		{"selector empty", group("selectors", "[{}]"), []string{
			`schema: s.yaml:5:15: groups[0].selectors[0]: is empty; a selector must have at least one of node_names, node_tags, node_labels, rack_names`}},
		{"selector key", group("selectors", "[{node_name: [a]}, {racks: [a]}]"), []string{
			`schema: s.yaml:5:16: groups[0].selectors[0]: unknown key "node_name"; did you mean "node_names"?`,
			`schema: s.yaml:5:34: groups[0].selectors[1]: unknown key "racks"; known are node_names, node_tags, node_labels, rack_names`,
		}},
		{"selector null", group("selectors", "[{node_tags: }]"),
			[]string{`schema: s.yaml:5:27: groups[0].selectors[0].node_tags: is nothing (null), not a list`}},
		{"names not text", group("selectors", "[{node_names: [false, 1.5], node_labels: [{k: v}]}]"), []string{
			`schema: s.yaml:5:29: groups[0].selectors[0].node_names[0]: is true or false, not text; write it in quotes, "false", if that is meant`,
			`schema: s.yaml:5:36: groups[0].selectors[0].node_names[1]: is a number, not text; write it in quotes, "1.5", if that is meant`,
			`schema: s.yaml:5:56: groups[0].selectors[0].node_labels[0]: is a mapping, not text`,
		}},
		{"criteria null", group("success_criteria", "null"),
			[]string{`schema: s.yaml:6:21: groups[0].success_criteria: is nothing (null), not a mapping`}},
		{"criteria empty", group("success_criteria", "{}"),
			[]string{
				`schema: s.yaml:6:21: groups[0].success_criteria: is empty; success criteria must have at least one of percent_successful_nodes, minimum_successful_nodes, maximum_failed_nodes`}},
		{"criterion unknown", group("success_criteria", "{maximum_fail_nodes: 1}"),
			[]string{
				`schema: s.yaml:6:22: groups[0].success_criteria: unknown key "maximum_fail_nodes"; did you mean "maximum_failed_nodes"?`}},
		{"criteria out of bounds", group("success_criteria",
			"{percent_successful_nodes: 101, minimum_successful_nodes: -1, maximum_failed_nodes: 99999999999999999999}"), []string{
			`schema: s.yaml:6:48: groups[0].success_criteria.percent_successful_nodes: 101 is not a whole number from 0 to 100`,
			`schema: s.yaml:6:79: groups[0].success_criteria.minimum_successful_nodes: -1 is not a whole number, 0 or more`,
			`schema: s.yaml:6:105: groups[0].success_criteria.maximum_failed_nodes: 99999999999999999999 is not a whole number, 0 or more`,
		}},
		{"criteria not whole", group("success_criteria",
			`{percent_successful_nodes: 66.6, minimum_successful_nodes: "1", maximum_failed_nodes: 1.0}`), []string{
			`schema: s.yaml:6:48: groups[0].success_criteria.percent_successful_nodes: 66.6 is not a whole number from 0 to 100`,
			`schema: s.yaml:6:80: groups[0].success_criteria.minimum_successful_nodes: is text, not a whole number, 0 or more`,
			`schema: s.yaml:6:107: groups[0].success_criteria.maximum_failed_nodes: 1.0 is not a whole number, 0 or more`,
		}},
		{"duplicate keys", "groups: []\nother: {a: 1, b: {c: 1, c: 2}}\ngroups: []\n", []string{
			`schema: s.yaml:2:25: key "c" is there twice, first at line 2; keep one`,
			`schema: s.yaml:3:1: key "groups" is there twice, first at line 1; keep one`,
		}},
		{"key that is not text", "groups: []\n1: 2\n", []string{
			`schema: s.yaml:2:1: a key is a number; keys must be text`}},
		{"another schema", "schema: shipyard/DeploymentConfiguration/v1\ndata: {groups: []}\n", []string{
			`schema: s.yaml:1:9: schema: is "shipyard/DeploymentConfiguration/v1", not "shipyard/DeploymentStrategy/v1"`,
		}},
		{"another version, metadata and data missing", "schema: shipyard/DeploymentStrategy/v2\nmetadata: none\n",
			[]string{
				`schema: s.yaml:1:9: schema: is "shipyard/DeploymentStrategy/v2", not "shipyard/DeploymentStrategy/v1"; did you mean that?`,
				`missing_field: s.yaml:1:1: the key "data" is missing`,
				`schema: s.yaml:2:11: metadata: is text, not a mapping`,
			}},
		{"envelope without schema", "data: {groups: []}",
			[]string{`missing_field: s.yaml:1:1: the key "schema" is missing`}},
		{"several, none a strategy", "a: 1\n---\nb: 2\n",
			[]string{`schema: s.yaml: none of the 2 documents has the schema "shipyard/DeploymentStrategy/v1"`}},
		{"two strategies", whole + whole,
			[]string{`schema: s.yaml:17:1: a second strategy; the first is at line 2. Keep one`}},
		{"merging itself", "groups: []\na: &a {<<: *a, x: 1}\n<<: *a\n",
			[]string{"schema: s.yaml:2:4: `<<` merges mappings more than 16 levels deep, or a mapping into itself"}},
		{"merging a list of text", "groups: []\n<<: [x]\n",
			[]string{`schema: s.yaml:2:6: is text, not a mapping to merge`}},
		{"the place of an alias is where it stands", "a: &a 1\n" + group("name", "*a"),
			[]string{
				`schema: s.yaml:6:9: groups[0].name: is a number, not text; write it in quotes, "1", if that is meant`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			groups, _, err := ParseStrategy("s.yaml", []byte(tt.text))
			var errs invalid.Errors
			if !errors.As(err, &errs) || groups != nil {
				t.Fatalf("got %+v, %v, want problems", groups, err)
			}
			var got []string
			for _, p := range errs {
				got = append(got, string(p.Code)+": "+p.Error())
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(tt.want))
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if !slices.IsSortedFunc(errs, func(a, b invalid.Error) int { return a.Line - b.Line }) {
				t.Errorf("not in the document's order: %v", errs)
			}
		})
	}
}

// TestAliasBomb holds a document of a few lines that stands for 10^9 values.
func TestAliasBomb(t *testing.T) {
	items := strings.Repeat("*a, ", 99) + "*a"
	bombs := map[string]string{
		"lists": "a: &a x\nb: &names [" + items + "]\ns: &s {node_names: *names, node_tags: *names}\nt: &t [" +
			strings.ReplaceAll(items, "*a", "*s") +
			"]\ng: &g {name: g, critical: true, depends_on: [], selectors: *t}\ngroups: [" +
			strings.ReplaceAll(strings.Repeat(items+", ", 100), "*a", "*g") + "]\n",
		"merges": "groups: []\na: &a {<<: [*a, *a, *a, *a]}\n<<: *a\n",
	}
	for name, text := range bombs {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, _, err := ParseStrategy("bomb.yaml", []byte(text))
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) != 1 {
				t.Errorf("got %.300v, want one problem", err)
			}
			if spent := time.Since(start); spent > 2*time.Minute {
				t.Errorf("it took %s", spent)
			}
		})
	}
}

func TestSizeIsBounded(t *testing.T) {
	_, _, err := ParseStrategy("big.yaml", []byte(strings.Repeat("#", maxSize+1)))
	if err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseStrategy(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("groups: []\na: &a {<<: *a, x: 1}\n<<: *a\n"))
	f.Add([]byte("groups: [{}, 1, [], null, {name: 1}]"))
	f.Add([]byte("groups: &g [*g]"))
	f.Add([]byte("{? [a] : b, groups: !x {}}"))
	f.Add([]byte("\xff\xfea\x00"))
	f.Add([]byte(group("success_criteria", "{percent_successful_nodes: 0x10, minimum_successful_nodes: 1_0}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		groups, _, err := ParseStrategy("f.yaml", data)
		if (err == nil) != (groups != nil) {
			t.Fatalf("groups %v with error %v", groups, err)
		}
		if err != nil {
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("an error that is not problems: %v", err)
			}
			for _, p := range errs {
				if p.Message == "" || p.Code == "" || p.File != "f.yaml" {
					t.Fatalf("an error that says nothing: %+v", p)
				}
			}
			return
		}
		for _, g := range groups {
			if g.Name == "" || g.DependsOn == nil || g.Selectors == nil {
				t.Fatalf("a group that the schema rejects: %+v", g)
			}
			for _, p := range g.Validate() {
				// The rest is for the schema, which has let the document pass.
				if p.Code != invalid.BadLabel && p.Code != invalid.BadName {
					t.Fatalf("%v", p)
				}
			}
		}
	})
}
