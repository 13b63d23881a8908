package plugin

import (
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Name is what a plan calls the task: the plugin, and its place in the plugin's document, from 1. It is unique among
// plugins that are valid together, with those of graph tasks.
func (o Ordered) Name() string { return fmt.Sprintf("%s/%d", o.Plugin.FullName(), o.Index+1) }

// Resource is what the task is to a plan: an action with its settings.
func (o Ordered) Resource() resource.Resource {
	return action(o.Name(), o.Task.Type, o.Task.Parameters, o.Plugin.Files)
}

// Name is what a plan calls the task: the plugin and the task's id.
func (w NodeTask) Name() string { return w.Plugin.FullName() + "/" + w.Task.ID }

// Resource is what the task is to a plan: an action with its settings.
func (w NodeTask) Resource() resource.Resource {
	return action(w.Name(), w.Task.Type, w.Task.Parameters, w.Plugin.Files)
}

// renamed are the parameters that have another name in an action than in Fuel's documents.
var renamed = map[string]string{"cmd": "command", "puppet_manifest": "manifest", "puppet_modules": "modules"}

// ParameterOf returns the name in a plugin's document of a parameter of an action.
func ParameterOf(name string) string {
	for fuels, ours := range renamed {
		if ours == name {
			return fuels
		}
	}
	return name
}

// action translates a task to an action: Fuel's parameters become `command`, `manifest` and `modules`, times are in
// seconds, and a task that may use the plugin's files carries them.
func action(name, typ string, p site.Parameters, files map[string]string) resource.Resource {
	s := SettingsOf(typ, p)
	out := resource.Parameters{"timeout": int64(s.Timeout / time.Second)}
	if typ != Reboot {
		out["retries"], out["interval"] = int64(s.Retries), int64(s.Interval/time.Second)
		for fuels, ours := range renamed {
			if value, ok := p[fuels].(string); ok {
				out[ours] = value
			}
		}
		if s.Directory != "" {
			out["cwd"] = s.Directory
		}
		if len(files) > 0 {
			content := make(map[string]any, len(files))
			for path, text := range files {
				content[path] = text
			}
			out["files"] = content
		}
	}
	return resource.Resource{Type: typ, Title: name, Parameters: out}
}
