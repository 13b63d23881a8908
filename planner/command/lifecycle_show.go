package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// lifecycleSummaryJSON is a lifecycle as lists of them show it with --output json.
type lifecycleSummaryJSON struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	States      int      `json:"states"`
	Transfers   int      `json:"transfers"`
	Gates       []string `json:"gates"`
}

func summaries(all []*lifecycle.Machine) []lifecycleSummaryJSON {
	out := make([]lifecycleSummaryJSON, len(all))
	for i, m := range all {
		l := m.Lifecycle()
		out[i] = lifecycleSummaryJSON{l.Name, l.Description, len(l.States), len(l.Transfers), orEmpty(m.Gates())}
	}
	return out
}

// lifecycleJSON is a lifecycle as show prints it with --output json: the keys are those of documents, states and
// transfers are lists.
type lifecycleJSON struct {
	lifecycle.Lifecycle
	Gates []string `json:"gates"`
}

func writeLifecycle(cmd *cobra.Command, f format, m *lifecycle.Machine) error {
	p := &printer{w: cmd.OutOrStdout()}
	l := m.Lifecycle()
	switch f {
	case asJSON:
		return writeJSON(p.w, lifecycleJSON{l, orEmpty(m.Gates())})
	case asMarkdown:
		p.printf("# Lifecycle %s\n\n", f.escape(l.Name))
	default:
		p.printf("lifecycle %s\n", l.Name)
	}
	if l.Description != "" {
		p.printf("%s\n", f.escape(l.Description))
	}
	p.printf("%s\n", f.escape("starts in "+strings.Join(m.Initial(), ", or when asked in ")))
	if gates := m.Gates(); len(gates) > 0 {
		for i, g := range gates {
			if g == lifecycle.AutoRollback {
				gates[i] += " (open with rollback_on_failure)"
			}
		}
		if f == asMarkdown {
			p.printf("\n")
		}
		p.printf("%s\n", f.escape("gates: "+strings.Join(gates, ", ")))
	}
	p.printf("\n")
	var rows [][]string
	for _, s := range l.States {
		role := s.Role(true)
		rows = append(rows, []string{s.Name, orDash(string(s.Label)), deploys(s), orDash(string(role.Self)),
			orDash(string(role.Others))})
	}
	p.table(f, []string{"STATE", "LABEL", "DEPLOYED", "VALIDATED WITH", "OTHERS SEE"}, rows)
	p.printf("\n")
	rows = nil
	for _, t := range l.Transfers {
		trigger := string(t.Trigger)
		if t.Validate {
			trigger += ", validated"
		}
		failure := orDash(t.Error)
		if t.Error != "" {
			failure = end(t.Error, t.ErrorOperation, t.ErrorPreserves)
		}
		rows = append(rows, []string{t.Source, trigger, end(t.Target, t.Operation, t.Preserves), failure,
			orDash(t.Config)})
	}
	p.table(f, []string{"FROM", "TRIGGER", "TO", "ON FAILURE", "GATE"}, rows)
	return p.err
}

// deploys describes what is on the nodes of a service in a state.
func deploys(s lifecycle.State) string {
	with, without := s.Role(true), s.Role(false)
	switch {
	case s.Deleted:
		return "deleted"
	case with.Export && s.Purge:
		return "is removed"
	case with.Export != without.Export:
		return "if it was before"
	}
	return yesNo(with.Export)
}

// end describes the target of a transfer and what the transfer does to the attribute sets.
func end(state string, op lifecycle.Operation, same bool) string {
	var notes []string
	if op != lifecycle.NoOperation {
		notes = append(notes, string(op))
	}
	if same {
		notes = append(notes, "same")
	}
	if len(notes) == 0 {
		return state
	}
	return fmt.Sprintf("%s (%s)", state, strings.Join(notes, ", "))
}
