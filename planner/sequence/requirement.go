package sequence

import (
	"fmt"
	"strings"
)

// Requirement is what a task names as coming before it (litp.md 57). One of the fields is set.
type Requirement struct {
	Task     string   // id of a task
	Item     string   // path of an item: all tasks on it and below, the task itself excepted
	Resource Resource // all config tasks of this resource, on any node
}

// ParseRequirement reads `task:ID`, `item:PATH` or `key:TYPE=TITLE`. A title may contain equals signs, a type may not.
func ParseRequirement(s string) (Requirement, error) {
	kind, rest, _ := strings.Cut(s, ":")
	switch {
	case kind == "task" && rest != "":
		return Requirement{Task: rest}, nil
	case kind == "item" && strings.HasPrefix(rest, "/"):
		return Requirement{Item: rest}, nil
	case kind == "key":
		if typ, title, ok := strings.Cut(rest, "="); ok && typ != "" && title != "" {
			return Requirement{Resource: Resource{typ, title}}, nil
		}
	}
	return Requirement{}, fmt.Errorf("%q is no requirement; one of task:ID, item:/PATH and key:TYPE=TITLE would be", s)
}

// String is the form that [ParseRequirement] reads.
func (r Requirement) String() string {
	switch {
	case r.Task != "":
		return "task:" + r.Task
	case r.Item != "":
		return "item:" + r.Item
	default:
		return "key:" + r.Resource.Type + "=" + r.Resource.Title
	}
}

// valid reports whether exactly one field is set.
func (r Requirement) valid() bool {
	set := 0
	for _, has := range []bool{r.Task != "", r.Item != "", r.Resource.Type != "" && r.Resource.Title != ""} {
		if has {
			set++
		}
	}
	return set == 1
}
