package site

// Plugin is what one plugin brings: tasks, and the files that they work with (seed 003; fuel.md A). Package plugin
// defines what its tasks mean.
type Plugin struct {
	Name       string
	Version    string // may be empty
	Tasks      []Task
	GraphTasks []GraphTask
	// path below the plugin's folder, with slashes -> content in base64; at most 1 MiB of content together
	Files map[string]string
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
	Role        []string // names of roles, /regex/ over them, `*` or `master`
	Stage       string   // `pre_deployment` or `post_deployment`, alone or with a number after a slash
	Type        string   // shell, puppet or reboot
	Parameters  Parameters
	FailOnError bool // whether a failure of the task is one of the run; documents that do not say mean true
}

// GraphTask is a task that names those before and after it, as written.
type GraphTask struct {
	ID          string
	Type        string   // shell, puppet, reboot, group, stage or skipped
	Role        []string // as of a stage task; a group without roles has the nodes with the role of its id
	Groups      []string // groups that it is a part of: their ids, or /regex/ over them, anchored at the start
	Requires    []string // ids of the tasks before it
	RequiredFor []string // ids of the tasks after it
	Tasks       []string // of a group only: ids of the tasks that are parts of it
	Strategy    Strategy // of a group only
	Parameters  Parameters
	FailOnError bool
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
