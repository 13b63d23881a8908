package datasources

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"

	"github.com/slipway/terraform-provider-slipway/resources"
)

// journals is the part of a data source that reads a journal: it learns from the provider where journals are.
type journals struct {
	of        string // name of the data source, for errors
	directory string // of the journals
}

func (j *journals) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	if req.ProviderData == nil {
		return
	}
	data, ok := req.ProviderData.(resources.ProviderData)
	if !ok {
		resp.Diagnostics.AddError("Provider is not configured",
			fmt.Sprintf("%s got %T from the provider. This is a defect of slipway; please report it.", j.of, req.ProviderData))
		return
	}
	j.directory = data.JournalDirectory
}
