package item

import "maps"

// State says what an item still needs from a plan.
type State string

// States.
const (
	Initial    State = "Initial"    // new, never applied
	Applied    State = "Applied"    // on the nodes as it is in the model
	Updated    State = "Updated"    // changed since it was applied
	ForRemoval State = "ForRemoval" // to be taken away
	Removed    State = "Removed"    // taken away, leaves the model when the plan ends
	none       State = ""
)

// event is what happens to an item.
type event int

const (
	changed         event = iota // updated, and differs from what is applied
	restored                     // updated, and equals what is applied
	sourceChanged                // inherits from an updated item, and differs from what is applied
	sourceRestored               // inherits from an updated item, and equals what is applied
	marked                       // removed, but something may be on a node
	recovered                    // created or inherited again while marked for removal, or updated in what is no configuration
	tasksSucceeded               // every task that names it succeeded
	planSucceeded                // every task of the plan succeeded
	deletionBlocked              // taken away, but something below it or inheriting from it is not
	resumed                      // the failed plan in which its tasks had succeeded goes on
	reset                        // everything is to be installed again
)

// known says on which items a transition applies, by their determinable flag.
type known int

const (
	either known = iota
	yes
	no
)

// transition is one row: an item in state from, with a previous state among previous (nil: any), goes to state to.
type transition struct {
	from         State
	event        event
	previous     []State
	determinable known
	to           State
}

// transitions is the state machine of litp.md 2.2 to 2.6. The first row that fits counts; an item that no row fits stays as it is. There
// is none from ForRemoval on a changed source: removals are kept (litp.md Q10). A removal that failed once (previous
// state Removed) has no way back (litp.md 133).
var transitions = []transition{
	{Applied, changed, nil, either, Updated},
	{ForRemoval, changed, nil, either, Updated},
	{Updated, restored, []State{Applied, Updated}, yes, Applied},

	{Updated, sourceRestored, nil, yes, Applied},
	{Applied, sourceRestored, nil, no, Updated},
	{Applied, sourceChanged, nil, either, Updated},

	{Initial, marked, nil, either, ForRemoval},
	{Applied, marked, nil, either, ForRemoval},
	{Updated, marked, nil, either, ForRemoval},

	{ForRemoval, recovered, []State{Applied}, no, Updated},
	{ForRemoval, recovered, []State{Applied}, yes, Applied},
	{ForRemoval, recovered, []State{Updated}, either, Updated},
	{ForRemoval, recovered, []State{Initial, none}, either, Initial},

	{ForRemoval, tasksSucceeded, nil, either, Removed},
	{Initial, tasksSucceeded, nil, either, Applied},
	{Updated, tasksSucceeded, nil, either, Applied},

	{Initial, planSucceeded, nil, either, Applied},
	{Updated, planSucceeded, nil, either, Applied},

	{Removed, deletionBlocked, nil, either, ForRemoval},
	{ForRemoval, resumed, []State{Removed}, either, Removed},

	{Applied, reset, nil, either, Initial},
	{Updated, reset, nil, either, Initial},
	{ForRemoval, reset, nil, either, Initial},
	{Removed, reset, nil, either, Initial},
}

func (r transition) fits(it *Item, e event) bool {
	if r.from != it.state || r.event != e || r.determinable == yes && !it.determinable || r.determinable == no && it.determinable {
		return false
	}
	for _, p := range r.previous {
		if p == it.previous {
			return true
		}
	}
	return r.previous == nil
}

// goes reports whether the item is on its way out of the model.
func (it *Item) goes() bool { return it.state == ForRemoval || it.state == Removed }

// next is the state after an event.
func (it *Item) next(e event) State {
	for _, r := range transitions {
		if r.fits(it, e) {
			return r.to
		}
	}
	return it.state
}

// on takes the item through one transition. An event that changes no state says nothing about what is applied either.
func (it *Item) on(e event) {
	if s := it.next(e); s != it.state {
		it.enter(s)
	}
}

// enter sets the state. An item that leaves ForRemoval keeps its previous state, so that a second removal can be undone to
// the same state as the first; one that becomes Applied is known to be as its merged properties say (litp.md 25-27).
func (it *Item) enter(s State) {
	if s == Applied {
		it.determinable = true
	}
	if s == it.state {
		return
	}
	if it.state != ForRemoval {
		it.previous = it.state
	}
	it.state = s
	if s == Applied {
		it.applied = it.Properties()
	}
}

// pristine reports whether the merged properties are those that are applied.
func (it *Item) pristine() bool { return maps.Equal(it.applied, it.Properties()) }
