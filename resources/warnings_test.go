package resources_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// warnings collects what the provider warns of: terraform-plugin-testing shows errors only.
type warnings struct {
	mu    sync.Mutex
	given []string
}

// factories are those of the tests, with every warning noted that a refresh, a plan or an apply gives.
func (w *warnings) factories() map[string]func() (tfprotov6.ProviderServer, error) {
	plain := factories()["slipway"]
	return map[string]func() (tfprotov6.ProviderServer, error){"slipway": func() (tfprotov6.ProviderServer, error) {
		server, err := plain()
		return warningServer{server, w}, err
	}}
}

// run executes the steps, and shows their warnings to its checks.
func (w *warnings) run(t *testing.T, steps []resource.TestStep, after ...resource.TestCheckFunc) {
	t.Helper()
	resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: w.factories(), Steps: steps, CheckDestroy: resource.ComposeTestCheckFunc(after...)})
}

// take returns the warnings since the last call, and forgets them.
func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.given, "\n")
	w.given = nil
	return all
}

// say is a check that the warnings since the last one match a pattern.
func (w *warnings) say(pattern string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if all := w.take(); !regexp.MustCompile(pattern).MatchString(all) {
			return fmt.Errorf("no warning says %q:\n%s", pattern, all)
		}
		return nil
	}
}

// lack is a check that no warning since the last one matches a pattern.
func (w *warnings) lack(pattern string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if all := w.take(); regexp.MustCompile(pattern).MatchString(all) {
			return fmt.Errorf("a warning says %q:\n%s", pattern, all)
		}
		return nil
	}
}

func (w *warnings) note(diagnostics []*tfprotov6.Diagnostic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityWarning {
			w.given = append(w.given, d.Summary+"\n"+d.Detail)
		}
	}
}

type warningServer struct {
	tfprotov6.ProviderServer
	warnings *warnings
}

func (s warningServer) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	resp, err := s.ProviderServer.ReadResource(ctx, req)
	if resp != nil {
		s.warnings.note(resp.Diagnostics)
	}
	return resp, err
}

func (s warningServer) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := s.ProviderServer.PlanResourceChange(ctx, req)
	if resp != nil {
		s.warnings.note(resp.Diagnostics)
	}
	return resp, err
}

func (s warningServer) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp, err := s.ProviderServer.ApplyResourceChange(ctx, req)
	if resp != nil {
		s.warnings.note(resp.Diagnostics)
	}
	return resp, err
}
