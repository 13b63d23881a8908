package site

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

func TestValidateGroups(t *testing.T) {
	number := func(n int) *int { return &n }
	tests := []struct {
		name   string
		groups []Group
		want   []string
	}{
		{"nothing wrong", []Group{{Name: "a", Critical: true, SuccessCriteria: &SuccessCriteria{
			PercentSuccessfulNodes: number(100), MinimumSuccessfulNodes: number(4), MaximumFailedNodes: number(0),
		}, Rolling: &Rolling{MaxParallel: 1}}, {Name: "b", DependsOn: []string{"a", "a"}}}, nil},
		{"no groups", nil, nil},
		{"names", []Group{{}, {Name: " a"}, {Name: "a\x00b"}, {Name: "web\u202efdp"}, {Name: "wéb 漢字"}}, []string{
			`error bad_name group "": name: a name is needed`,
			`error bad_name group " a": name: the name begins or ends with white space; write "a"`,
			`error bad_name group "a\x00b": name: the name holds a control character; use printable characters only`,
			`error bad_name group "web\u202efdp": name: "web\u202efdp" contains U+202E, which is invisible, so that the name looks like another one; leave it out`,
		}},
		{"duplicate", []Group{{Name: "a"}, {Name: "b"}, {Name: "a"}}, []string{
			`error duplicate_group group "a": name: group "a" is there twice; give each group a name of its own`,
		}},
		{"unknown dependency", []Group{{Name: "a", DependsOn: []string{"b", "controll"}}, {Name: "b"},
			{Name: "control"}}, []string{
			`error unknown_dependency group "a": depends_on_groups[1]: there is no group "controll"; did you mean "control"?`,
		}},
		{"itself", []Group{{Name: "a", DependsOn: []string{"a"}}}, []string{
			`error cycle group "a": depends_on_groups[0]: group "a" depends on itself; remove the dependency`,
		}},
		{"bounds", []Group{{
			Name: "a", Rolling: &Rolling{}, PrepareTimeout: -time.Second, DeployTimeout: -time.Minute,
			SuccessCriteria: &SuccessCriteria{PercentSuccessfulNodes: number(101), MinimumSuccessfulNodes: number(-1),
				MaximumFailedNodes: number(-2)},
		}, {Name: "b", SuccessCriteria: &SuccessCriteria{}},
			{Name: "c", SuccessCriteria: &SuccessCriteria{PercentSuccessfulNodes: number(-1)}}}, []string{
			`error bad_value group "a": success_criteria.percent_successful_nodes: 101 is not a percentage; give a whole number from 0 to 100`,
			`error bad_value group "a": success_criteria.minimum_successful_nodes: -1 is negative; give a number of nodes, 0 or more`,
			`error bad_value group "a": success_criteria.maximum_failed_nodes: -2 is negative; give a number of nodes, 0 or more`,
			`error bad_value group "a": rolling.max_parallel: 0 nodes at once can never finish; give 1 or more`,
			`error bad_value group "a": prepare_timeout: -1s is negative; give a time above zero, or leave it out for 30 minutes`,
			`error bad_value group "a": deploy_timeout: -1m0s is negative; give a time above zero, or leave it out for one hour`,
			`error missing_field group "b": success_criteria: no criterion is given; give one of percent_successful_nodes, minimum_successful_nodes and maximum_failed_nodes, or leave success_criteria out`,
			`error bad_value group "c": success_criteria.percent_successful_nodes: -1 is not a percentage; give a whole number from 0 to 100`,
		}},
		{"a lock without its unlock", []Group{
			{Name: "a", Rolling: &Rolling{MaxParallel: 1, Lock: "drain"}},
			{Name: "b", Rolling: &Rolling{MaxParallel: 1, Unlock: "undrain"}},
			{Name: "c", Rolling: &Rolling{MaxParallel: 1, Lock: "drain", Unlock: "undrain"}},
		}, []string{
			`error missing_field group "a": rolling.unlock: rolling.lock has no counterpart, so every node would stay locked; give the command that undoes it, or leave lock out`,
		}},
		{"an order of nodes", []Group{
			{Name: "a", Rolling: &Rolling{MaxParallel: 1, NodeOrder: []string{"n3", "n1", "n4", "n2"}}},
			{Name: "b", Rolling: &Rolling{MaxParallel: 1, NodeOrder: []string{"n3", "*", "n1"}}},
			{Name: "c", Rolling: &Rolling{MaxParallel: 1, NodeOrder: []string{"n3", "n3", "n11", "ghost", "*", "*"}}},
			{Name: "d", Rolling: &Rolling{MaxParallel: 1, NodeOrder: []string{"n3", "n1"}}},
		}, []string{
			`error duplicate group "c": rolling.node_order[1]: "n3" is there twice; name each node once`,
			`error unknown_node group "c": rolling.node_order[2]: the group has no node "n11"; did you mean "n1"?`,
			`error unknown_node group "c": rolling.node_order[3]: the group has no node "ghost"`,
			`error duplicate group "c": rolling.node_order[5]: "*" is there twice; name each node once`,
			`error missing_field group "d": rolling.node_order: it does not name n2, n4; add each node of the group, or "*" for all others by name`,
		}},
		{"selectors", []Group{
			{Name: "a", Critical: true, Selectors: Selectors{{}, {NodeLabels: []string{"x"}}},
				SuccessCriteria: &SuccessCriteria{MinimumSuccessfulNodes: number(9)}},
			{Name: "b", Selectors: Selectors{{NodeNames: []string{"ghost"}}}},
		}, []string{
			`error bad_label group "a": selectors[1].node_labels[0]: label "x" has no colon; write one as "key:value"`,
			`warning unknown_node group "b": selectors[0].node_names[0]: there is no node "ghost", so it selects nothing`,
			`warning no_nodes group "b": selectors: no node is selected, so the group has nothing to do: no node has such a name; there are n1, n2, n3, n4`,
		}},
		{"criteria that nothing can meet", []Group{
			{Name: "a", Critical: true, SuccessCriteria: &SuccessCriteria{MinimumSuccessfulNodes: number(5)}},
			{Name: "b", SuccessCriteria: &SuccessCriteria{MinimumSuccessfulNodes: number(5)}},
		}, []string{
			`error unreachable_criteria group "a": success_criteria.minimum_successful_nodes: 5 nodes must succeed, but the group has only 4, so it always fails; lower the minimum or select more nodes`,
			`warning unreachable_criteria group "b": success_criteria.minimum_successful_nodes: 5 nodes must succeed, but the group has only 4, so it always fails; lower the minimum or select more nodes`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := lines(ValidateGroups(tt.groups, grid)); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestCycles looks at the text of cycles, which must not depend on the order of the groups.
func TestCycles(t *testing.T) {
	tests := []struct {
		name  string
		edges string // "a:b,c" is a depends on b and c
		want  []string
	}{
		{"none", "a:b,c b:c c:", nil},
		{"only the groups on it", "A:C B:A C:D D:A", []string{
			`group "A" depends_on_groups[0] "A" depends on "C" depends on "D" depends on "A"`,
		}},
		{"the attribute is that of the edge", "a:x,b b:a x:",
			[]string{`group "a" depends_on_groups[1] "a" depends on "b" depends on "a"`}},
		{"the shortest", "a:b,c b:c c:a", []string{`group "a" depends_on_groups[1] "a" depends on "c" depends on "a"`}},
		{"one of each component", "d:c c:d b:a a:b e:a,c", []string{
			`group "a" depends_on_groups[0] "a" depends on "b" depends on "a"`,
			`group "c" depends_on_groups[0] "c" depends on "d" depends on "c"`,
		}},
		{"beside an unknown name", "a:ghost,b b:a",
			[]string{`group "a" depends_on_groups[1] "a" depends on "b" depends on "a"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var groups []Group
			for _, text := range strings.Fields(tt.edges) {
				name, parents, _ := strings.Cut(text, ":")
				g := Group{Name: name}
				if parents != "" {
					g.DependsOn = strings.Split(parents, ",")
				}
				groups = append(groups, g)
			}
			for range groups {
				var got []string
				for _, p := range ValidateDependencies(groups) {
					if p.Code == invalid.Cycle {
						text := strings.TrimPrefix(p.Message, "the groups depend on each other in a cycle: ")
						text, _, _ = strings.Cut(text, ";")
						got = append(got, fmt.Sprintf("group %q %s %s", p.Name, p.Attribute, text))
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				groups = append(groups[1:], groups[0]) // any order gives the same
			}
		})
	}
}

// TestLongChain makes sure that a chain as long as any strategy is no trouble.
func TestLongChain(t *testing.T) {
	const length = 50_000
	groups := make([]Group, length)
	for i := range groups {
		groups[i] = Group{Name: fmt.Sprint(i), DependsOn: []string{fmt.Sprint((i + 1) % length)}}
	}
	if errs := ValidateDependencies(groups); len(errs) != 1 || errs[0].Code != invalid.Cycle {
		t.Errorf("got %d problems, want one cycle", len(errs))
	}
	groups[length-1].DependsOn = nil
	if errs := ValidateDependencies(groups); len(errs) != 0 {
		t.Errorf("got %d problems, want none", len(errs))
	}
}
