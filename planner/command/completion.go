package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Bounds of what a shell is offered while a person waits for it.
const (
	completionTime = 3 * time.Second
	completionRuns = 50
)

// offer is the completion of a first argument or a flag by what the journals hold. It offers nothing where they cannot
// be read: the command itself says why.
func offer(list func(context.Context) ([]cobra.Completion, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		offers, err := list(ctx)
		if err != nil {
			cobra.CompErrorln(resource.Visible(err.Error()))
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for i, o := range offers {
			offers[i] = resource.Visible(o)
		}
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// sites offers the sites that have a journal.
func (f *journalFlags) sites(ctx context.Context) ([]cobra.Completion, error) {
	l, err := f.location()
	if err != nil {
		return nil, err
	}
	return l.Sites(ctx)
}

// runs offers the newest runs, with what they did and when.
func (f *journalFlags) runs(ctx context.Context) ([]cobra.Completion, error) {
	return f.runsThat(ctx, func(journal.Run) bool { return true })
}

// activeRuns offers the runs that have not ended, as runs does.
func (f *journalFlags) activeRuns(ctx context.Context) ([]cobra.Completion, error) {
	return f.runsThat(ctx, func(r journal.Run) bool { return r.Status == journal.Running })
}

func (f *journalFlags) runsThat(ctx context.Context, are func(journal.Run) bool) ([]cobra.Completion, error) {
	store, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // read only
	runs, err := store.Runs(ctx, completionRuns)
	var offers []cobra.Completion
	for _, r := range runs {
		if are(r) {
			offers = append(offers, cobra.CompletionWithDesc(r.ID, fmt.Sprintf("%s, %s, %s", r.Operation, r.Status,
				r.Started.Local().Format(time.DateTime))))
		}
	}
	return offers, err
}

// services offers the services that are not deleted, with their states.
func (f *journalFlags) services(ctx context.Context) ([]cobra.Completion, error) {
	store, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // read only
	list, err := store.Services(ctx, true)
	offers := make([]cobra.Completion, len(list))
	for i, s := range list {
		offers[i] = cobra.CompletionWithDesc(s.Service, s.Entity+", "+s.State)
	}
	return offers, err
}

// offerLifecycles offers the lifecycles that slipway brings, beside files.
func offerLifecycles(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return lifecycle.Names(document.ShippedLifecycles()), cobra.ShellCompDirectiveDefault
}

// completeFlag sets the completion of a flag that the command has.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the program is wrong: no such flag, or it has one
	}
}
