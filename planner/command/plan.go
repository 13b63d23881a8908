package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/document"
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
	cmd.Flags().StringArrayVar(&applied, "applied", nil, "file that describes the site as it is applied: documents, a state, or a plan, of which the prior state counts; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, _, err := withNodes(cmd, args, document.Options{Address: flags.address})
		if err != nil {
			return err
		}
		was, drift, err := readApplied(cmd, applied, flags.address)
		if err != nil {
			return err
		}
		p, found := planner.Make(s.Site, was, drift)
		errs, warnings := split(locate(s, found))
		if len(errs) > 0 {
			return bad(errs)
		}
		note := ""
		if s.Digest != "" && s.Digest != p.Digest {
			note = otherDigest(s.Digest, len(applied) > 0)
		}
		return writePlan(cmd.OutOrStdout(), *output, p, note, warnings)
	}
	return cmd
}

// readApplied works out what is on the nodes of a site that was rolled out as the files describe it.
func readApplied(cmd *cobra.Command, names []string, address string) (planner.Applied, planner.Drift, error) {
	if len(names) == 0 {
		return nil, nil, nil
	}
	s, err := parse(cmd, names, document.Options{Address: address, Prior: true})
	if err != nil || !s.Inventory {
		return nil, nil, err // a plan without prior state: nothing is applied
	}
	applied, found := planner.Settled(s.Site)
	if errs, _ := split(locate(s, found)); len(errs) > 0 {
		return nil, nil, bad(errs)
	}
	return applied, s.Drift, nil
}

// planJSON is a plan as it is printed with --output json. It never holds the value of a parameter.
type planJSON struct {
	Site         string        `json:"site"`
	Digest       string        `json:"digest"` // SHA-256 over everything that the run does
	Steps        []string      `json:"steps"`
	ChangedNodes []string      `json:"changed_nodes"`
	Departed     []string      `json:"departed"` // nodes that left the site and are torn down
	Groups       []groupJSON   `json:"groups"`   // in processing order
	Phases       []phaseJSON   `json:"phases"`   // in the order of the run
	Warnings     []problemJSON `json:"warnings"`
	Note         string        `json:"note,omitempty"` // Terraform planned another run for this plan file
}

type groupJSON struct {
	Name        string   `json:"name"`
	Critical    bool     `json:"critical"`
	Members     []string `json:"members"` // all nodes that its selectors give
	Owned       []string `json:"owned"`   // the members that it is the first group to hold
	MaxParallel int      `json:"max_parallel,omitempty"`
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
	Overrides []string `json:"overrides,omitempty"` // those that changed or made the resource
}

func describePlan(p *planner.Plan, note string, warnings document.Problems) planJSON {
	out := planJSON{Site: p.Site, Digest: p.Digest, Steps: p.Steps(), ChangedNodes: orNone(p.ChangedNodes()), Departed: orNone(p.Departed),
		Groups: []groupJSON{}, Phases: []phaseJSON{}, Warnings: problemsJSON(warnings), Note: note}
	for _, g := range p.Groups {
		out.Groups = append(out.Groups, groupJSON{g.Name, g.Critical, orNone(g.Members), orNone(g.Owned), g.MaxParallel})
	}
	for _, phase := range p.Phases {
		j := phaseJSON{TaskGroup: string(phase.TaskGroup), Group: phase.Group, Tasks: []taskJSON{}}
		for _, t := range phase.Tasks {
			about := taskJSON{Node: t.Node, Action: string(t.Action), Service: t.Service, Overrides: t.Override}
			if t.Resource.Type != "" {
				about.Resource = string(t.Resource.ID())
			}
			j.Tasks = append(j.Tasks, about)
		}
		out.Phases = append(out.Phases, j)
	}
	return out
}

// orNone makes a list that JSON shows as [] and not as null.
func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// otherDigest tells that Terraform planned another run for the same plan file.
func otherDigest(digest string, appliedGiven bool) string {
	told := fmt.Sprintf("Terraform planned another run (digest %s), because it knows what is on the nodes", digest)
	if appliedGiven {
		return told + ": not all of what --applied describes"
	}
	return told + "; give the plan with --applied, too, to start from its prior state"
}

func writePlan(out io.Writer, f format, p *planner.Plan, note string, warnings document.Problems) error {
	w := &printer{w: out}
	switch f {
	case asJSON:
		return writeJSON(out, describePlan(p, note, warnings))
	case asMarkdown:
		w.printf("# Plan of site %s\n\n", markdownText(p.Site))
	default:
		w.printf("site %s\ndigest %s\n\n", p.Site, p.Digest)
	}
	if p.Empty() {
		w.printf("nothing to do\n")
	}
	for _, step := range p.Steps() {
		if f == asMarkdown {
			step = markdownText(step)
		}
		w.printf("%s\n", step)
	}
	w.printf("\n")
	if f == asMarkdown {
		w.printf("| group | critical | nodes | members |\n|---|---|---|---|\n")
		for _, g := range p.Groups {
			w.printf("| %s | %s | %d | %s |\n", markdownText(g.Name), yesNo(g.Critical), len(g.Members), markdownText(shortList(g.Members, ", ")))
		}
		w.printf("\nDigest: `%s`\n", p.Digest)
	} else {
		rows := make([][]string, len(p.Groups))
		for i, g := range p.Groups {
			rows[i] = []string{g.Name, yesNo(g.Critical), fmt.Sprint(len(g.Members)), shortList(g.Members, " ")}
		}
		w.rows("GROUP\tCRITICAL\tNODES\tMEMBERS", rows)
	}
	warn(w, warnings, f)
	if note != "" {
		w.printf("\n%s\n", note)
	}
	return w.err
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
