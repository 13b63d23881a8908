package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/simulate"
)

// outcomeFlags are the flags with the outcomes of a simulated run.
type outcomeFlags struct {
	file    string
	fail    []string
	timeout []string
}

func (f *outcomeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "outcomes", "",
		"YAML file with the outcomes: phase: {node: success|failure|timeout}, the phases being prepare, deploy and health_check")
	cmd.Flags().StringArrayVar(&f.fail, "fail", nil,
		"node that fails, as NODE or NODE:prepare (it does not answer) or NODE:deploy (a task fails) or NODE:health_check; may be repeated")
	cmd.Flags().StringArrayVar(&f.timeout, "timeout", nil,
		"node that does not finish in time, as NODE (in deploy), NODE:prepare, NODE:deploy or NODE:health_check; may be repeated")
}

func (f *outcomeFlags) given() bool { return f.file != "" || len(f.fail) > 0 || len(f.timeout) > 0 }

// outcomes merges the file and the flags; flags win.
func (f *outcomeFlags) outcomes(cmd *cobra.Command, s *document.Site) (simulate.Outcomes, error) {
	nodes := make([]string, len(s.Site.Nodes))
	for i, n := range s.Site.Nodes {
		nodes[i] = n.Name
	}
	out := simulate.Outcomes{}
	if f.file != "" {
		read, err := source(cmd, f.file)
		if err != nil {
			return nil, inputError(err)
		}
		if out, err = document.ParseOutcomes(read, simulate.Scripted(), simulate.Results(), nodes); err != nil {
			return nil, inputError(err)
		}
	}
	for _, flag := range []struct {
		name   string
		values []string
		result simulate.Result
		usual  simulate.Phase // when the value names no phase
	}{{"fail", f.fail, simulate.Failure, simulate.Prepare}, {"timeout", f.timeout, simulate.Timeout, simulate.Deploy}} {
		for _, value := range flag.values {
			node, phase, named := strings.Cut(value, ":")
			if !named {
				phase = string(flag.usual)
			}
			if !slices.Contains(simulate.Scripted(), simulate.Phase(phase)) {
				return nil, inputError(fmt.Errorf("--%s %s: %q is not a phase; write prepare, deploy or health_check", flag.name,
					value, phase))
			}
			if !slices.Contains(nodes, node) {
				return nil, inputError(fmt.Errorf("--%s %s: there is no node %q%s", flag.name, value, node,
					resource.DidYouMean(node, nodes)))
			}
			out.Add(simulate.Phase(phase), node, flag.result)
		}
	}
	return out, nil
}
