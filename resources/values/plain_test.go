package values

import (
	"context"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// hcl writes values as they arrive from HCL.
type hcl struct{ ctx context.Context }

func (v hcl) object(members map[string]attr.Value) attr.Value {
	kinds := map[string]attr.Type{}
	for name, m := range members {
		kinds[name] = m.Type(v.ctx)
	}
	return types.ObjectValueMust(kinds, members)
}

func (v hcl) tuple(elements ...attr.Value) attr.Value {
	kinds := make([]attr.Type, len(elements))
	for i, e := range elements {
		kinds[i] = e.Type(v.ctx)
	}
	return types.TupleValueMust(kinds, elements)
}

func str(s string) attr.Value { return types.StringValue(s) }

func number(n float64) attr.Value { return types.NumberValue(big.NewFloat(n)) }

func members(pairs ...any) map[string]attr.Value {
	out := map[string]attr.Value{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1].(attr.Value)
	}
	return out
}

// details are those of diagnostics, to compare them with what is expected.
func details(diags diag.Diagnostics) string {
	var lines []string
	for _, d := range diags {
		at := ""
		if p, ok := d.(diag.DiagnosticWithPath); ok {
			at = p.Path().String()
		}
		lines = append(lines, at+"| "+d.Summary()+"| "+d.Detail())
	}
	return strings.Join(lines, "\n")
}

func TestNodesFrom(t *testing.T) {
	v := hcl{t.Context()}
	yes := true
	full := v.object(members(
		"name", str("web1"), "address", str("10.0.0.1"), "rack", str("r1"),
		"tags", types.SetValueMust(types.StringType, []attr.Value{str("web"), str("a")}),
		"labels", types.MapValueMust(types.StringType, map[string]attr.Value{"tier": str("front")}),
		"roles", types.SetNull(types.StringType),
		"connect", v.object(members(
			"user", str("ops"), "port", number(2222), "agent", types.BoolValue(true), "connect_timeout", str("10s"),
			"known_hosts", types.ListValueMust(types.StringType, []attr.Value{}),
			"bastions", v.tuple(v.object(members("host", str("jump"), "port", number(22)))),
		))))
	fullNode := site.Node{Name: "web1", Address: "10.0.0.1", Rack: "r1", Tags: []string{"a", "web"}, Labels: map[string]string{"tier": "front"},
		Connection: site.Connection{User: "ops", Port: 2222, Agent: &yes, ConnectTimeout: 10 * time.Second, KnownHosts: []string{}, Bastions: []site.Bastion{{Host: "jump", Port: 22}}}}
	byHand := v.object(members("name", str("b"), "tags", v.tuple(str("x")), "labels", v.object(members("n", number(3)))))
	byHandNode := site.Node{Name: "b", Tags: []string{"x"}, Labels: map[string]string{"n": "3"}}

	// reached is a list of one node with a connection.
	reached := func(connection ...any) types.Dynamic {
		return types.DynamicValue(v.tuple(v.object(members("name", str("a"), "connect", v.object(members(connection...))))))
	}
	secret := []site.Node{{Name: "a", Connection: site.Connection{User: "ops", PrivateKey: "PEM", SudoPassword: "s", Bastions: []site.Bastion{{Host: "jump", PrivateKey: "hop"}}}}}
	hops := func(secret ...any) attr.Value {
		return v.tuple(v.object(members(append(secret, "host", str("jump"))...)))
	}

	for _, tt := range []struct {
		name    string
		in      types.Dynamic
		want    []site.Node
		unknown bool
		diags   string
	}{
		{name: "null", in: types.DynamicNull()},
		{name: "unknown", in: types.DynamicUnknown(), unknown: true},
		{name: "empty list", in: types.DynamicValue(v.tuple()), want: []site.Node{}},
		{name: "list keeps its order", in: types.DynamicValue(v.tuple(full, byHand)), want: []site.Node{fullNode, byHandNode}},
		{name: "map goes by key", in: types.DynamicValue(v.object(map[string]attr.Value{"z": full, "a": byHand})), want: []site.Node{byHandNode, fullNode}},
		{name: "one object is no list", in: types.DynamicValue(full),
			diags: "nodes| Value of the wrong form| nodes: is one node; put it into a list: nodes = [slipway_node.example]."},
		{name: "text", in: types.DynamicValue(str("web1")), diags: "nodes| Value of the wrong form| nodes: is a string; write a list or map of slipway_node objects."},
		{name: "text in the list", in: types.DynamicValue(v.tuple(str("web1"))), diags: "nodes| Value of the wrong form| nodes[0]: is a string; write a whole object, such as slipway_node.example."},
		{name: "null in the list", in: types.DynamicValue(v.tuple(types.StringNull())), diags: "nodes| Value of the wrong form| nodes[0]: is null; leave it out instead."},
		{name: "misspelt attribute", in: types.DynamicValue(v.tuple(v.object(members("name", str("a"), "adress", str("x"))))),
			diags: `nodes| Value of the wrong form| node "a", adress: there is no such attribute; did you mean "address"?`},
		{name: "misspelt nested attribute", in: types.DynamicValue(v.tuple(v.object(members("name", str("a"), "connect", v.object(members("usr", str("x"))))))),
			diags: `nodes| Value of the wrong form| node "a", connect.usr: there is no such attribute; did you mean "user"?`},
		{name: "wrong kind", in: types.DynamicValue(v.tuple(v.object(members("name", str("a"), "tags", str("x"), "connect", v.object(members("port", str("http"))))))),
			diags: "nodes| Value of the wrong form| node \"a\", connect.port: is a string; write a whole number from 0 to 65535.\n" +
				"nodes| Value of the wrong form| node \"a\", tags: is a string; write a list."},
		{name: "fraction", in: types.DynamicValue(v.tuple(v.object(members("name", str("a"), "connect", v.object(members("port", number(22.5))))))),
			diags: `nodes| Value of the wrong form| node "a", connect.port: 22.5 is not a whole number from 0 to 65535.`},
		{name: "no name", in: types.DynamicValue(v.object(map[string]attr.Value{"k": v.object(members("address", str("x")))})),
			diags: `nodes| Missing attribute| nodes["k"].name: is required.`},
		{name: "credentials", want: secret, in: reached("user", str("ops"), "credentials", v.object(members("private_key", str("PEM"), "sudo_password", str("s"))),
			"bastions", hops("credentials", v.object(members("private_key", str("hop")))))},
		{name: "secrets as version 0 had them", want: secret, in: reached("user", str("ops"), "private_key", str("PEM"), "passphrase", types.StringNull(), "sudo_password", str("s"),
			"bastions", hops("private_key", str("hop")))},
		{name: "some here and some there", want: secret, in: reached("user", str("ops"), "private_key", str("PEM"), "credentials", v.object(members("private_key", types.StringNull(), "sudo_password", str("s"))),
			"bastions", hops("credentials", types.DynamicNull(), "private_key", str("hop")))},
		{name: "a map as version 0 had it", in: types.DynamicValue(v.tuple(v.object(members("name", str("a"), "connect", types.MapValueMust(types.StringType, map[string]attr.Value{"private_key": str("PEM")}))))),
			want: []site.Node{{Name: "a", Connection: site.Connection{PrivateKey: "PEM"}}}},
		{name: "empty credentials", in: reached("credentials", v.object(members())), want: []site.Node{{Name: "a"}}},
		{name: "a secret here and there", in: reached("private_key", str("PEM"), "credentials", v.object(members("private_key", str("PEM")))),
			diags: `nodes| Value of the wrong form| node "a", connect.credentials.private_key: stands beside credentials and in it; keep one.`},
		{name: "credentials of the wrong kind", in: reached("credentials", str("PEM")), diags: `nodes| Value of the wrong form| node "a", connect.credentials: is a string; write an object.`},
		{name: "a secret of the wrong kind", in: reached("private_key", v.tuple()), diags: `nodes| Value of the wrong form| node "a", connect.private_key: is a list; write a string.`},
		{name: "a secret that is not known", unknown: true, in: reached("private_key", types.StringUnknown())},
		{name: "credentials that are not known", unknown: true, in: reached("credentials", types.ObjectUnknown(map[string]attr.Type{"private_key": types.StringType}), "private_key", types.StringNull())},
		{name: "bad duration", in: types.DynamicValue(v.tuple(v.object(members("name", str("a"), "connect", v.object(members("connect_timeout", str("10"))))))),
			diags: `nodes| Invalid value| node "a", connect.connect_timeout: "10" is not a duration; write a number and a unit, such as 30s, 10m or 1h30m.`},
		{name: "unknown inside, errors elsewhere are reported", unknown: true,
			in:    types.DynamicValue(v.tuple(v.object(members("name", str("a"), "address", types.StringUnknown())), v.object(members("name", str("b"), "adress", str("x"))))),
			diags: `nodes| Value of the wrong form| node "b", adress: there is no such attribute; did you mean "address"?`},
		{name: "unknown deep inside", unknown: true,
			in: types.DynamicValue(v.tuple(byHand, v.object(members("name", str("a"), "connect", v.object(members("bastions", v.tuple(v.object(members("host", types.StringUnknown()))))))))),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, known, diags := From(t.Context(), tt.in, (*document.Values).Nodes)
			if known == tt.unknown {
				t.Errorf("known = %v", known)
			}
			if diff := cmp.Diff(tt.diags, details(diags)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGroupsFrom(t *testing.T) {
	v := hcl{t.Context()}
	ninety, three := 90, 3
	group := func(name string, more ...any) attr.Value {
		return v.object(members(append([]any{"name", str(name), "critical", types.BoolValue(true), "selectors", v.tuple()}, more...)...))
	}
	for _, tt := range []struct {
		name  string
		in    types.Dynamic
		want  []site.Group
		diags string
	}{
		{name: "null is nil", in: types.DynamicNull()},
		{name: "empty is not nil", in: types.DynamicValue(v.tuple()), want: []site.Group{}},
		{name: "order of the list", in: types.DynamicValue(v.tuple(group("z"), group("a"))),
			want: []site.Group{{Name: "z", Critical: true, Selectors: site.Selectors{}}, {Name: "a", Critical: true, Selectors: site.Selectors{}}}},
		{name: "everything", in: types.DynamicValue(v.tuple(v.object(members(
			"name", str("control"), "critical", types.BoolValue(false), "depends_on_groups", v.tuple(str("ntp")),
			"selectors", v.tuple(v.object(members("node_tags", v.tuple(str("control")), "node_names", types.ListNull(types.StringType))), v.object(members("node_labels", v.tuple(str("a:b"))))),
			"success_criteria", v.object(members("percent_successful_nodes", number(90), "minimum_successful_nodes", str("3"))),
			"rolling", v.object(members("lock", str("drain"), "unlock", str("undrain"))),
			"prepare_timeout", str("10m"), "deploy_timeout", str("2h"),
		)))),
			want: []site.Group{{Name: "control", DependsOn: []string{"ntp"},
				Selectors:       site.Selectors{{NodeTags: []string{"control"}}, {NodeLabels: []string{"a:b"}}},
				SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: &ninety, MinimumSuccessfulNodes: &three},
				Rolling:         &site.Rolling{MaxParallel: 1, Lock: "drain", Unlock: "undrain"},
				PrepareTimeout:  10 * time.Minute, DeployTimeout: 2 * time.Hour}}},
		{name: "required attributes", in: types.DynamicValue(v.tuple(v.object(members("name", str("a"))))),
			diags: "groups| Missing attribute| group \"a\", critical: is required.\ngroups| Missing attribute| group \"a\", selectors: is required."},
		{name: "selector without criteria", in: types.DynamicValue(v.tuple(v.object(members("name", str("a"), "critical", types.BoolValue(true), "selectors", v.tuple(v.object(nil)))))),
			diags: `groups| Value of the wrong form| group "a", selectors[0]: is empty; a selector must have at least one of node_names, node_tags, node_labels, rack_names.`},
		{name: "time limit of zero", in: types.DynamicValue(v.tuple(group("a", "deploy_timeout", str("0s")))),
			diags: `groups| Invalid value| group "a", deploy_timeout: "0s" is not above zero; leave it out for the default.`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, known, diags := From(t.Context(), tt.in, (*document.Values).Groups)
			if !known {
				t.Error("not known")
			}
			if diff := cmp.Diff(tt.diags, details(diags)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServicesFrom(t *testing.T) {
	v := hcl{t.Context()}
	service := func(configuration attr.Value) types.Dynamic {
		return types.DynamicValue(v.tuple(v.object(members("name", str("s"), "selectors", v.tuple(), "configuration", configuration))))
	}
	for _, tt := range []struct {
		name    string
		in      types.Dynamic
		want    planresource.Configuration
		unknown bool
		diags   string
	}{
		{name: "plain values",
			in: service(v.object(map[string]attr.Value{"file": v.object(map[string]attr.Value{"/etc/motd": v.object(members(
				"content", str("hi\n"), "replace", types.BoolValue(false), "size", number(5), "ratio", number(0.5),
				"require", v.tuple(str("a[b]"), number(1)), "map", types.MapValueMust(types.StringType, map[string]attr.Value{"k": str("v")}), "mode", types.StringNull()))})})),
			want: planresource.Configuration{"file": {"/etc/motd": {"content": "hi\n", "replace": false, "size": int64(5), "ratio": 0.5,
				"require": []any{"a[b]", int64(1)}, "map": map[string]any{"k": "v"}}}}},
		{name: "null is unset", in: service(v.object(map[string]attr.Value{"file": v.object(map[string]attr.Value{"/a": types.StringNull(), "/b": v.object(nil)}), "package": types.StringNull()})),
			want: planresource.Configuration{"file": {"/b": {}}}},
		{name: "dynamic as from a resource", in: service(types.DynamicValue(v.object(map[string]attr.Value{"package": v.object(map[string]attr.Value{"mc": v.object(nil)})}))),
			want: planresource.Configuration{"package": {"mc": {}}}},
		{name: "unknown parameter value", in: service(v.object(map[string]attr.Value{"file": v.object(map[string]attr.Value{"/a": v.object(members("content", types.StringUnknown()))})})), unknown: true},
		{name: "parameters are no object", in: service(v.object(map[string]attr.Value{"file": v.object(map[string]attr.Value{"/a": str("x")})})),
			diags: `services| Value of the wrong form| service "s", configuration.file["/a"]: is a string; write an object of parameters.`},
		{name: "text", in: service(str("x")), diags: `services| Value of the wrong form| service "s", configuration: is a string; write an object of types.`},
		{name: "null in a list", in: service(v.object(map[string]attr.Value{"file": v.object(map[string]attr.Value{"/a": v.object(members("require", v.tuple(types.StringNull())))})})),
			diags: `services| Null instead of a value| service "s", configuration.file["/a"].require[0]: is null; leave it out.`},
		{name: "empty title and type", in: service(v.object(map[string]attr.Value{"file": v.object(map[string]attr.Value{"": v.object(nil)}), "": v.object(nil)})),
			diags: "services| Empty configuration resource type| service \"s\", configuration: a type is empty; write type = { title = { parameters } }.\n" +
				"services| Empty title| service \"s\", configuration.file: a title is empty; write type = { title = { parameters } }."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, known, diags := From(t.Context(), tt.in, (*document.Values).Services)
			if known == tt.unknown {
				t.Errorf("known = %v", known)
			}
			if diff := cmp.Diff(tt.diags, details(diags)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if tt.want == nil {
				if got != nil {
					t.Errorf("services = %v, want none", got)
				}
				return
			}
			if diff := cmp.Diff([]site.Service{{Name: "s", Selectors: site.Selectors{}, Configuration: tt.want}}, got); diff != "" {
				t.Errorf("services (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverridesFrom(t *testing.T) {
	v := hcl{t.Context()}
	no := false
	in := types.DynamicValue(v.tuple(v.object(members("name", str("o"), "roles", v.tuple(str("b"), str("a")),
		"configuration", v.object(map[string]attr.Value{"package": v.object(map[string]attr.Value{"mc": v.object(members("ensure", str("absent")))})}),
		"options", v.object(members("create", types.BoolValue(false), "types_filter", v.tuple(str("package")),
			"defaults", v.object(map[string]attr.Value{"package": v.object(members("ensure", str("present")))})))))))
	got, known, diags := From(t.Context(), in, (*document.Values).Overrides)
	if !known || diags.HasError() {
		t.Fatalf("known %v, %s", known, details(diags))
	}
	want := []site.Override{{Name: "o", Roles: []string{"a", "b"}, Merge: "parameter",
		Configuration: planresource.Configuration{"package": {"mc": {"ensure": "absent"}}},
		Options:       site.OverrideOptions{Create: &no, TypesFilter: []string{"package"}, Defaults: map[string]map[string]any{"package": {"ensure": "present"}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	null := types.DynamicValue(v.tuple(v.object(members("name", str("o"), "configuration",
		v.object(map[string]attr.Value{"package": v.object(map[string]attr.Value{"mc": v.object(members("ensure", types.StringNull()))})})))))
	_, _, diags = From(t.Context(), null, (*document.Values).Overrides)
	const reported = `overrides| Null instead of a value| override "o", configuration.package["mc"].ensure: is null; an override cannot take anything away, leave it out.`
	if details(diags) != reported {
		t.Errorf("got %s\nwant %s", details(diags), reported)
	}
}
