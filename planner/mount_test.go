package planner_test

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// What is mounted takes owner, group and mode of the file for its mount point. So that file is in the plan with each
// change of the mount, also when it was applied long ago.
func TestFileOfAMountPoint(t *testing.T) {
	for name, tt := range map[string]struct {
		file, mount params
		drift       []resource.ID
		mounted     bool // already
		want        task.Action
	}{
		"mounted later":            {file: params{"mode": "0750"}, want: task.Refresh},
		"unmounted by hand":        {file: params{"owner": "db"}, mounted: true, drift: []resource.ID{"mount[/srv/data]"}, want: task.Refresh},
		"no change":                {file: params{"mode": "0750"}, mounted: true},
		"a file that says nothing": {file: params{}},
		"only looked at":           {file: params{"mode": "0750", "noop": true}},
		"another directory":        {file: params{"mode": "0750", "path": "/srv/data/in"}},
		"not mounted":              {file: params{"mode": "0750"}, mount: params{"ensure": "unmounted"}},
		"both drifted":             {file: params{"mode": "0750"}, mounted: true, drift: []resource.ID{"file[/srv/data]", "mount[/srv/data]"}, want: task.Repair},
	} {
		t.Run(name, func(t *testing.T) {
			tt.file["ensure"] = "directory"
			if tt.mount == nil {
				tt.mount = params{}
			}
			tt.mount["device"] = "LABEL=data"
			s := site.Site{Name: "s", Nodes: []site.Node{{Name: "n", Address: "192.0.2.1"}}, Services: []site.Service{
				{Name: "a", Configuration: conf{"file": titles{"/srv/data": tt.file}, "mount": titles{"/srv/data": tt.mount}}}}}
			applied, errs := planner.AppliedAfter(s)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if !tt.mounted {
				delete(applied["n"], "mount[/srv/data]")
			}
			p := mustMake(t, s, applied, planner.Drift{"n": tt.drift})
			var got task.Action
			for _, phase := range p.Phases {
				for _, c := range phase.Tasks {
					if c.Resource.ID() == "file[/srv/data]" {
						got = c.Action
					}
				}
			}
			if got != tt.want {
				t.Errorf("the file's action is %q, want %q", got, tt.want)
			}
		})
	}
}
