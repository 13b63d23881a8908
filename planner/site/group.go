package site

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/digraph"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// ValidateGroups reports the problems of a site's groups: those of each group by itself, those of dependencies, and
// those of membership, in the order of the groups.
func ValidateGroups(groups []Group, nodes []Node) Problems {
	var problems Problems
	for _, g := range groups {
		problems = append(problems, g.Validate()...)
	}
	problems = append(problems, ValidateDependencies(groups)...)
	inv := NewNodeIndex(nodes)
	for _, g := range groups {
		problems = append(problems, g.validateMembership(inv, len(problems))...)
	}
	return problems
}

// Validate reports what is wrong with the group by itself, whatever other groups and nodes there are.
func (g Group) Validate() Problems {
	var problems Problems
	report := func(attribute string, code Code, format string, args ...any) {
		problems = append(problems, g.problem(attribute, code, format, args...))
	}
	if check := checkTitle(g.Name); check != "" {
		report("name", BadName, "%s", check)
	}
	problems = append(problems, g.Selectors.validateLabels("group", g.Name)...)
	if c := g.SuccessCriteria; c != nil {
		const path = "success_criteria."
		if p := c.PercentSuccessfulNodes; p != nil && (*p < 0 || *p > 100) {
			report(path+"percent_successful_nodes", BadValue,
				"%d is not a percentage; give a whole number from 0 to 100", *p)
		}
		if n := c.MinimumSuccessfulNodes; n != nil && *n < 0 {
			report(path+"minimum_successful_nodes", BadValue, "%d is negative; give a number of nodes, 0 or more", *n)
		}
		if n := c.MaximumFailedNodes; n != nil && *n < 0 {
			report(path+"maximum_failed_nodes", BadValue, "%d is negative; give a number of nodes, 0 or more", *n)
		}
		if c.PercentSuccessfulNodes == nil && c.MinimumSuccessfulNodes == nil && c.MaximumFailedNodes == nil {
			report("success_criteria", MissingField, "no criterion is given; give one of percent_successful_nodes, "+
				"minimum_successful_nodes and maximum_failed_nodes, or leave success_criteria out")
		}
	}
	if r := g.Rolling; r != nil && r.MaxParallel < 1 {
		report("rolling.max_parallel", BadValue, "%d nodes at once can never finish; give 1 or more", r.MaxParallel)
	}
	if r := g.Rolling; r != nil && r.Lock != "" && r.Unlock == "" {
		report("rolling.unlock", MissingField, "rolling.lock has no counterpart, so every node would stay locked; give the command that undoes it, or leave lock out")
	}
	if g.PrepareTimeout < 0 {
		report("prepare_timeout", BadValue, "%s is negative; give a time above zero, or leave it out for 30 minutes",
			g.PrepareTimeout)
	}
	if g.DeployTimeout < 0 {
		report("deploy_timeout", BadValue, "%s is negative; give a time above zero, or leave it out for one hour",
			g.DeployTimeout)
	}
	return problems
}

// validateMembership warns of names and groups that select nothing, and reports criteria that no outcome can meet and
// an order of nodes that does not fit: a misspelled selector of a critical group must not first show during the run (airship.md D-04, AS-47).
func (g Group) validateMembership(inv *NodeIndex, before int) Problems {
	// Malformed labels are reported by Validate; they make the membership meaningless.
	if len(g.Selectors.validateLabels("group", g.Name)) > 0 {
		return nil
	}
	problems := g.Selectors.validate("group", g.Name, inv, before)
	nodes := inv.Members(g.Selectors)
	members := len(nodes)
	if members == 0 {
		p := g.problem("selectors", NoNodes, "no node is selected, so the group has nothing to do: %s",
			inv.emptyReason(g.Selectors))
		p.Warning = true
		problems = append(problems, p)
	}
	if c := g.SuccessCriteria; c != nil && c.MinimumSuccessfulNodes != nil && *c.MinimumSuccessfulNodes > members {
		p := g.problem("success_criteria.minimum_successful_nodes", UnreachableGoal,
			"%d nodes must succeed, but the group has only %d, so it always fails; lower the minimum or select more nodes",
			*c.MinimumSuccessfulNodes, members)
		p.Warning = !g.Critical
		problems = append(problems, p)
	}
	return append(problems, g.validateNodeOrder(nodes, before+len(problems))...)
}

// ValidateDependencies reports duplicate names, dependencies on groups that do not exist, and cycles, each cycle once
// and naming only the groups on it (airship.md 2, D-07, D-08).
func ValidateDependencies(groups []Group) Problems {
	var problems Problems
	first := make(map[string]int, len(groups))
	names := make([]string, 0, len(groups))
	for i, g := range groups {
		if _, ok := first[g.Name]; ok {
			problems = append(problems, g.problem("name", DuplicateGroup,
				"group %q is there twice; give each group a name of its own", g.Name))
			continue
		}
		first[g.Name] = i
		names = append(names, g.Name)
	}
	for _, g := range groups {
		for i, parent := range g.DependsOn {
			if _, ok := first[parent]; !ok {
				problems = append(problems, g.problem(fmt.Sprintf("depends_on_groups[%d]", i), UnknownDependency,
					"there is no group %q%s", parent,
					didYouMean(parent, resource.Others(names, g.Name), len(problems))))
			}
		}
	}
	parents := make(map[string][]string, len(groups))
	for name, i := range first {
		parents[name] = groups[i].DependsOn
	}
	for _, cycle := range digraph.CyclesOf(parents) {
		g := groups[first[cycle[0]]]
		problems = append(problems, g.problem(
			fmt.Sprintf("depends_on_groups[%d]", slices.Index(g.DependsOn, cycle[1])), Cycle, "%s",
			describeCycle(cycle)))
	}
	return problems
}

func (g Group) problem(attribute string, code Code, format string, args ...any) Problem {
	return Problem{Object: "group", Name: g.Name, Attribute: attribute, Code: code,
		Message: fmt.Sprintf(format, args...)}
}

// describeCycle describes groups that depend on each other; the first name is also the last.
func describeCycle(cycle []string) string {
	quoted := make([]string, len(cycle))
	for i, name := range cycle {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	if len(cycle) == 2 {
		return fmt.Sprintf("group %s depends on itself; remove the dependency", quoted[0])
	}
	return fmt.Sprintf("the groups depend on each other in a cycle: %s; remove one of these dependencies",
		strings.Join(quoted, " depends on "))
}
