package resources_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// invoke runs an action and returns what it printed, and its errors.
func (p *planning) invoke(name string, config map[string]tftypes.Value) (printed, errs string) {
	p.t.Helper()
	server := p.server.(tfprotov6.ActionServer)
	schemas, err := p.server.GetProviderSchema(p.t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	typ := schemas.ActionSchemas[name].Schema.ValueType().(tftypes.Object)
	given := map[string]tftypes.Value{}
	for attribute, t := range typ.AttributeTypes {
		if given[attribute] = config[attribute]; config[attribute].Type() == nil {
			given[attribute] = tftypes.NewValue(t, nil)
		}
	}
	value, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, given))
	if err != nil {
		p.t.Fatal(err)
	}
	found := func(diagnostics []*tfprotov6.Diagnostic) {
		for _, d := range diagnostics {
			errs += d.Summary + ": " + d.Detail + "\n"
		}
	}
	valid, err := server.ValidateActionConfig(p.t.Context(), &tfprotov6.ValidateActionConfigRequest{ActionType: name, Config: &value})
	if err != nil {
		p.t.Fatal(err)
	}
	if found(valid.Diagnostics); errs != "" {
		return "", errs
	}
	planned, err := server.PlanAction(p.t.Context(), &tfprotov6.PlanActionRequest{ActionType: name, Config: &value})
	if err != nil {
		p.t.Fatal(err)
	}
	found(planned.Diagnostics)
	stream, err := server.InvokeAction(p.t.Context(), &tfprotov6.InvokeActionRequest{ActionType: name, Config: &value})
	if err != nil {
		p.t.Fatal(err)
	}
	for e := range stream.Events {
		switch e := e.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			printed += e.Message + "\n"
		case tfprotov6.CompletedInvokeActionEventType:
			found(e.Diagnostics)
		}
	}
	return printed, errs
}

// Terraform 1.14 calls actions, and searches with list resources. The versions here know neither, so this talks the
// protocol.
func TestActions(t *testing.T) {
	p := newPlanning(t)
	journals := p.mayApply()
	folder := t.TempDir()
	node := func(name string) any {
		if err := os.MkdirAll(filepath.Join(folder, name, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"name": name, "connect": map[string]any{"transport": "local", "root": filepath.Join(folder, name)}}
	}
	state := p.apply(map[string]tftypes.Value{
		"site": valueOf("lon1"), "nodes": valueOf([]any{node("a"), node("b")}),
		"services": valueOf([]any{map[string]any{"name": "s", "selectors": []any{}, "configuration": map[string]any{
			"file": map[string]any{"/etc/motd": map[string]any{"content": "hello\n"}}}}}),
	}).state
	deployment := map[string]tftypes.Value{"deployment": state}

	printed, errs := p.invoke("slipway_check", deployment)
	if printed != "site lon1: no drift on 2 nodes\n" || errs != "" {
		t.Errorf("a check of a site without drift: %q %q", printed, errs)
	}
	if err := os.WriteFile(filepath.Join(folder, "b/etc/motd"), []byte("changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, errs = p.invoke("slipway_check", deployment)
	if line := `node "b": file[/etc/motd]: content`; !strings.Contains(printed, line) || !strings.Contains(errs, line) {
		t.Errorf("a check finds drift: %q %q", printed, errs)
	}

	gone := filepath.Join(folder, "gone")
	if err := os.Rename(filepath.Join(folder, "a"), gone); err != nil {
		t.Fatal(err)
	}
	_, errs = p.invoke("slipway_check", deployment)
	for _, want := range []string{`node "b": file[/etc/motd]: content`, "Not every node could be checked: These do not answer: a."} {
		if !strings.Contains(errs, want) {
			t.Errorf("a check of a site with drift and a node that does not answer: %q, want %q", errs, want)
		}
	}
	if err := os.Rename(gone, filepath.Join(folder, "a")); err != nil {
		t.Fatal(err)
	}

	ledger := filepath.Join(folder, "a/var/lib/slipway/ledger.json")
	text, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	begun := regexp.MustCompile(`"digest": *"[0-9a-f]+"`).ReplaceAll(text, []byte(`"digest":""`))
	if err := os.WriteFile(ledger, begun, 0o600); err != nil {
		t.Fatal(err)
	}
	printed, errs = p.invoke("slipway_check", deployment)
	if line := `node "a": file[/etc/motd]: was begun and not finished`; !strings.Contains(printed, line) || !strings.Contains(errs, line) {
		t.Errorf("a check finds what is not finished: %q %q", printed, errs)
	}

	locked := bytes.Replace(text, []byte("{"), []byte(`{"locked":{"lon1":{"run":"0190a000","unlock":"undrain"}},`), 1)
	if err := os.WriteFile(ledger, locked, 0o600); err != nil {
		t.Fatal(err)
	}
	printed, errs = p.invoke("slipway_check", deployment)
	if line := `node "a": lock[node]: the run 0190a000 has left the node locked; the next apply unlocks it`; !strings.Contains(printed, line) ||
		!strings.Contains(errs, line) {
		t.Errorf("a check finds a node that is left locked: %q %q", printed, errs)
	}
	if err := os.WriteFile(ledger, text, 0o600); err != nil {
		t.Fatal(err)
	}

	location := journal.Location{Path: journals}
	store, err := location.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if printed, errs = p.invoke("slipway_unlock", map[string]tftypes.Value{"site": valueOf("lon1")}); printed != "site lon1: no run holds it\n" || errs != "" {
		t.Errorf("a site that is free: %q %q", printed, errs)
	}
	if _, err = store.Start(t.Context(), journal.Run{ID: "0190a000-0000-7000-8000-000000000001", Site: "lon1", Operation: "update"}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		action string
		config map[string]tftypes.Value
		want   string
	}{
		"a run is at work":         {"slipway_unlock", map[string]tftypes.Value{"site": valueOf("lon1")}, "force"},
		"no such site":             {"slipway_unlock", map[string]tftypes.Value{"site": valueOf("lon2")}, "lon2"},
		"a restart meanwhile":      {"slipway_reboot", deployment, "Another run is at work"},
		"no such node":             {"slipway_reboot", map[string]tftypes.Value{"deployment": state, "nodes": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, []tftypes.Value{valueOf("c")})}, `no node "c"`},
		"a timeout that is none":   {"slipway_reboot", map[string]tftypes.Value{"deployment": state, "timeout": valueOf("soon")}, "soon"},
		"no deployment":            {"slipway_check", map[string]tftypes.Value{"deployment": valueOf("lon1")}, "deployment = slipway_deployment.NAME"},
		"a deployment without all": {"slipway_check", map[string]tftypes.Value{"deployment": valueOf(map[string]any{"site": "lon1"})}, "as a whole"},
	} {
		if printed, errs := p.invoke(tt.action, tt.config); !strings.Contains(errs, tt.want) {
			t.Errorf("%s: %q %q, want %q", name, printed, errs, tt.want)
		}
	}
	if printed, errs = p.invoke("slipway_unlock", map[string]tftypes.Value{"site": valueOf("lon1"), "force": valueOf(true)}); !strings.Contains(printed, "site lon1: free. It was held by run 0190a000") || errs != "" {
		t.Errorf("a site that is held: %q %q", printed, errs)
	}
	// Nodes of transport local are this machine.
	if _, errs = p.invoke("slipway_reboot", deployment); !strings.Contains(errs, `node "a"`) || strings.Contains(errs, `node "b"`) {
		t.Errorf("a restart of this machine: %q", errs)
	}
}

func TestListOfDeployments(t *testing.T) {
	p := newPlanning(t)
	journals := p.mayApply()
	for _, site := range []string{"lon1", "ams1"} {
		store, err := journal.Location{Path: journals}.Open(t.Context(), site)
		if err != nil {
			t.Fatal(err)
		}
		w, err := store.Start(t.Context(), journal.Run{ID: "0190a000-0000-7000-8000-000000000001", Site: site, Operation: "update"})
		if err == nil {
			err = w.Finish(t.Context(), "succeeded", "")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
	config, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, map[string]tftypes.Value{}))
	if err != nil {
		t.Fatal(err)
	}
	list := func(limit int64) (sites []string) {
		stream, err := p.server.(tfprotov6.ListResourceServer).ListResource(t.Context(), &tfprotov6.ListResourceRequest{
			TypeName: "slipway_deployment", Config: &config, IncludeResource: true, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		identity := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"site": tftypes.String}}
		for result := range stream.Results {
			for _, d := range result.Diagnostics {
				t.Errorf("%s: %s", d.Summary, d.Detail)
			}
			v, err := result.Identity.IdentityData.Unmarshal(identity)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]tftypes.Value{}
			var site string
			if err := v.As(&found); err != nil {
				t.Fatal(err)
			}
			if err := found["site"].As(&site); err != nil {
				t.Fatal(err)
			}
			if _, err := result.Resource.Unmarshal(p.typ); err != nil {
				t.Errorf("%s: %v", site, err)
			}
			if site != result.DisplayName {
				t.Errorf("%s is shown as %s", site, result.DisplayName)
			}
			sites = append(sites, site)
		}
		return sites
	}
	if all := list(100); !slices.Equal(all, []string{"ams1", "lon1"}) {
		t.Errorf("all sites: %q", all)
	}
	if one := list(1); !slices.Equal(one, []string{"ams1"}) {
		t.Errorf("one site: %q", one)
	}
}
