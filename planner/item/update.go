package item

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Changes are properties to set, by name; nil takes an item's own value away: an inherited item has the value of its source again,
// another the default, if there is one (litp.md 17).
type Changes map[string]*string

// Update changes properties as a user may (litp.md 18, 19). An update that changes what is applied undoes the removal of an item marked for it, but not of
// what is below or inherits from it, as creating it again does. What inherits from the item is checked as well, and refused together with it (20).
// Problems may be warnings only: then the item is changed.
func (t *Tree) Update(path Path, changes Changes) site.Problems {
	return t.update(path, changes, (*Item).lockedForUsers, false)
}

// UpdateByPlugin changes properties as a plugin may: those that are plugin-updatable, whatever is applied (litp.md 4).
func (t *Tree) UpdateByPlugin(path Path, changes Changes) site.Problems {
	return t.update(path, changes, (*Item).lockedForPlugins, false)
}

// lock tells why a property of an item cannot be changed to a value, empty when it can. after is the state in which the change meets it.
type lock func(it *Item, e *element, after State, value string, set bool) string

func (it *Item) lockedForUsers(e *element, after State, value string, set bool) string {
	applied, was := it.applied[e.Name]
	now := it.merged(nil)
	current, is := now[e.Name]
	if after == Updated {
		current, is = applied, was
	}
	switch {
	case is == set && current == value:
		return ""
	case e.Managed:
		return "is kept by the planner; leave it out"
	case e.UserReadOnly && is && was && after != Initial:
		return "cannot be changed once it is applied; remove the item and create it new"
	}
	return ""
}

func (it *Item) lockedForPlugins(e *element, _ State, value string, set bool) string {
	if current, is := it.merged(nil)[e.Name]; e.PluginUpdatable || e.Managed || is == set && current == value {
		return ""
	}
	return "is not plugin-updatable; only users change it"
}

// update changes properties, of an item that is created or inherited again after it came back.
func (t *Tree) update(path Path, changes Changes, locked lock, again bool) site.Problems {
	it := t.items[path]
	if it == nil {
		return one(path, "", InvalidLocation, "there is no such item; create it first")
	}
	if it.state == ForRemoval {
		if problems := mayRecover(it); problems != nil {
			return problems
		}
	}
	own, problems := it.mayUpdate(changes, locked)
	if problems != nil {
		return problems
	}
	if again {
		bringBack(it)
	}
	return append(it.change(changes, own), deprecations(it)...)
}

// mayUpdate checks an update of an item and its effect on all that inherits from it. It gives the item's own properties after the update.
func (it *Item) mayUpdate(changes Changes, locked lock) (map[string]string, site.Problems) {
	switch {
	case len(changes) == 0:
		return it.own, nil
	case it.readOnly():
		return nil, one(it.path, "", ValidationFailed, "a read-only reference has no values of its own; update its source")
	case it.IsCollection():
		return nil, one(it.path, sortedKeys(changes)[0], PropertyNotAllowed, "a collection has no properties; update the items in it")
	}
	own, problems := it.ownAfter(changes)
	if problems != nil {
		return nil, problems
	}
	after := map[*Item]map[string]string{it: own}
	for _, at := range append([]*Item{it}, it.Heirs()...) {
		if at != it && at.overrides(changes) {
			continue
		}
		merged := at.merged(after)
		problems = append(problems, at.lockedChanges(changes, merged, locked)...)
		problems = append(problems, checkProperties(at.path, at.typ, merged)...)
	}
	return own, problems
}

// ownAfter is what an item has of its own after an update.
func (it *Item) ownAfter(changes Changes) (map[string]string, site.Problems) {
	var problems site.Problems
	own := maps.Clone(it.own)
	for _, name := range sortedKeys(changes) {
		value, e := changes[name], it.typ.byName[name]
		_, set := own[name]
		switch {
		case value != nil:
			own[name] = *value
		case it.source == nil && e != nil && e.Default != nil:
			own[name] = *e.Default
		case it.source == nil && !set:
			problems = append(problems, problem(it.path, name, InvalidRequest, "there is no value to take away; leave it out"))
		default:
			delete(own, name)
		}
	}
	return own, problems
}

// lockedChanges reports properties of an item that a change would move although they are not to be moved.
func (it *Item) lockedChanges(changes Changes, merged map[string]string, locked lock) site.Problems {
	var problems site.Problems
	after := it.state
	if after == ForRemoval {
		after = it.comesBackAs()
	}
	for _, name := range sortedKeys(changes) {
		e := it.typ.byName[name]
		if e == nil || e.Kind != Property {
			continue
		}
		value, set := merged[name]
		if m := locked(it, e, after, value, set); m != "" {
			problems = append(problems, problem(it.path, name, InvalidRequest, "the property %s", m))
		}
	}
	return problems
}

// overrides reports whether an item has values of its own for all properties that change in its source (litp.md 28).
func (it *Item) overrides(changes Changes) bool {
	for name := range changes {
		if _, own := it.own[name]; !own {
			return false
		}
	}
	return true
}

// change sets what was checked, and the states that follow, of the item and of all that inherits from it (litp.md 2.2, 2.3).
func (it *Item) change(changes Changes, own map[string]string) site.Problems {
	if len(changes) == 0 {
		return nil
	}
	it.own = own
	data := it.applyData(changes)
	switch {
	case !it.pristine():
		it.on(changed)
	case data && it.state == ForRemoval && (it.previous == Applied || it.previous == Updated):
		it.on(recovered)
	default:
		it.on(restored)
	}
	var warnings site.Problems
	for _, heir := range it.Heirs() {
		if heir.overrides(changes) {
			continue
		}
		heir.applyData(changes)
		if heir.goes() {
			w := problem(heir.path, "", RemovalKept, "inherits from %s, which changed, and stays marked for removal; create it again to keep it", it.path)
			w.Warning = true
			warnings = append(warnings, w)
			continue
		}
		if heir.pristine() {
			heir.on(sourceRestored)
		} else {
			heir.on(sourceChanged)
		}
		for _, child := range heir.children {
			if child.IsCollection() {
				child.enter(heir.state)
			}
		}
	}
	return warnings
}

// applyData copies the values of changed properties that are no configuration: they need no task (litp.md 2.2). It reports whether there were any.
func (it *Item) applyData(changes Changes) bool {
	found := false
	merged := it.merged(nil)
	for name := range changes {
		if e := it.typ.byName[name]; e == nil || !e.Data {
			continue
		}
		found = true
		if value, set := merged[name]; set {
			it.applied[name] = value
		} else {
			delete(it.applied, name)
		}
	}
	return found
}

// Set is a convenience for [Changes]: all values are to be set.
func Set(properties map[string]string) Changes {
	changes := make(Changes, len(properties))
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		changes[name] = new(properties[name])
	}
	return changes
}
