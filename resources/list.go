package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	query "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// ListResources are what Terraform 1.14 can search with `terraform query`.
func ListResources() []func() query.ListResource {
	return []func() query.ListResource{func() query.ListResource { return &deploymentList{} }}
}

// deploymentList lists the sites that have a journal.
type deploymentList struct{ provider ProviderData }

func (*deploymentList) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	(&Deployment{}).Metadata(ctx, req, resp)
}

func (*deploymentList) ListResourceConfigSchema(_ context.Context, _ query.ListResourceSchemaRequest,
	resp *query.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The sites whose runs are in the journals of the provider, to be imported by their names."}
}

func (l *deploymentList) Configure(_ context.Context, req resource.ConfigureRequest,
	resp *resource.ConfigureResponse) {
	l.provider, _ = values.Shared[ProviderData]("slipway_deployment", req.ProviderData, &resp.Diagnostics)
}

// List returns each site once, by name.
func (l *deploymentList) List(ctx context.Context, req query.ListRequest, stream *query.ListResultsStream) {
	location := l.provider.Journals()
	sites, err := location.Sites(ctx)
	if err != nil && !errors.Is(err, journal.ErrNoJournal) {
		stream.Results = query.ListResultsStreamDiagnostics(diag.Diagnostics{
			diag.NewErrorDiagnostic("The sites cannot be listed", fmt.Sprintf("%s: %v.", location, err))})
		return
	}
	stream.Results = func(push func(query.ListResult) bool) {
		for i, site := range sites {
			if req.Limit > 0 && int64(i) >= req.Limit {
				return
			}
			result := req.NewListResult(ctx)
			result.DisplayName = site
			result.Diagnostics.Append(result.Identity.SetAttribute(ctx, path.Root("site"), site)...)
			if req.IncludeResource {
				result.Diagnostics.Append(result.Resource.SetAttribute(ctx, path.Root("site"), site)...)
			}
			if !push(result) {
				return
			}
		}
	}
}
