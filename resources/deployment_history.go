package resources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// history records what became of services since it was asked last.
func (r *activeRun) history(ctx context.Context, t *services.Transition) diag.Diagnostics {
	versions, events := t.Versions(), t.Events()
	diags := r.recordServices(ctx, versions[r.versions:], events[r.events:])
	r.versions, r.events = len(versions), len(events)
	return diags
}

func (r *activeRun) recordServices(ctx context.Context, versions []services.Version, events []services.Event) (diags diag.Diagnostics) {
	records := make([]journal.ServiceVersion, len(versions))
	for i, v := range versions {
		records[i] = recordOf(v)
	}
	lines := make([]journal.ServiceEvent, len(events))
	for i, e := range events {
		lines[i] = journal.ServiceEvent{
			Service: e.Service, Incarnation: e.Incarnation, Version: e.Version, DesiredVersion: e.DesiredVersion, Time: e.At, Source: e.Source, Destination: e.Destination,
			Type: string(e.Type), Message: e.Message, Ignored: e.Step == lifecycle.Ignored, Correlation: e.Correlation, Severity: int(e.Severity), IsError: e.Error,
		}
	}
	err := r.writer.RecordServices(ctx, records, lines)
	switch {
	case errors.Is(err, journal.ErrFenced):
		diags.AddError("The run was stopped", err.Error())
	case err != nil:
		diags.AddWarning("The history of services is not complete", err.Error()+"\n\nThis costs history only: what the services are is in the state.")
	}
	return diags
}

// recordOf is a version of a service for the journal.
func recordOf(v services.Version) journal.ServiceVersion {
	out := journal.ServiceVersion{
		Service: v.ID, Incarnation: v.Incarnation, Version: v.Version, DesiredVersion: v.DesiredVersion, ID: v.ID, Entity: v.Entity.Name, EntityVersion: v.EntityVersion,
		EntityDigest: v.Definition(), Lifecycle: v.Lifecycle, State: v.State, Label: string(v.Label), Deleted: v.Deleted, TransferContext: string(v.Cause), Config: v.Config, Time: v.Updated,
	}
	out.Candidate, out.Active, out.Rollback, out.Redacted = v.Redacted()
	if a, ok := v.Entity.Attribute(v.Entity.Identity); ok && !a.Sensitive {
		if value, ok := v.Base()[a.Name]; ok {
			out.Identity = fmt.Sprint(value)
		}
	}
	return out
}

// seen returns the services of a site as the journal has them; none when there is no journal.
func (d *Deployment) seen(ctx context.Context, siteName string) ([]services.JournalRecord, error) {
	store, err := journal.OpenExisting(ctx, journal.File(d.provider.JournalDirectory, siteName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }() // it was only read
	versions, err := store.Services(ctx, false)
	if err != nil {
		return nil, err
	}
	out := make([]services.JournalRecord, len(versions))
	for i, v := range versions {
		out[i] = services.JournalRecord{
			Service: v.Service, Entity: v.Entity, Incarnation: v.Incarnation, Version: v.Version, DesiredVersion: v.DesiredVersion, State: v.State, Deleted: v.Deleted, Config: v.Config, Definition: v.EntityDigest,
			Candidate: v.Candidate, Active: v.Active, Rollback: v.Rollback, Omitted: v.Redacted, Updated: v.Time,
		}
	}
	return out, nil
}
