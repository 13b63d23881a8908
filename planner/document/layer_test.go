package document

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// seedLayer is the example of seed 004, with options.
const seedLayer = `configuration:
  package:
    fontconfig-config:
      ensure: latest
    mc:
      ensure: absent
configuration_options:
  create: false
  types_filter: [package]
  defaults:
    package: {provider: apt}
`

func TestParseLayer(t *testing.T) {
	no := false
	tests := map[string]struct {
		text string
		want site.Override
	}{
		"the seed's": {seedLayer, site.Override{Name: "l.yaml",
			Configuration: resource.Configuration{"package": {"fontconfig-config": {"ensure": "latest"},
				"mc": {"ensure": "absent"}}},
			Options: site.OverrideOptions{Create: &no, TypesFilter: []string{"package"},
				Defaults: map[string]map[string]any{"package": {"provider": "apt"}}}}},
		"options win": {seedLayer + "options: {types_filter: [file], titles_filter: []}\nname: mine\nmerge: title\n",
			site.Override{Name: "mine", Merge: "title",
				Configuration: resource.Configuration{"package": {"fontconfig-config": {"ensure": "latest"},
					"mc": {"ensure": "absent"}}},
				Options: site.OverrideOptions{Create: &no, TypesFilter: []string{"file"},
					Defaults: map[string]map[string]any{"package": {"provider": "apt"}}}}},
		"nulls are kept": {"configuration: {kv: {a: {v: null}}}",
			site.Override{Name: "l.yaml", Configuration: resource.Configuration{"kv": {"a": {"v": nil}}}}},
		"titles of a type that is filtered out": {
			"configuration: {kv: {'': {}, a: text, b: {v: x}}, file: {f: {}}}\nconfiguration_options: {types_filter: [file]}",
			site.Override{Name: "l.yaml", Configuration: resource.Configuration{"kv": {"a": {}, "b": {"v": "x"}},
				"file": {"f": {}}}, Options: site.OverrideOptions{TypesFilter: []string{"file"}}}},
		"no configuration": {"configuration_options: {create: false}",
			site.Override{Name: "l.yaml", Configuration: resource.Configuration{},
				Options: site.OverrideOptions{Create: &no}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseLayer(Source{"l.yaml", []byte(tt.text)})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got.Override); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseLayerErrors(t *testing.T) {
	tests := map[string]struct {
		text, want string
		code       invalid.Code
	}{
		"configuration": {"configuration: text",
			`l.yaml:1:16: configuration: is text, not a mapping; write type: {title: {parameter: value}}`, LayerMismatch},
		"null": {"configuration:\n", `l.yaml:1:15: configuration: is nothing (null), not a mapping`,
			LayerMismatch},
		"type": {"configuration: {kv: text}",
			`l.yaml:1:21: configuration.kv: is text, not a mapping; write title: {parameter: value}`, invalid.BadStructure},
		"filtered out": {"configuration: {kv: text}\noptions: {types_filter: [file]}",
			`l.yaml:1:21: configuration.kv: is text, not a mapping`, invalid.BadStructure},
		"title": {"configuration: {kv: {a: [b]}}",
			`l.yaml:1:25: configuration.kv["a"]: is a list, not a mapping; write parameter: value`, invalid.BadStructure},
		"empty type": {"configuration: {'': {a: {}}}", `l.yaml:1:17: configuration: a type is empty`,
			invalid.EmptyType},
		"empty title": {"configuration: {kv: {'': {}}}", `l.yaml:1:22: configuration.kv: a title is empty`,
			invalid.EmptyTitle},
		"create": {"configuration_options: {create: 'false'}",
			`l.yaml:1:33: configuration_options.create: is text, not true or false without quotes`, invalid.BadStructure},
		"filter": {"options: {types_filter: kv}", `l.yaml:1:25: options.types_filter: is text, not a list`,
			Schema},
		"options": {"options: 5", `l.yaml:1:10: options: is a number, not a mapping`, invalid.BadStructure},
		"defaults": {"options: {defaults: {kv: text}}",
			`l.yaml:1:26: options.defaults.kv: is text, not a mapping`, invalid.BadStructure},
		"defaults of ''": {"options: {defaults: {'': {}}}", `l.yaml:1:22: options.defaults: a type is empty`,
			invalid.EmptyType},
		"merge": {"merge: deep", `l.yaml:1:8: merge: "deep" is not a way to merge`, invalid.BadValue},
		"unknown key": {"configuratoin: {}",
			`l.yaml:1:1: unknown key "configuratoin"; did you mean "configuration"?`, Schema},
		"null in a list": {"configuration: {kv: {a: {v: [~]}}}",
			`l.yaml:1:30: configuration.kv["a"].v[0]: is nothing (null)`, invalid.NullValue},
		"the same key":      {"configuration: {kv: {a: {}, a: {}}}", `l.yaml:1:29: key "a" is there twice`, Schema},
		"a value in itself": {"configuration: {kv: {a: {v: &v [*v]}}}", `l.yaml:1:33: configuration.kv["a"].v`, Schema},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseLayer(Source{"l.yaml", []byte(tt.text)})
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) != 1 {
				t.Fatalf("got %v, want one problem", err)
			}
			if !strings.HasPrefix(err.Error(), tt.want) || errs[0].Code != tt.code {
				t.Errorf("got  %v (%s)\nwant %s (%s)", err, errs[0].Code, tt.want, tt.code)
			}
		})
	}
	_, err := ParseConfiguration(Source{"c.yaml", []byte("configuration: text")})
	var errs invalid.Errors
	if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Code != invalid.BadStructure {
		t.Errorf("got %v", err)
	}
}

func TestIncomplete(t *testing.T) {
	tests := map[string]struct {
		layers []string
		want   string
	}{
		"a title that another layer gives": {[]string{"configuration: {kv: {a: null}}", "configuration: {kv: {a: {}}}"},
			""},
		"a type that another layer gives": {[]string{"configuration: {kv: {a: {}}}", "configuration: {kv: null}"}, ""},
		"a title of its own": {[]string{"configuration: {kv: {a: null}}", "configuration: {kv: {b: {}}}"},
			`0:1:25: configuration.kv["a"]: is nothing (null), not a mapping`},
		"a type of its own": {[]string{"configuration: {kv: null}"},
			`0:1:21: configuration.kv: is nothing (null), not a mapping`},
		"a type that is filtered out": {
			[]string{"configuration: {kv: {a: null}}\noptions: {types_filter: [file]}"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var layers []*Layer
			for i, text := range tt.layers {
				l, err := ParseLayer(Source{string(rune('0' + i)), []byte(text)})
				if err != nil {
					t.Fatal(err)
				}
				layers = append(layers, l)
			}
			got := ""
			if err := Incomplete(layers...); err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLocateInLayer(t *testing.T) {
	l, err := ParseLayer(Source{"l.yaml", []byte(seedLayer)})
	if err != nil {
		t.Fatal(err)
	}
	for attribute, want := range map[string]string{
		`configuration.package["mc"].ensure`: "l.yaml:6:15: ",
		"options.defaults.package.provider":  "l.yaml:11:25: configuration_options.defaults.package.provider: ",
		"":                                   "l.yaml:1:1: ",
	} {
		if got := l.Locate(invalid.Error{Attribute: attribute, Message: "m"}).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", attribute, got, want)
		}
	}
}

func TestParseSelectors(t *testing.T) {
	got, err := ParseSelectors(Source{"s", []byte(`[{"node_tags": ["a"]}, {"rack_names": []}]`)})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(site.Selectors{{NodeTags: []string{"a"}}, {RackNames: []string{}}}, got); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{
		"[{}]": "s:1:2: [0]: is empty", "[{tags: [a]}]": `unknown key "tags"`, "{}": "is a mapping, not a list", "": "the document is empty",
	} {
		if _, err := ParseSelectors(Source{"s", []byte(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func FuzzParseLayer(f *testing.F) {
	f.Add([]byte(seedLayer))
	f.Add([]byte("configuration: &a {kv: {a: *a}}"))
	f.Add([]byte("options: {create: yes, defaults: {kv: {a: ~}}, types_filter: [~]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLayer(Source{"f.yaml", data})
		if err != nil {
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("an error that is not problems: %v", err)
			}
			return
		}
		if l.Override.Configuration == nil || l.Override.Configuration[""] != nil {
			t.Fatalf("got %+v", l.Override)
		}
	})
}
