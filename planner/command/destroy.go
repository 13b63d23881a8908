package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

func newDestroy(f *runFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "destroy FILE...",
		Short: "Undo on the nodes of a site what apply did there",
		Long: "List what is undone on each node of a site, ask, and undo it: what slipway did, and nothing else. The state file goes with the last node.\n\n" +
			siteHelp + "\n\n" + stateHelp + "\n\n" +
			"Exit status: 0 nothing of the site is left; 1 something is left, or it was not confirmed; 2 the files are not valid.",
		Args: files,
	}
	f.add(cmd)
	f.confirmation(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		d, err := f.read(cmd, args)
		if err != nil {
			return err
		}
		state, err := openState(d.file, d.site.Name, "destroy")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, state.close()) }()
		if !state.exists {
			return inputError(fmt.Errorf("there is no state file %s: nothing was applied from here. When it is lost, "+
				"run apply --take-over, which finds in the ledgers of the nodes what is applied", d.file))
		}
		return d.destroy(cmd.Context(), state)
	}
	return cmd
}

func (d *deployment) destroy(ctx context.Context, state *stateFile) error {
	if err := d.takeOverRun(ctx, state); err != nil {
		return err
	}
	if !state.exists {
		d.out.printf("site %s: nothing of it is left\n", d.site.Name)
		return d.out.err
	}
	prior := d.prior(state.stateContent)
	if prior == nil { // a first run was killed: its nodes are those of the documents
		prior = &engine.Prior{Nodes: d.site.Nodes}
	}
	m := (engine.Protect{Freeze: d.site.Freeze}).Refusal()
	if m = append(m, d.engine.Handed(nil, d.connection)...); m.Failed() {
		return inputError(m[0])
	}
	losses := planner.Destroyed(prior.State.Applied)
	losses.Silent = prior.State.Silent(prior.Unreachable)
	if losses.Empty() {
		d.out.printf("site %s: nothing is known to be applied\n", d.site.Name)
	} else {
		d.out.printf("destroying site %s %s\n\n%s\n", d.site.Name, losses.Undone(), strings.Join(losses.ByNode(), "\n"))
	}
	if err := d.confirmed("Undo all of it?"); err != nil {
		return err
	}
	model, err := d.model(state.stateContent)
	if err != nil {
		return err
	}
	out := d.engine.Destroy(ctx, d.site.Name, *prior,
		engine.Run{Settings: d.settings(state.stateContent), Parallelism: d.parallelism, Model: model})
	if err := d.print(out.Messages); err != nil && out.Status == "" {
		return err
	}
	if d.engine.Handing != nil {
		state.Run = out.Run
	}
	d.out.printf("\n%s", out.Report)
	if out.Status != engine.Destroyed {
		state.State, state.Unreachable, state.Status = out.State, out.Unreachable, engine.Failed
		state.Nodes = prior.Nodes
		hint := ""
		if len(out.Lost) > 0 {
			hint = fmt.Sprintf("; nodes that answered until now do not answer any more: %s. Those that are gone for good are "+
				"forgotten by the next destroy, when they do not answer then either",
				strings.Join(engine.FirstLines(out.Lost), ", "))
		}
		return errors.Join(fmt.Errorf("site %s: not everything was undone; fix the cause and destroy again%s",
			d.site.Name, hint), state.save(d.version))
	}
	if len(out.Unreachable) > 0 {
		d.out.printf("\nwarning: nodes that did not answer are forgotten: what was applied there stays, "+
			"with its ledger in /var/lib/slipway: %s\n",
			strings.Join(engine.FirstLines(out.Unreachable), ", "))
	}
	if err := errors.Join(state.remove(), d.out.err); err != nil {
		return err
	}
	if err := d.print(out.Messages); err != nil {
		return err
	}
	return d.out.err
}
