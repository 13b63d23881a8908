package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// Protect is what one plan of a deployment may take away.
type Protect struct {
	planner.Protection
	Known bool // else the limits are checked in the apply
	// Destroy says that the deployment of this site must not be destroyed, by its state; empty: it may be.
	Destroy string
	// Freeze says why nothing may be done, by its state.
	Freeze string
	// Retain says that destroying the deployment leaves nodes as they are, by its state.
	Retain bool
	// Active is the run that was active at the last refresh, by the state; empty: none was.
	Active string
}

// Check warns of what a plan takes away, and refuses it where that is more than it may. With atMost, the losses may be
// less than they seem: they are shown, and checked in the apply.
func (p Protect) Check(losses planner.Losses, atMost bool) (m Messages) {
	if !atMost && p.Known {
		m.errs(p.Protection.Check(losses))
	}
	if !losses.Empty() {
		detail := byNode(losses)
		if atMost {
			detail += "\n\nA node whose name is not known yet may be one of these. " + checkedInApply
		}
		m.warn("The plan "+losses.String(), "%s", detail)
	}
	return m
}

// CheckOther warns of what a plan takes away that gives the site another name, which is destroyed and made anew, and
// refuses it likewise.
func (p Protect) CheckOther(past State, unreachable []string) Messages {
	m := p.CheckDestroy(past, unreachable)
	if p.Known && !p.Retain {
		m.errs(p.Protection.Check(planner.Destroyed(past.Applied)))
	}
	return m
}

// CheckDestroy warns of what destroying a whole deployment undoes, or refuses it. unreachable are the nodes that did
// not answer, or that nobody could ask.
func (p Protect) CheckDestroy(past State, unreachable []string) Messages {
	m, losses := p.Refusal(), destroyed(past, unreachable)
	if !losses.Empty() && !p.Retain {
		m.warn("Destroying the deployment "+losses.Undone(), "%s", byNode(losses))
	}
	if p.Active != "" { // Terraform does not print what the refresh of a destroy says of it
		m.warn(activeBefore, "While run %s is active, a destroy waits for it when the run is a destroy, too, and is refused "+
			"otherwise. "+endActive, p.Active)
	}
	return m
}

// Refusal refuses to destroy a deployment whose state says that it is protected, or frozen.
func (p Protect) Refusal() (m Messages) {
	if p.Destroy != "" {
		m = append(m, &Message{Attribute: "protect.destroy", Summary: "The deployment is protected from being destroyed",
			Detail: fmt.Sprintf("protect.destroy is true in the state of site %q, so nothing is undone on its nodes. "+
				"When it is meant, set protect.destroy = false, apply, and destroy again.", p.Destroy)})
	}
	if p.Freeze != "" {
		m = append(m, frozen(p.Freeze, "nothing is undone on the nodes. When it is meant, take freeze away, apply, and "+
			"destroy again."))
	}
	return m
}

// Retaining warns, where a destroy leaves nodes as they are, that those which leave the site are torn down.
func (p *Planned) Retaining() (m Messages) {
	if len(p.Plan.Departed) > 0 {
		m = append(m, &Message{Warning: true, Attribute: "nodes", Summary: "Nodes that left the site are torn down",
			Detail: "on_destroy = \"retain\" keeps nodes as they are when the whole deployment is destroyed. A node that is " +
				"taken out of nodes is torn down all the same."})
	}
	return m
}

// activeBefore and endActive are of a run that is in the state: whether it still is active, only a refresh says.
const (
	activeBefore = "A run was active at the last refresh"
	endActive    = "Wait for its end, or stop it with `terraform-provider-slipway runs cancel %[1]s`."
)

// CheckReplacement says what a replacement of the whole deployment does that the provider did not ask for, or refuses
// it. creation are the steps of the creation that Terraform does not print.
func (p Protect) CheckReplacement(past State, unreachable []string, creation func() string) (m Messages) {
	if p.Active != "" {
		m.fail(activeBefore, "While run %s is active, the deployment is not replaced. "+endActive+" Then plan the replacement "+
			"again, with a refresh. An apply without it waits for the run when that was started with the same configuration.",
			p.Active)
		return m
	}
	losses := destroyed(past, unreachable)
	if losses.Empty() || p.Retain {
		return nil
	}
	limits := p.Protection
	if !p.Known {
		limits = planner.Protection{Given: true}
	}
	m = p.Refusal()
	m.errs(limits.CheckReplacement(losses))
	if !m.Failed() {
		m.warn("protect lets the deployment be replaced",
			"max_torn_down_nodes allows every node to be torn down, so a replacement by -replace or replace_triggered_by is "+
				"not refused. It first %s:\n%s\n%s", losses.Undone(), strings.Join(losses.ByNode(), "\n"), creation())
	}
	return m
}

func destroyed(past State, unreachable []string) planner.Losses {
	losses := planner.Destroyed(past.Applied)
	losses.Silent = past.Silent(unreachable)
	return losses
}

func byNode(losses planner.Losses) string { return "By node:\n" + strings.Join(losses.ByNode(), "\n") }

// Tainted explains a creation of a site that is in the state with steps, of which Terraform hides those that are equal.
func Tainted(creation string) (m Messages) {
	m.warn("The site is in the state, and is planned as a creation", "When Terraform says that the deployment is tainted, "+
		"nothing is torn down for that: the creation checks what is applied and does what is missing. After \"terraform "+
		"untaint\" the plan is an update.\n%s", creation)
	return m
}

// Renamed warns of the creation of a site that is in the state under another name. creation are its steps, where
// Terraform does not print them.
func Renamed(before, now, creation string) (m Messages) {
	if creation != "" {
		m.warn("Another site is created", "site was %q and is %q now.\n%s", before, now, creation)
	}
	return m
}

// StepsOfCreation lists the steps of the creation of a site where Terraform hides those that equal the state's: a
// creation is always run 1. Empty where Terraform prints all of them, or the site cannot be planned.
func StepsOfCreation(s site.Site, o Settings, run int64) string {
	if run != 1 {
		return ""
	}
	p, _ := Plan(nil, s, o)
	if p == nil {
		return ""
	}
	return "\nThe steps of the creation:\n\n  " + strings.Join(Numbered(1, p.Lines()), "\n  ") + "\n"
}

// givenUp is what nodes of a failed creation are that are not in the configuration any more.
const givenUp = "given up"

// Unfinished says after a creation that failed how the nodes stand and what is left, and explains the plan that
// follows. prior and was are the site as the state has it, with the nodes that were given up.
func (s Shown) Unfinished(prior Prior, was site.Site, o Settings) (m Messages) {
	byStage := map[string][]string{}
	var unknown []string
	applied, nodes := maps.Clone(prior.State.Applied), was.Nodes
	was.Nodes = nil
	for _, n := range nodes {
		stage, wanted := s.Nodes[n.Name]
		if wanted {
			was.Nodes = append(was.Nodes, n)
		} else {
			stage = givenUp
			delete(applied, n.Name)
		}
		byStage[stage] = append(byStage[stage], n.Name)
		failed := stage == string(strategy.Failed) || slices.Contains(s.Unreachable, n.Name)
		if wanted && failed && (len(applied[n.Name]) == 0 || applied.Unread(n.Name)) {
			unknown = append(unknown, n.Name)
		}
	}
	prior.State.Applied = applied
	var stand strings.Builder
	for _, stage := range slices.Sorted(maps.Keys(byStage)) {
		are := "nodes are"
		if len(byStage[stage]) == 1 {
			are = "node is"
		}
		fmt.Fprintf(&stand, "%d %s %s (%s).\n", len(byStage[stage]), are, stage, namesOf(byStage[stage]))
	}
	if byStage[givenUp] != nil {
		stand.WriteString("A node that is given up is torn down by the plan after the creation, by the update after " +
			"\"terraform untaint\", or by a destroy.\n")
	}
	if p, _ := Plan(&prior, was, o); p != nil && len(p.Lines()) > 0 {
		stand.WriteString("\nWhat is left:\n\n" + stepsOf(p.Lines()))
	}
	if len(unknown) > 0 {
		fmt.Fprintf(&stand, "\nAll steps of these nodes count as left, because nothing is known to be applied there: %s.\n",
			namesOf(unknown))
	}
	m.warn("The creation of the site did not finish", "%s", stand.String()+
		"\nAn apply continues the creation, a destroy tears the site down. Nothing is torn down where Terraform says that "+
		"the deployment is tainted and must be replaced. Such a plan shows the whole creation; \"terraform untaint\" makes "+
		"it an update, whose own warnings say what it tears down."+
		"\n\nLeave site as it is until the creation has finished: under another name a new site begins, and what is applied "+
		"stays on the nodes as it is; after \"terraform untaint\" the old site is torn down first.")
	return m
}

// ReachedOtherwise warns of nodes that could not be checked and that the apply reaches through another connection.
func (p *Planned) ReachedOtherwise() (m Messages) {
	before := make(map[string]site.Node, len(p.Before))
	for _, n := range p.Before {
		before[n.Name] = n
	}
	var lines []string
	for _, n := range p.Site.Nodes {
		old, known := before[n.Name]
		if !known || !slices.Contains(p.silent, n.Name) || ReachedAlike(old, n) {
			continue
		}
		was := ", was " + way(old)
		if way(n) == way(old) {
			was = ", with other settings"
		}
		lines = append(lines, n.Name+": "+way(n)+was)
	}
	if len(lines) > 0 {
		m.warn(fmt.Sprintf("Nodes that could not be checked are reached otherwise: %d", len(lines)),
			"Their connections were changed since the last apply. The plan counts on the nodes being as they were left; "+
				"the apply and the next refresh use the new connections.\n%s", strings.Join(FirstLines(lines), "\n"))
	}
	return m
}

// ReachedAlike reports whether two nodes are reached in the same way.
func ReachedAlike(a, b site.Node) bool {
	a.Connection.Names, b.Connection.Names = nil, nil
	return a.Address == b.Address && reflect.DeepEqual(a.Connection, b.Connection)
}

// way says how a node is reached, without any secret.
func way(n site.Node) string {
	if c := n.Connection; c.Transport != "local" && c.User != "" {
		return c.User + "@" + n.Place()
	}
	return n.Place()
}
