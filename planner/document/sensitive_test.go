package document

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// shownWith is a state whose deployment has three services and an override, with what Terraform marks as sensitive in
// them.
func shownWith(marks string) Source {
	return Source{"show.json", []byte(`{"format_version": "1.0", "values": {"root_module": {"resources": [{"address": "slipway_deployment.this", "mode": "managed", "type": "slipway_deployment",
"values": {"site": "lon1", "nodes": {}, "services": {
  "a": {"name": "motd", "selectors": [], "configuration": {"file": {"/a": {"content": "one"}, "/b": {"content": "two"}}}},
  "b": {"name": "plain", "selectors": [], "configuration": {"file": {"/c": {"content": "three"}}}}},
 "overrides": [{"name": "other", "configuration": {"file": {"/b": {"content": "five"}}}}, {"name": "front", "configuration": {"file": {"/a": {"content": "four"}}}, "options": {"create": false}}]},
"sensitive_values": ` + marks + `}]}}}`)}
}

func TestSecret(t *testing.T) {
	const all = "service motd file[/a], service motd file[/b], service plain file[/c], override front file[/a], override other file[/b]"
	for marks, want := range map[string]string{
		`{}`:   "",
		`null`: "",
		`{"services": {"a": {"configuration": {"file": {"/a": {}}}}}, "nodes": {"n": {"connect": {"private_key": true}}}}`: "",
		`{"services": {"a": {"configuration": {"file": {"/a": {"content": true}, "/b": {"content": false}}}}}}`:            "service motd file[/a]",
		`{"services": {"a": {"configuration": {"file": {"/b": true}}}}}`:                                                   "service motd file[/b]",
		`{"services": {"a": {"configuration": {"file": true}}}}`:                                                           "service motd file[/a], service motd file[/b]",
		`{"services": {"a": {"configuration": true}}}`:                                                                     "service motd file[/a], service motd file[/b]",
		`{"services": {"b": {"attributes": {"keys": [false, {"of": true}]}}}}`:                                             "service plain file[/c]",
		`{"services": {"b": true}}`:                                                "service plain file[/c]",
		`{"services": true, "overrides": true}`:                                    all,
		`{"overrides": [{}, {"options": {"defaults": {"file": {"mode": true}}}}]}`: "override front file[/a]",
		`{"overrides": [{"configuration": {"file": {"/b": {"content": true}}}}]}`:  "override other file[/b]",
	} {
		s, err := ParseSite([]Source{shownWith(marks)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, text := range strings.Split(all, ", ") {
			words := strings.Fields(text)
			if s.Secret(words[0], words[1], resource.ID(words[2])) {
				got = append(got, text)
			}
		}
		if told := strings.Join(got, ", "); told != want {
			t.Errorf("%s: got %s, want %s", marks, told, want)
		}
	}
	if s, err := ParseSite([]Source{{"s.yaml", []byte("services: [{name: motd, selectors: [], configuration: {}}]\n")}},
		Options{}); err != nil || s.Secret("service", "motd", "file[/a]") {
		t.Errorf("a document marks something: %v", err)
	}
}
