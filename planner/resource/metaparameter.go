package resource

import "slices"

// The metaparameters: parameters that every type accepts, with Puppet's meaning.
const (
	Require   = "require"   // references: this resource comes after them, and is skipped when one of them fails
	Before    = "before"    // references: this resource comes before them
	Notify    = "notify"    // references: before them, and they are refreshed when this resource changed
	Subscribe = "subscribe" // references: after them, and refreshed when one of them changed
	Guard     = "guard"     // bool: a change is put back unless a new connection confirms it
	Noop      = "noop"      // bool: differences are reported and never repaired
	Sensitive = "sensitive" // bool: no value of this resource is ever shown

	alias, loglevel, tag = "alias", "loglevel", "tag" // accepted, see [Parameter.Unused]
)

const form = "a reference `type[title]` or a list of them"

// metaparameters are the declarations of the metaparameters, sorted by name.
var metaparameters = []Parameter{
	{Name: alias, Kind: StringList, Unused: true,
		Description: "Accepted for Puppet's sake, and changes nothing: references name the type and title."},
	{Name: Before, Kind: StringList, Description: "Resources that come after this one: " + form + "."},
	{Name: Guard, Kind: Bool, Description: "Put a change of this resource back, with what it notifies, unless slipway can connect to the node anew within two minutes after it (see [Guarded changes](operating.md#guarded-changes)). Only types whose changes can be put back take it, on nodes behind SSH that systemd or OpenRC runs. Default: false."},
	{Name: loglevel, Kind: String, Unused: true, Description: "Accepted for Puppet's sake, and changes nothing."},
	{Name: Noop, Kind: Bool, Description: "Report differences of this resource, and never apply, repair or refresh it; it notifies nobody. A difference is a warning of the refresh and of the run, no drift and no failure. What was applied before `noop` was set is still undone when the resource is removed. Default: false."},
	{Name: Notify, Kind: StringList,
		Description: "Resources that come after this one and are refreshed when it changed: " + form + "."},
	{Name: Require, Kind: StringList, Description: "Resources that come before this one: " + form + "."},
	{Name: Sensitive, Kind: Bool, Description: "Never show a value of this resource in a plan, an event, an error or the output of a command. Default: false."},
	{Name: Subscribe, Kind: StringList,
		Description: "Resources that come before this one and refresh it when one of them changed: " + form + "."},
	{Name: tag, Kind: StringList, Scalars: true, Unused: true,
		Description: "Accepted for Puppet's sake, and changes nothing: tags of nodes are what selectors see."},
}

// Metaparameters returns the declarations of the metaparameters, sorted by name. No type may declare one of these
// names. The result is the caller's own.
func Metaparameters() []Parameter { return slices.Clone(metaparameters) }

// IsMetaparameter reports whether every type accepts the parameter.
func IsMetaparameter(name string) bool {
	for i := range metaparameters {
		if metaparameters[i].Name == name {
			return true
		}
	}
	return false
}

func isReferences(name string) bool {
	return name == Require || name == Before || name == Notify || name == Subscribe
}

// References returns the resources that one of the metaparameters require, before, notify and subscribe names, in
// order. What is not a reference is left out: [Schema.Validate] refuses it.
func (r Resource) References(metaparameter string) []ID {
	var ids []ID
	add := func(value any, room int) {
		s, ok := scalarText(value)
		if !ok {
			return
		}
		if id, err := reference(s); err == nil {
			if ids == nil {
				ids = make([]ID, 0, room)
			}
			ids = append(ids, id)
		}
	}
	if list, ok := r.Parameters[metaparameter].([]any); ok {
		for _, e := range list {
			add(e, len(list))
		}
		return ids
	}
	add(r.Parameters[metaparameter], 1)
	return ids
}

// Watched begins the digest, among what is applied on a node, of a resource with noop that was never applied.
const Watched = "noop:"

// Noop reports whether differences of the resource are only to be reported.
func (r Resource) Noop() bool { return r.Parameters.Bool(Noop) }

// Guard reports whether a change of the resource is put back unless a new connection confirms it.
func (r Resource) Guard() bool { return r.Parameters.Bool(Guard) && !r.Noop() }

// Sensitive reports whether no value of the resource may be shown. Anything but a plain false counts as true, so
// that an error shows nothing either.
func (r Resource) Sensitive() bool {
	v, ok := r.Parameters[Sensitive]
	return ok && v != false
}
