package schema

import (
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Group declares the type group.
func Group() resource.Schema {
	return resource.Schema{
		Type:         "group",
		Summary:      "A group of the node's own database.",
		Restorable:   true,
		NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "name", Kind: resource.String, Check: checkAccountName, Description: "The group's name. Default: the title."},
			{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"},
				Description: "`present` or `absent`. Default: `present`."},
			{Name: "gid", Kind: resource.Integer, Check: checkAccountNumber,
				Description: "The group's id. Default: chosen by the node when the group is made."},
			{Name: "system", Kind: resource.Bool,
				Description: "Take the id from the range for the system when the group is made. Default: false."},
			{Name: "members", Kind: resource.StringList, Check: checkGroupNames,
				Description: "Users who are members of the group besides those whose primary group it is, by name; they must be there, and come first unless they need the group. One whose primary group it is, or will be by its user resource, needs no entry and gets none. Default: left as they are."},
			{Name: "auth_membership", Kind: resource.Bool,
				Description: "Whether the group has no other members than `members`. Default: false, others may be there."},
		},
		Check: func(r resource.Resource) []invalid.Error {
			errs := errorOf("name", checkAccountName(AccountName(r)))
			if r.Parameters.Has("auth_membership") && !r.Parameters.Has("members") {
				errs = append(errs, invalid.Error{Attribute: "auth_membership", Message: "says how members is meant, and members is not given; give members, `[]` for none"})
			}
			return errs
		},
		Alike:  ensureAlike("present", nil),
		Target: groupTarget,
	}
}

// AccountName returns the name of r's user or group.
func AccountName(r resource.Resource) string { return r.Parameters.StringOr("name", r.Title) }

// AccountWanted reports whether the user or group is to be there.
func AccountWanted(r resource.Resource) bool {
	return r.Parameters.StringOr("ensure", "present") == "present"
}

// groupTarget is the group, and whether it is to go instead of to come.
func groupTarget(r resource.Resource) (name, aim string) {
	return AccountName(r), aimOf(AccountWanted(r))
}

// aimOf is the aim of a resource that is to be there, or is to be absent.
func aimOf(there bool) string {
	if there {
		return ""
	}
	return "absent"
}
