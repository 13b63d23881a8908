package site

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/digraph"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// ValidateGroups reports the errors of a site's groups: those of each group by itself, those of dependencies, and
// those of membership, in the order of the groups.
func ValidateGroups(groups []Group, nodes []Node) invalid.Errors {
	var errs invalid.Errors
	for _, g := range groups {
		errs = append(errs, g.Validate()...)
	}
	errs = append(errs, ValidateDependencies(groups)...)
	inv := NewNodeIndex(nodes)
	for _, g := range groups {
		errs = append(errs, g.validateMembership(inv, len(errs))...)
	}
	return errs
}

// Validate reports what is wrong with the group by itself, whatever other groups and nodes there are.
func (g Group) Validate() invalid.Errors {
	var errs invalid.Errors
	report := func(attribute string, code invalid.Code, format string, args ...any) {
		errs = append(errs, g.wrong(attribute, code, format, args...))
	}
	if check := checkTitle(g.Name); check != "" {
		report("name", invalid.BadName, "%s", check)
	}
	errs = append(errs, g.Selectors.validateLabels("group", g.Name)...)
	if c := g.SuccessCriteria; c != nil {
		const path = "success_criteria."
		if p := c.PercentSuccessfulNodes; p != nil && (*p < 0 || *p > 100) {
			report(path+"percent_successful_nodes", invalid.BadValue,
				"%d is not a percentage; give a whole number from 0 to 100", *p)
		}
		if n := c.MinimumSuccessfulNodes; n != nil && *n < 0 {
			report(path+"minimum_successful_nodes", invalid.BadValue, "%d is negative; give a number of nodes, 0 or more", *n)
		}
		if n := c.MaximumFailedNodes; n != nil && *n < 0 {
			report(path+"maximum_failed_nodes", invalid.BadValue, "%d is negative; give a number of nodes, 0 or more", *n)
		}
		if c.PercentSuccessfulNodes == nil && c.MinimumSuccessfulNodes == nil && c.MaximumFailedNodes == nil {
			report("success_criteria", invalid.MissingField, "no criterion is given; give one of percent_successful_nodes, "+
				"minimum_successful_nodes and maximum_failed_nodes, or leave success_criteria out")
		}
	}
	if r := g.Rolling; r != nil && r.MaxParallel < 1 {
		report("rolling.max_parallel", invalid.BadValue, "%d nodes at once can never finish; give 1 or more", r.MaxParallel)
	}
	if r := g.Rolling; r != nil && r.Lock != "" && r.Unlock == "" {
		report("rolling.unlock", invalid.MissingField,
			"rolling.lock has no counterpart, so every node would stay locked; give the command that undoes it, or leave lock out")
	}
	if g.Rolling != nil {
		errs = append(errs, g.validateBatches()...)
	}
	errs = append(errs, g.validateMaintenance()...)
	if o := g.OnShortfall; o != "" && o != OnShortfallStop && o != OnShortfallContinue {
		report("on_shortfall", invalid.BadValue, "%q is not allowed; give %q to start no further node when the success "+
			"criteria can no longer be met, or %q to work on all nodes", o, OnShortfallStop, OnShortfallContinue)
	}
	if g.PrepareTimeout < 0 {
		report("prepare_timeout", invalid.BadValue, "%s is negative; give a time above zero, or leave it out for 30 minutes",
			g.PrepareTimeout)
	}
	if g.DeployTimeout < 0 {
		report("deploy_timeout", invalid.BadValue, "%s is negative; give a time above zero, or leave it out for one hour",
			g.DeployTimeout)
	}
	return errs
}

// validateMembership warns of names and groups that select nothing, and reports criteria that no outcome can meet and
// an order of nodes that does not fit: a misspelled selector of a critical group must not first show during the run
// (airship.md D-04, AS-47).
func (g Group) validateMembership(inv *NodeIndex, before int) invalid.Errors {
	// Malformed labels are reported by Validate; they make the membership meaningless.
	if len(g.Selectors.validateLabels("group", g.Name)) > 0 {
		return nil
	}
	errs := g.Selectors.validate("group", g.Name, inv, before)
	nodes := inv.Members(g.Selectors)
	members := len(nodes)
	if members == 0 {
		p := g.wrong("selectors", invalid.NoNodes, "no node is selected, so the group has nothing to do: %s",
			inv.emptyReason(g.Selectors))
		p.Warning = true
		errs = append(errs, p)
	}
	if c := g.SuccessCriteria; c != nil && c.MinimumSuccessfulNodes != nil && *c.MinimumSuccessfulNodes > members {
		p := g.wrong("success_criteria.minimum_successful_nodes", invalid.UnreachableGoal,
			"%d nodes must succeed, but the group has only %d, so it always fails; lower the minimum or select more nodes",
			*c.MinimumSuccessfulNodes, members)
		p.Warning = !g.Critical
		errs = append(errs, p)
	}
	return append(errs, g.validateNodeOrder(nodes, before+len(errs))...)
}

// ValidateDependencies reports duplicate names, dependencies on groups that do not exist, and cycles, each cycle once
// and naming only the groups on it (airship.md 2, D-07, D-08).
func ValidateDependencies(groups []Group) invalid.Errors {
	var errs invalid.Errors
	first := make(map[string]int, len(groups))
	names := make([]string, 0, len(groups))
	for i, g := range groups {
		if _, ok := first[g.Name]; ok {
			errs = append(errs, g.wrong("name", invalid.DuplicateGroup,
				"group %q is there twice; give each group a name of its own", g.Name))
			continue
		}
		first[g.Name] = i
		names = append(names, g.Name)
	}
	for _, g := range groups {
		for i, parent := range g.DependsOn {
			if _, ok := first[parent]; !ok {
				errs = append(errs, g.wrong(fmt.Sprintf("depends_on_groups[%d]", i), invalid.UnknownDependency,
					"there is no group %q%s", parent,
					didYouMean(parent, resource.Others(names, g.Name), len(errs))))
			}
		}
	}
	parents := make(map[string][]string, len(groups))
	for name, i := range first {
		parents[name] = groups[i].DependsOn
	}
	for _, cycle := range digraph.CyclesOf(parents) {
		g := groups[first[cycle[0]]]
		errs = append(errs, g.wrong(
			fmt.Sprintf("depends_on_groups[%d]", slices.Index(g.DependsOn, cycle[1])), invalid.Cycle, "%s",
			describeCycle(cycle)))
	}
	return errs
}

func (g Group) wrong(attribute string, code invalid.Code, format string, args ...any) invalid.Error {
	return invalid.Error{Object: "group", Name: g.Name, Attribute: attribute, Code: code,
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
