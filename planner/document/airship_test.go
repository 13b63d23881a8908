package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// siteOfAirship is a stream as the manifests of an Airship site are: documents of other services beside the strategy,
// and keys that slipway does not use.
const siteOfAirship = `---
schema: drydock/BaremetalNode/v1
metadata:
  schema: metadata/Document/v1
  name: n1
  name: n1
  layeringDefinition: {abstract: false, layer: site}
data: {addressing: [], addressing: [{network: oob}]}
---
schema: shipyard/DeploymentStrategy/v1
metadata:
  schema: metadata/Document/v1
  replacement: true
  name: deployment-strategy
  layeringDefinition:
    abstract: false
    layer: site
    parentSelector: {name: deployment-strategy-global}
    actions: [{method: merge, path: .}]
    layer: global
  labels: {name: strategy}
  labels: {name: strategy-site}
  storagePolicy: cleartext
  substitutions: []
data:
  extra: 1
  groups:
  - name: masters
    critical: yes
    depends_on: []
    selectors: [{node_tags: [masters]}]
    note: first
...
`

func TestSiteOfAirship(t *testing.T) {
	s, err := ParseSite([]Source{{"site.yaml", []byte(siteOfAirship)},
		{"nodes.yaml", []byte("schema: drydock/Rack/v1\ndata: {}\n")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Site.Groups) != 1 || s.Site.Groups[0].Name != "masters" || !s.Site.Groups[0].Critical {
		t.Errorf("got %+v", s.Site.Groups)
	}
	var got []string
	for _, w := range s.Warnings {
		got = append(got, w.Error())
	}
	want := []string{
		`site.yaml:6:3: warning: key "name" is there twice, first at line 5; this one counts`,
		`site.yaml:8:24: warning: key "addressing" is there twice, first at line 8; this one counts`,
		`site.yaml:20:5: warning: key "layer" is there twice, first at line 17; this one counts`,
		`site.yaml:22:3: warning: key "labels" is there twice, first at line 21; this one counts`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	groups, warnings, err := ParseStrategy("site.yaml", []byte(siteOfAirship))
	if err != nil || len(groups) != 1 || len(warnings) != len(want) {
		t.Errorf("ParseStrategy: %v, %v, %v", groups, warnings, err)
	}
}

func TestSiteOfAirshipErrors(t *testing.T) {
	for name, tt := range map[string]struct{ old, new, want string }{
		"a key of a group twice": {"note: first", "depends_on: [x]", `site.yaml:32:5: key "depends_on" is there twice, first at line 30; keep one`},
		"data twice":             {"data:\n  extra: 1", "data: {}\ndata:", `site.yaml:26:1: key "data" is there twice, first at line 25; keep one`},
		"a selector":             {"node_tags", "node_tag", `unknown key "node_tag"; did you mean "node_tags"?`},
	} {
		_, err := ParseSite([]Source{{"site.yaml", []byte(strings.Replace(siteOfAirship, tt.old, tt.new, 1))}}, Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := ParseSite([]Source{{"rack.yaml", []byte("schema: drydock/Rack/v1\n")}}, Options{}); err == nil ||
		!strings.Contains(err.Error(), "rack.yaml: holds neither a site") {
		t.Errorf("got %v", err)
	}
}
