package converge

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// shadowTool returns an error when the node has not got one of the shadow tools.
func shadowTool(s *Session, name string) error {
	found, err := s.FirstThere("/usr/sbin/"+name, "/sbin/"+name, "/usr/bin/"+name)
	if err == nil && found == "" {
		err = fmt.Errorf("the node has no %s; install the package that brings it (passwd on Debian, "+
			"shadow-utils on Fedora, shadow on Alpine)", name)
	}
	return err
}

// groupNamed returns the name of the group with an id, empty when there is none; of several, the first by name.
func groupNamed(groups map[string]system.Group, gid int) string {
	found := ""
	for name, g := range groups {
		if g.GID == gid && (found == "" || name < found) {
			found = name
		}
	}
	return found
}

// memberships returns the names of the groups that list user as a member, sorted.
func memberships(groups map[string]system.Group, user string) []string {
	var out []string
	for name, g := range groups {
		if slices.Contains(g.Members, user) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
