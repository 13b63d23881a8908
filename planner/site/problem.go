package site

import (
	"fmt"
	"strings"
)

// Code classifies a problem. The names are those of the conformance vectors where they have one.
type Code string

// Problem is one thing that is wrong with the desired state, named as the user wrote it.
type Problem struct {
	Object    string // "node", "group", "service", "override", "plugin" or "deployment"
	Name      string // the object's name
	Attribute string // path below the object: `depends_on_groups[0]`, `configuration.file["/etc/motd"].mode`
	Code      Code
	Message   string // what is wrong, then what would be right; never a secret value
	Warning   bool
}

// Error gives the problem on one line.
func (p Problem) Error() string {
	s := fmt.Sprintf("%s %q: ", p.Object, p.Name)
	if p.Attribute != "" {
		s += p.Attribute + ": "
	}
	return s + p.Message
}

// Problems are all problems of one validation; they travel together as one error.
type Problems []Problem

// Error lists the problems, a line each.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Errors returns the problems that are not warnings.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings returns the problems that stop nothing.
func (ps Problems) Warnings() Problems { return ps.filter(true) }

// Join returns the problems with more of them, without those that are there already, and without further errors of an
// attribute that has one. They are sorted.
func (ps Problems) Join(more Problems) Problems {
	known, wrong := make(map[Problem]bool, len(ps)), make(map[[3]string]bool, len(ps))
	for _, p := range ps {
		known[p] = true
		if !p.Warning {
			wrong[[3]string{p.Object, p.Name, p.Attribute}] = true
		}
	}
	out := ps
	for _, p := range more {
		if !known[p] && (p.Warning || !wrong[[3]string{p.Object, p.Name, p.Attribute}]) {
			out = append(out, p)
		}
	}
	out.Sort()
	return out
}

func (ps Problems) filter(warning bool) Problems {
	var out Problems
	for _, p := range ps {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// Problem codes.
const (
	BadName           Code = "bad_name"
	BadLabel          Code = "bad_label"
	BadValue          Code = "bad_value"
	MissingField      Code = "missing_field"
	Duplicate         Code = "duplicate"
	DuplicateGroup    Code = "duplicate_group"
	UnknownDependency Code = "unknown_dependency"
	UnknownGroup      Code = "unknown_group"
	UnknownNode       Code = "unknown_node"
	Cycle             Code = "cycle"
	UnreachableGoal   Code = "unreachable_criteria" // criteria that no outcome can meet
	NoNodes           Code = "no_nodes"             // a selector that selects nothing
	NoGroup           Code = "no_group"             // a node in no group
	UnknownType       Code = "unknown_type"
	UnknownParameter  Code = "unknown_parameter"
	BadParameter      Code = "bad_parameter"
	MissingParameter  Code = "missing_parameter"
	UnknownReference  Code = "unresolved_reference"
	DuplicateResource Code = "duplicate_resource" // two services bring the same resource to one node
	BadStructure      Code = "bad_structure"
	UnknownRole       Code = "unknown_role" // an override for a role that no node has
	EmptyType         Code = "empty_type"
	EmptyTitle        Code = "empty_title"
	NullValue         Code = "null_value"
	DependencyCycle   Code = "dependency_cycle" // resources of one node that wait for each other
	NoEffect          Code = "no_effect"        // an override that changes nothing
	NodeMoved         Code = "node_moved"       // a node that is another machine than before
	SameMachine       Code = "same_machine"     // two nodes that are one machine
	// an override makes a resource that is there under almost the same title.
	SimilarResource Code = "similar_resource"
	Protected       Code = "protected" // a plan that takes away more than it may
)
