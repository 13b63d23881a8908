package datasources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// journals is the part of a data source that reads a journal: it learns from the provider where journals are.
type journals struct {
	named
	location journal.Location
}

func (j *journals) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	data, ok := configured(j.named, req, resp)
	if ok {
		j.location = data.Journals()
	}
}

// read reads what from the journal of a site. That there is none is an error only where something in it is needed.
func (j *journals) read(ctx context.Context, what string, site types.String, needed bool,
	from func(*journal.Store) error) diag.Diagnostics {
	read := func() (err error) {
		store, err := j.location.OpenExisting(ctx, site.ValueString())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		return from(store)
	}
	var diags diag.Diagnostics
	if err := read(); err != nil && (needed || !errors.Is(err, journal.ErrNoJournal)) {
		diags.AddError(what+" cannot be read", fmt.Sprintf("The journal of the site %q: %v.", site.ValueString(), err))
	}
	return diags
}
