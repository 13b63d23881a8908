package command

import (
	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

func newGraph() *cobra.Command {
	var simulated bool
	cmd := &cobra.Command{
		Use:   "graph FILE...",
		Short: "Draw the groups of a site and their dependencies",
		Long: "Draw the groups of a site and their dependencies, with criticality and number of nodes; arrows lead from a group to those that wait for it. With\n" +
			"--simulate, --outcomes, --fail or --timeout the picture shows how a simulated run leaves the groups.\n\n" +
			siteHelp + "\n\n" +
			"Exit status: 0 drawn, 2 the files are not valid or cannot be read.",
		Args: files,
	}
	flags, script := &siteFlags{}, &outcomeFlags{}
	flags.add(cmd)
	script.add(cmd)
	output := pictureFlag(cmd)
	cmd.Flags().BoolVar(&simulated, "simulate", false, "show how a simulated run leaves the groups")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := stdinOnce(args, script.file); err != nil {
			return err
		}
		read := valid
		if simulated = simulated || script.given(); simulated {
			read = withNodes
		}
		s, warnings, err := read(cmd, args, document.Options{Address: flags.address})
		if err != nil {
			return err
		}
		var report strategy.Report
		if simulated {
			run, err := runSimulation(cmd, s, script)
			if err != nil {
				return err
			}
			report = run.Report
		}
		groups, err := pictureOfGroups(s.Site, s.Inventory, report)
		if err != nil {
			return inputError(err)
		}
		return printedAlone(cmd, groups.draw(*output), warnings)
	}
	return cmd
}
