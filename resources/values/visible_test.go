package values

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// complaining is a framework whose diagnostics quote what a server wrote.
type complaining struct{ Server }

func complaint() []*tfprotov6.Diagnostic {
	return []*tfprotov6.Diagnostic{{Summary: "the journal\x1b]0;owned\a", Detail: "FATAL: \x1b[2J\u009b31m\u202ego\nnext line"}}
}

func (complaining) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{Diagnostics: complaint()}, nil
}

func (complaining) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{Diagnostics: complaint()}, nil
}

func (complaining) UpgradeResourceState(context.Context, *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return &tfprotov6.UpgradeResourceStateResponse{Diagnostics: complaint()}, nil
}

func (complaining) ReadResource(context.Context, *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{Diagnostics: complaint()}, nil
}

func (complaining) PlanResourceChange(context.Context, *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return &tfprotov6.PlanResourceChangeResponse{Diagnostics: complaint()}, nil
}

func (complaining) ApplyResourceChange(context.Context, *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return &tfprotov6.ApplyResourceChangeResponse{Diagnostics: complaint()}, nil
}

func (complaining) ImportResourceState(context.Context, *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	return &tfprotov6.ImportResourceStateResponse{Diagnostics: complaint()}, nil
}

func (complaining) ReadDataSource(context.Context, *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	return &tfprotov6.ReadDataSourceResponse{Diagnostics: complaint()}, nil
}

// TestNoDiagnosticActsOnATerminal: whatever a database, a Temporal server or a node made of an error, Terraform prints
// text.
func TestNoDiagnosticActsOnATerminal(t *testing.T) {
	s := &server{Server: complaining{}}
	ctx := t.Context()
	for call, diagnostics := range map[string]func() ([]*tfprotov6.Diagnostic, error){
		"configure": func() ([]*tfprotov6.Diagnostic, error) {
			r, err := s.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{})
			return r.Diagnostics, err
		},
		"validate": func() ([]*tfprotov6.Diagnostic, error) {
			r, err := s.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{})
			return r.Diagnostics, err
		},
		"upgrade": func() ([]*tfprotov6.Diagnostic, error) {
			r, err := s.UpgradeResourceState(ctx, &tfprotov6.UpgradeResourceStateRequest{Version: 1, RawState: &tfprotov6.RawState{JSON: []byte("{}")}})
			return r.Diagnostics, err
		},
		"read": func() ([]*tfprotov6.Diagnostic, error) {
			r, err := s.ReadResource(ctx, &tfprotov6.ReadResourceRequest{})
			return r.Diagnostics, err
		},
		"plan": func() ([]*tfprotov6.Diagnostic, error) {
			r, err := s.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{})
			return r.Diagnostics, err
		},
		"apply": func() ([]*tfprotov6.Diagnostic, error) {
			r, err := s.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{})
			return r.Diagnostics, err
		},
		"import": func() ([]*tfprotov6.Diagnostic, error) {
			r, err := s.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{})
			return r.Diagnostics, err
		},
		"data source": func() ([]*tfprotov6.Diagnostic, error) {
			r, err := s.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{})
			return r.Diagnostics, err
		},
	} {
		t.Run(call, func(t *testing.T) {
			found, err := diagnostics()
			if err != nil || len(found) != 1 {
				t.Fatalf("%d diagnostics, error %v", len(found), err)
			}
			if text := found[0].Summary + found[0].Detail; strings.ContainsAny(text, "\x1b\a\u009b\u202e") || !strings.Contains(text, "go\nnext line") {
				t.Errorf("it says %q", text)
			}
		})
	}
}

// TestWarningsOfOneSummaryAreOne: Terraform prints the first of several warnings with one summary and says "and 2 more".
func TestWarningsOfOneSummaryAreOne(t *testing.T) {
	warning, failure := tfprotov6.DiagnosticSeverityWarning, tfprotov6.DiagnosticSeverityError
	diagnostics := []*tfprotov6.Diagnostic{
		{Severity: warning, Summary: "Old", Detail: "a is old."},
		{Severity: failure, Summary: "Wrong", Detail: "a is wrong."},
		{Severity: warning, Summary: "New", Detail: "b is new."},
		{Severity: failure, Summary: "Wrong", Detail: "c is wrong."},
		{Severity: warning, Summary: "Old", Detail: "d is old."},
	}
	visible(&diagnostics)
	var shown []string
	for _, d := range diagnostics {
		shown = append(shown, d.Summary+": "+d.Detail)
	}
	expected := []string{"Old: a is old.\n\nd is old.", "Wrong: a is wrong.", "New: b is new.", "Wrong: c is wrong."}
	if !slices.Equal(shown, expected) {
		t.Errorf("%q are shown, not %q", shown, expected)
	}
}
