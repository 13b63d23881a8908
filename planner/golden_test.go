package planner_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGoldenPlans(t *testing.T) {
	tests := map[string]func(t *testing.T) (site.Site, planner.Applied, planner.Drift){
		"first": func(*testing.T) (site.Site, planner.Applied, planner.Drift) { return lon1(), nil, nil },
		"second": func(t *testing.T) (site.Site, planner.Applied, planner.Drift) {
			return lon1(), allApplied(t, lon1()), nil
		},
		"drift": func(t *testing.T) (site.Site, planner.Applied, planner.Drift) {
			return lon1(), allApplied(t, lon1()), planner.Drift{
				"ctl2": {"file[/etc/chrony/chrony.conf]"}, "cmp11": {"file[/etc/motd]"},
				"mon1": {"file[/etc/motd]", "file[/not/wanted]"},
			}
		},
		"removal": func(t *testing.T) (site.Site, planner.Applied, planner.Drift) {
			applied := allApplied(t, lon1())
			s := lon1()
			s.Services = s.Services[1:2]
			s.Overrides = nil
			applied["ctl1"]["package[chrony]"] = ""                              // begun and not finished
			applied["ctl2"]["file[/etc/chrony/chrony.conf]"] = "of another form" // its content was another one
			delete(applied["ctl3"], "service[chrony]")
			return s, applied, nil
		},
		"departed": func(t *testing.T) (site.Site, planner.Applied, planner.Drift) {
			applied := allApplied(t, lon1())
			applied["node9"] = map[resource.ID]string{"file[/etc/motd]": "d"}
			applied["node8"] = map[resource.ID]string{}
			s := lon1()
			s.Nodes[0].Tags = nil // ctl1 leaves its group,
			s.Nodes[0].Rack = ""  // but not the site
			s.Nodes = append(s.Nodes, site.Node{Name: "spare"})
			s.Groups[0].SuccessCriteria.MinimumSuccessfulNodes = ptr(2)
			return s, applied, nil
		},
		"default-strategy": func(*testing.T) (site.Site, planner.Applied, planner.Drift) {
			s := lon1()
			s.Groups = nil
			s.Services = s.Services[:1]
			s.Overrides = nil
			return s, nil, nil
		},
		"plugins": func(*testing.T) (site.Site, planner.Applied, planner.Drift) { return withPlugins(), nil, nil },
		"plugins-changed": func(t *testing.T) (site.Site, planner.Applied, planner.Drift) {
			applied := allApplied(t, withPlugins())
			s := withPlugins()
			// the others lose a file: a deployment
			s.Services[0].Selectors = site.Selectors{{NodeNames: []string{"ctl1", "ntp01"}}}
			s.Plugins[0].Tasks[1].Parameters["timeout"] = int64(7)
			s.Plugins, s.Plugins[0].GraphTasks = s.Plugins[:1], nil
			applied["ctl3"][task.LeftLocked] = ""
			return s, applied, nil
		},
		"plugins-errors": func(*testing.T) (site.Site, planner.Applied, planner.Drift) {
			s := withPlugins()
			s.Plugins[0].Tasks[0].Stage = "pre_deploymnet/5"
			s.Plugins[0].Files["../x"] = "not base64"
			s.Plugins[1].GraphTasks = append(s.Plugins[1].GraphTasks,
				site.GraphTask{ID: "late", Type: plugin.Shell, Role: []string{"compute"},
					Parameters: site.Parameters{"cmd": "late", "timeout": int64(5)}, Requires: []string{"drane"}})
			return s, nil, nil
		},
		"entities": func(t *testing.T) (site.Site, planner.Applied, planner.Drift) { return withEntities(t), nil, nil },
		"entities-changed": func(t *testing.T) (site.Site, planner.Applied, planner.Drift) {
			s := withEntities(t)
			s.Values = map[string]map[string]any{"ntp": {"key": int64(7)}}
			applied := allApplied(t, s)
			delete(applied["cmp12"], "service[chrony]")
			applied[planner.Controller]["http[ntp/register@cmp11]"] = ""
			applied[planner.Controller]["http[ntp/register@gone]"] = "d"
			return s, applied, planner.Drift{"ctl1": {"file[/etc/bridges]"}}
		},
		"errors": func(*testing.T) (site.Site, planner.Applied, planner.Drift) {
			s := lon1()
			s.Groups[0].DependsOn = []string{"ntp-nod"}
			s.Groups[1].DependsOn = []string{"compute-nodes-2"}
			s.Groups[2].DependsOn = []string{"compute-nodes-1"}
			s.Nodes[7].Name = "mon1"
			s.Services = append(s.Services,
				site.Service{Name: "nova2", Configuration: conf{"pakage": titles{"x": {}},
					"file": titles{"/etc/nova": {"modus": "1"}, "/etc/a": {"require": "file[/etc/mot]"}}}},
				site.Service{Name: "loop", Selectors: site.Selectors{{NodeNames: []string{"ctl1", "ctl9"}}},
					Configuration: conf{
						"exec": titles{"a": {"command": "/bin/a", "require": "exec[b]"},
							"b": {"command": "/bin/b", "subscribe": "exec[a]"}},
					}})
			s.Overrides[0].Groups = []string{"compute-nodes-1"}
			s.Overrides = append(s.Overrides, site.Override{Name: "typo", Nodes: []string{"ctl4"},
				Configuration: conf{"file": titles{"/x": {"notify": "service[y]"}}}})
			return s, nil, nil
		},
	}
	for name, arguments := range tests {
		t.Run(name, func(t *testing.T) {
			got := text(planner.Make(arguments(t)))
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("the plan differs from %s (-update rewrites it): %s", file, d)
			}
		})
	}
}
