package catalog

import "github.com/slipway/terraform-provider-slipway/planner/task"

// Task is the template of a task. Exactly one of Config, Remote, Callback and Steps is set. Every text in it, but Name,
// Tag and the type, is a template (see planner/catalog/template).
type Task struct {
	Name string `json:"name" key:",required"` // unique in the entity
	When string `json:"when,omitempty"`       // gives true or false; empty is true
	// ForEach makes one task of each element: a list, a map, or a template that gives one. nil: one task.
	ForEach  any           `json:"for_each,omitempty"`
	Config   *ConfigTask   `json:"config,omitempty"`
	Remote   *RemoteTask   `json:"remote,omitempty"`
	Callback *CallbackTask `json:"callback,omitempty"`
	// tasks that require the one before (litp.md 49); they have no steps themselves
	Steps []Task `json:"steps,omitempty"`

	Requires []Requirement `json:"requires,omitempty"`
	// `type[title]`, or names of config tasks of the entity, that are refreshed when this one changes
	Notify []string `json:"notify,omitempty"`
	// `type[title]` on the same node that the success of this one supersedes (litp.md 61)
	Replaces []string `json:"replaces,omitempty"`
	// Once is the reverse of LITP's persist: the task is not remembered, so every run carries it out (litp.md 50, 64).
	Once     bool       `json:"once,omitempty" key:"-"`
	Tag      task.Group `json:"tag,omitempty"`      // task group; empty: what follows from the kind (litp.md 65)
	Tolerate bool       `json:"tolerate,omitempty"` // a failure is a warning (fuel.md A4, fail_on_error: false)
}

// ConfigTask makes a configuration resource.
type ConfigTask struct {
	Type       string         `json:"type" key:",required"`
	Title      string         `json:"title" key:",required"`
	Parameters map[string]any `json:"parameters,omitempty"` // one whose template gives null is left out
}

// RemoteTask makes an action on each node of the service.
type RemoteTask struct {
	Type       string         `json:"type" key:",required"` // shell, puppet or reboot
	Parameters map[string]any `json:"parameters,omitempty"`
	Limit      int            `json:"limit,omitempty"` // how many nodes it may run on at once; 0: no limit of its own
}

// CallbackTask makes a task on the controller.
type CallbackTask struct {
	Type       string         `json:"type" key:",required"` // command, http or function
	Parameters map[string]any `json:"parameters,omitempty"`
	// one for each node of the service, else one for the service
	PerNode bool `json:"per_node,omitempty"`
	// attribute with modifier r -> name of the value that the callback returns
	Returns map[string]string `json:"returns,omitempty"`
}

// Requirement is what must come before a task. Exactly one of the fields is set (litp.md 57).
type Requirement struct {
	Task     string  `json:"task,omitempty"`     // a task of the entity, by name: all that its for_each makes
	Section  Section `json:"section,omitempty"`  // all tasks on the same node in the section
	Service  string  `json:"service,omitempty"`  // all tasks of a service, by name, on the same node
	Resource string  `json:"resource,omitempty"` // `type[title]` on the same node
}

// Parameters returns the parameters of the task, and the path of what holds them. A list of steps has none.
func (t Task) Parameters() (map[string]any, string) {
	switch {
	case t.Config != nil:
		return t.Config.Parameters, "config"
	case t.Remote != nil:
		return t.Remote.Parameters, "remote"
	case t.Callback != nil:
		return t.Callback.Parameters, "callback"
	}
	return nil, ""
}
