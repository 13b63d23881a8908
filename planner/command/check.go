package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// statusDrift is the exit status of check when it finds drift.
const statusDrift = 2

func newCheck(f *runFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Compare the nodes of a site with what is applied on them, and touch nothing",
		Long: "Compare the nodes of a site with what apply left there, and list what differs. What the files describe and is not applied yet is no drift: see plan\n" +
			"and apply.\n\n" + siteHelp + "\n\n" + stateHelp + "\n\n" +
			"Exit status: 0 everything is as it was left; 1 the files are not valid, or not every node could be checked; 2 drift,\n" +
			"or something that the last run began and did not finish.",
		Args: files,
	}
	f.add(cmd)
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := f.read(cmd, args)
		if err != nil {
			return failedCheck(err)
		}
		c, exists, err := readState(d.file, d.site.Name)
		active := ""
		if err == nil {
			active, _, err = d.adopt(cmd.Context(), &c)
		}
		switch {
		case err != nil:
		case active != "":
			err = fmt.Errorf("site %s: run %s is active; check when it has ended", d.site.Name, active)
		case c.Status == engine.Destroyed:
			err = fmt.Errorf("site %s: nothing of it is left", d.site.Name)
		case !exists || c.Status == "":
			err = fmt.Errorf("there is no state file %s with a run that ended: nothing was applied from here", d.file)
		}
		if err != nil {
			return failedCheck(err)
		}
		prior := d.prior(c)
		found, err := d.look(cmd.Context(), prior, c)
		if err != nil {
			return failedCheck(err)
		}
		if !found.Done {
			return failedCheck(errors.New("drift was not checked"))
		}
		drift := found.Differences()
		rows := make([][]string, len(drift))
		for i, d := range drift {
			line, _, _ := strings.Cut(d.Change, "\n")
			rows[i] = []string{d.Node, d.Resource, line}
		}
		switch {
		case *output == asJSON:
			err = writeJSON(d.out.w, struct {
				Site        string          `json:"site"`
				Drift       []journal.Drift `json:"drift"`
				Unreachable []string        `json:"unreachable"`
			}{d.site.Name, orEmpty(drift), orEmpty(found.Unreachable)})
		case len(rows) > 0:
			d.out.table(*output, []string{"NODE", "RESOURCE", "CHANGE"}, rows)
			err = d.out.err
		default:
			where := ""
			if n := len(found.Unreachable); n > 0 {
				where = fmt.Sprintf(" on %d of %d nodes, those that could be checked", len(d.site.Nodes)-n, len(d.site.Nodes))
			}
			d.out.printf("site %s: no drift%s\n", d.site.Name, where)
			err = d.out.err
		}
		switch {
		case err != nil:
			return failedCheck(err)
		case len(drift) > 0:
			return &statusError{statusDrift, fmt.Errorf("site %s differs from what was applied, resources: %d",
				d.site.Name, len(drift))}
		case len(found.Unreachable) > 0:
			return failedCheck(fmt.Errorf("site %s: nodes that could not be checked: %d", d.site.Name,
				len(found.Unreachable)))
		}
		return nil
	}
	return cmd
}

// failedCheck gives an error status 1: 2 says that there is drift.
func failedCheck(err error) error { return &statusError{statusFailed, err} }
