package converge

import (
	"fmt"
	"slices"
)

func checkAccountName(v any) error {
	if name, _ := v.(string); !isAccountName(name) {
		return fmt.Errorf("%q is not a name for it: a letter or _ first, then letters, digits and _ . -, at most 32 in all", name)
	}
	return nil
}

// highestAccount is the highest user or group id: the two above mean "none" to the kernel.
const highestAccount = 1<<32 - 3

func checkAccountNumber(v any) error {
	if n, _ := v.(int64); n < 0 || n > highestAccount {
		return fmt.Errorf("%d is out of bounds: 0 to %d", n, int64(highestAccount))
	}
	return nil
}

// shadowTool returns an error when the node has not got one of the shadow tools.
func shadowTool(s *System, name string) error {
	found, err := firstThere(s, "/usr/sbin/"+name, "/sbin/"+name, "/usr/bin/"+name)
	if err == nil && found == "" {
		err = fmt.Errorf("the node has no %s; install the package that brings it (passwd on Debian, shadow-utils on Fedora, shadow on Alpine)", name)
	}
	return err
}

// groupNamed returns the name of the group with an id, empty when there is none; of several, the first by name.
func groupNamed(groups map[string]Group, gid int) string {
	found := ""
	for name, g := range groups {
		if g.GID == gid && (found == "" || name < found) {
			found = name
		}
	}
	return found
}

// memberships returns the names of the groups that list user as a member, sorted.
func memberships(groups map[string]Group, user string) []string {
	var out []string
	for name, g := range groups {
		if slices.Contains(g.Members, user) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
