package site

// Plugin is what one plugin brings: tasks, and the files that they work with (seed 003; fuel.md A). Package plugin
// defines what its tasks mean.
type Plugin struct {
	Name       string `key:"name"`
	Version    string `key:"version"` // may be empty
	Tasks      []Task
	GraphTasks []GraphTask
	// whether graph tasks may name tasks that no plugin brings, as Fuel's name those of its library; else it is an error
	AllowUnknownTasks bool `key:"allow_unknown_tasks"`
	// path below the plugin's folder, with slashes -> content in base64; at most 1 MiB of content together
	Files map[string]string `key:"files"`
}

// FullName is the name that messages of a run show: name-version (fuel.md A4, diagnostic_name).
func (p Plugin) FullName() string {
	if p.Version == "" {
		return p.Name
	}
	return p.Name + "-" + p.Version
}

// Task is a stage task as written: it says in which stage of a run it belongs, and where in it by a number
// (`post_deployment/100`).
type Task struct {
	Role []string // names of roles, /regex/ over them, `*` or `master`
	// `pre_deployment` or `post_deployment`, alone or with a number after a slash
	Stage      string `key:"stage,required"`
	Type       string `key:"type,required"` // shell, puppet or reboot
	Parameters Parameters
	// whether a failure of the task is one of the run; documents that do not say mean true
	FailOnError bool `key:"fail_on_error"`
}

// GraphTask is a task that names those before and after it, as written.
type GraphTask struct {
	ID   string   `key:"id,required"`
	Type string   `key:"type,required"` // shell, puppet, reboot, group, stage or skipped; or one of Fuel's that do nothing
	Role []string // as of a stage task; a group without roles has the nodes with the role of its id
	// groups that it is a part of: their ids, or /regex/ over them, anchored at the start
	Groups      []string `key:"groups"`
	Requires    []string `key:"requires"`     // ids of the tasks before it, or /regex/ over them
	RequiredFor []string `key:"required_for"` // the same for those after it
	Tasks       []string `key:"tasks"`        // of a group only: ids of the tasks that are parts of it
	Strategy    Strategy // of a group, or of a task that runs on nodes
	Parameters  Parameters
	FailOnError bool `key:"fail_on_error"`
}

// Strategy says how the nodes of a group of graph tasks are worked on.
type Strategy struct {
	OneByOne bool // else in parallel
	Amount   int  // in parallel: at most so many nodes at once, 1 or more; 0 is all
}

// Limit returns how many nodes are worked on at once; 0 is all.
func (s Strategy) Limit() int {
	if s.OneByOne {
		return 1
	}
	return s.Amount
}

// Parameters are the parameters of a plugin's task: strings and int64 only.
type Parameters map[string]any
