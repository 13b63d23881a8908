package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

func newPlan() *cobra.Command {
	var applied []string
	cmd := &cobra.Command{
		Use:   "plan FILE...",
		Short: "Show what a run on a site would do, and touch nothing",
		Long: "Show the steps of a run that brings a site from what is applied to what the files describe. No node is asked: what is applied is what --applied\n" +
			"describes, and nothing without it.\n\n" + siteHelp + "\n\n" +
			"Exit status: 0 planned, 2 the files are not valid or cannot be read.",
		Args: files,
	}
	output := outputFlag(cmd, asMarkdown)
	flags := &siteFlags{}
	flags.add(cmd)
	cmd.Flags().StringArrayVar(&applied, "applied", nil,
		"file that describes the site as it is applied: documents, a state, or a plan, of which the prior state counts; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := stdinOnce(args, applied...); err != nil {
			return err
		}
		s, err := parse(cmd, args, document.Options{Address: flags.address})
		if err != nil {
			return err
		}
		if !s.Inventory {
			if _, err := onlyWarnings(check(s)); err != nil {
				return err
			}
			return noNodes(args)
		}
		before, err := readApplied(cmd, applied, flags.address, s.Shown)
		if err != nil {
			return err
		}
		p, found := engine.Plan(before, s.Site, engine.Settings{Unreached: true})
		warnings, err := onlyWarnings(locate(s, found))
		if err != nil {
			return err
		}
		if m := p.Frozen(p.Lines()); m.Failed() {
			return inputError(m[0])
		}
		if m := p.Sources(); m.Failed() {
			return inputError(m[0])
		}
		note := ""
		if s.Digest != "" && s.Digest != p.Plan.Digest {
			note = otherDigest(s.Digest, len(applied) > 0, p.Services.HasChanges())
		}
		return writePlan(cmd.OutOrStdout(), *output, p, note, append(warnings, s.Warnings...))
	}
	return cmd
}

// readApplied computes what is applied on a site that was rolled out as the files describe it, and the states of its
// services. chosen means that the address selects a deployment in other files already.
func readApplied(cmd *cobra.Command, names []string, address string, chosen bool) (*engine.Prior, error) {
	if len(names) == 0 {
		return nil, checkAddress(address, chosen)
	}
	s, err := parse(cmd, names, document.Options{Address: address, Prior: true})
	if err == nil {
		err = checkAddress(address, chosen || s.Shown)
	}
	if err != nil || !s.Inventory {
		return nil, err // a plan without prior state: nothing is applied
	}
	before, found := engine.AfterFirstRun(s.Site)
	if _, err := onlyWarnings(locate(s, found)); err != nil {
		return nil, err
	}
	before.Drift = s.Drift
	return before, nil
}

// planJSON is a plan as printed with --output json. It contains no values of parameters.
type planJSON struct {
	Site         string              `json:"site"`
	Digest       string              `json:"digest"`   // SHA-256 over everything that the run does
	Steps        []string            `json:"steps"`    // services first
	Services     []serviceChangeJSON `json:"services"` // their changes, by name
	ChangedNodes []string            `json:"changed_nodes"`
	Departed     []string            `json:"departed"`          // nodes that left the site and are torn down
	Held         []planner.Hold      `json:"held,omitempty"`    // groups of which nodes wait for approval
	Waiting      []string            `json:"waiting,omitempty"` // nodes with work that the plan does not cover
	Groups       []groupJSON         `json:"groups"`            // in processing order
	Phases       []phaseJSON         `json:"phases"`            // in the order of the run
	Warnings     []errorAtJSON       `json:"warnings"`
	Note         string              `json:"note,omitempty"` // Terraform planned another run for this plan file
}

type serviceChangeJSON struct {
	Service    string   `json:"service"`
	Change     string   `json:"change"`               // create, update, replace, delete or request
	From       string   `json:"from,omitempty"`       // state before; a new service has none
	To         string   `json:"to"`                   // state in which it is deployed
	Version    int      `json:"version"`              // in that state
	Attributes []string `json:"attributes,omitempty"` // that an update changes
}

type groupJSON struct {
	Name        string     `json:"name"`
	Critical    bool       `json:"critical"`
	Members     []string   `json:"members"` // all nodes that its selectors match
	Owned       []string   `json:"owned"`   // the members that are in no earlier group
	MaxParallel int        `json:"max_parallel,omitempty"`
	Unlocked    []string   `json:"unlocked,omitempty"`
	Batches     [][]string `json:"batches,omitempty"` // the nodes of each, in the order of the run
	Pauses      []int      `json:"pauses,omitempty"`  // the batches, from 1, after which the run waits for approval
	After       []string   `json:"after,omitempty"`   // groups that come first, never at the same time, because of tasks
}

type phaseJSON struct {
	TaskGroup string     `json:"task_group"`
	Group     string     `json:"group,omitempty"`
	Tasks     []taskJSON `json:"tasks"`
}

type taskJSON struct {
	Node      string   `json:"node"`
	Action    string   `json:"action"`
	Resource  string   `json:"resource,omitempty"` // type[title]
	Service   string   `json:"service,omitempty"`
	Shared    []string `json:"shared_with,omitempty"` // the other services that bring it
	Guard     bool     `json:"guard,omitempty"`       // the change is put back unless the node can be reached anew after it
	Overrides []string `json:"overrides,omitempty"`   // those that changed or created the resource
}

func describePlan(made *engine.Planned, note string, warnings invalid.Errors) planJSON {
	p := made.Plan
	out := planJSON{Site: p.Site, Digest: p.Digest, Steps: orEmpty(made.Steps()), Services: []serviceChangeJSON{},
		ChangedNodes: orEmpty(p.ChangedNodes()), Departed: orEmpty(p.Departed), Groups: []groupJSON{},
		Phases: []phaseJSON{}, Warnings: errorsJSON(warnings), Note: note, Held: p.Held, Waiting: p.Waiting}
	for _, c := range made.Services.Changes() {
		out.Services = append(out.Services, serviceChangeJSON{c.Service, string(c.Kind), c.From, c.To, c.Version,
			c.Attributes})
	}
	for _, g := range p.Groups {
		out.Groups = append(out.Groups, groupJSON{g.Name, g.Critical, orEmpty(g.Members), orEmpty(g.Owned),
			g.MaxParallel, g.Unlocked, g.Batches, g.Pauses, g.After})
	}
	for _, phase := range p.Phases {
		j := phaseJSON{TaskGroup: string(phase.TaskGroup), Group: phase.Group, Tasks: []taskJSON{}}
		for _, t := range phase.Tasks {
			about := taskJSON{Node: t.Node, Action: string(t.Action), Service: t.Service, Shared: t.Shared,
				Overrides: t.Override}
			if t.Resource.Type != "" {
				about.Guard = t.Resource.Guard() && t.Action != task.Refresh
				about.Resource = string(t.Resource.ID())
			}
			j.Tasks = append(j.Tasks, about)
		}
		out.Phases = append(out.Phases, j)
	}
	return out
}

// otherDigest returns the note that Terraform planned another run for the same plan file.
func otherDigest(digest string, appliedGiven, services bool) string {
	note := fmt.Sprintf("Terraform planned another run (digest %s), because it knows what is on the nodes", digest)
	switch {
	case appliedGiven && services:
		return note + " and the history of services: not all of what --applied describes, or services have other versions"
	case appliedGiven:
		return note + ": not all of what --applied describes"
	}
	return note + "; give the plan with --applied, too, to start from its prior state"
}

func writePlan(out io.Writer, f format, made *engine.Planned, note string, warnings invalid.Errors) error {
	w, p := &printer{w: out}, made.Plan
	switch f {
	case asJSON:
		return writeJSON(out, describePlan(made, note, warnings))
	case asMarkdown:
		w.printf("# Plan of site %s\n\n", f.escape(p.Site))
	default:
		w.printf("site %s\ndigest %s\n\n", p.Site, p.Digest)
	}
	if made.Empty() {
		w.printf("nothing to do\n")
	}
	serviceSteps := made.Services.Steps()
	for _, step := range serviceSteps {
		if f == asMarkdown {
			step = "- " + f.escape(step)
		}
		w.printf("%s\n", step)
	}
	if f == asMarkdown && len(serviceSteps) > 0 {
		w.printf("\n")
	}
	for _, step := range p.Steps() {
		w.printf("%s\n", f.escape(step))
	}
	w.printf("\n")
	separator := " "
	if f == asMarkdown {
		separator = ", "
	}
	rows := make([][]string, len(p.Groups))
	for i, g := range p.Groups {
		rows[i] = []string{g.Name, yesNo(g.Critical), fmt.Sprint(len(g.Members)), shortList(g.Members, separator)}
	}
	w.table(f, []string{"GROUP", "CRITICAL", "NODES", "MEMBERS"}, rows)
	if f == asMarkdown {
		w.printf("\nDigest: `%s`\n", p.Digest)
	}
	warn(w, warnings, f)
	if note != "" {
		w.printf("\n%s\n", note)
	}
	return w.err
}
