package lifecycle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/digraph"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The codes of errors in a lifecycle: those of lsm.md 5, and some for names and sizes.
const (
	UnknownStateCode  invalid.Code = "unknown_state"
	BadTrigger        invalid.Code = "bad_trigger"
	BadOperation      invalid.Code = "bad_operation"
	BadLabel          invalid.Code = "bad_label"
	BadAttributeSet   invalid.Code = "bad_attribute_set"
	DeletedExports    invalid.Code = "deleted_exports"
	ValidateNot       invalid.Code = "validate_not_allowed"
	ErrorRequired     invalid.Code = "error_state_required"
	ErrorUnused       invalid.Code = "error_state_unused"
	ConfigNot         invalid.Code = "config_not_allowed"
	Ambiguous         invalid.Code = "ambiguous_transfer"
	FromDeleted       invalid.Code = "transfer_from_deleted"
	SameChangesExport invalid.Code = "same_state_changes_export"
	AutoCycle         invalid.Code = "auto_cycle"
	NoDeleted         invalid.Code = "no_deleted_state_reachable"
	Unreachable       invalid.Code = "unreachable_state"
	BadName           invalid.Code = "bad_name"
	DuplicateState    invalid.Code = "duplicate_state"
	TooLarge          invalid.Code = "too_large"
)

// nameForm is the form of the names of states and gates.
var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

const nameLimit = 253

const (
	// maxStates and maxTransfers bound a lifecycle; the largest known one has 26 and 56.
	maxStates    = 1000
	maxTransfers = 10_000
	// maxErrors bounds the reported errors of one lifecycle.
	maxErrors = 1000
)

// Lint returns all errors of a lifecycle, in its order, then those of the lifecycle as a whole. [New] requires that
// there are none. The rules are those of lsm.md 5; all known lifecycles follow them.
func Lint(l Lifecycle) []invalid.Error {
	n := &linter{l: l, states: make(map[string]*State, len(l.States))}
	if len(l.States) > maxStates || len(l.Transfers) > maxTransfers {
		n.add("", TooLarge, "there are %d states and %d transfers; use at most %d and %d", len(l.States),
			len(l.Transfers), maxStates, maxTransfers)
		return n.errs
	}
	if l.Name != "" {
		n.name("", l.Name)
	}
	for i := range l.States {
		s := &l.States[i]
		if _, ok := n.states[s.Name]; ok {
			n.add(statePath(s.Name), DuplicateState, "there is another state %q; give each a name of its own", s.Name)
			continue
		}
		n.states[s.Name] = s
		n.names = append(n.names, s.Name)
	}
	n.known("initial", l.Initial)
	for i, s := range l.AlternativeInitial {
		n.known(fmt.Sprintf("alternative_initial[%d]", i), s)
	}
	for _, name := range n.names {
		n.state(n.states[name])
	}
	first := make(map[[3]string]int)
	for i, t := range l.Transfers {
		n.transfer(i, t, first)
	}
	n.reach()
	n.cycles()
	return n.errs
}

// statePath returns the path of a state.
func statePath(state string) string {
	if nameForm.MatchString(state) && !strings.ContainsAny(state, ".") {
		return "states." + state
	}
	return fmt.Sprintf("states[%q]", state)
}

type linter struct {
	l      Lifecycle
	states map[string]*State
	names  []string // in the order of the lifecycle
	errs   []invalid.Error
}

func (n *linter) add(path string, code invalid.Code, format string, args ...any) {
	if len(n.errs) >= maxErrors {
		return
	}
	n.errs = append(n.errs, invalid.Error{Attribute: path, Code: code, Message: fmt.Sprintf(format, args...)})
}

// known reports a state that does not exist.
func (n *linter) known(path, state string) bool {
	if _, ok := n.states[state]; ok {
		return true
	}
	if len(n.errs) < maxErrors {
		n.add(path, UnknownStateCode, "there is no state %q%s", shown(state), resource.Choices(state, n.names))
	}
	return false
}

func (n *linter) name(path, name string) {
	if !nameForm.MatchString(name) || len(name) > nameLimit {
		n.add(path, BadName,
			"%q is not a usable name; use letters, digits, '_', '.' and '-', begin with a letter or '_', and stay within %d characters", shown(name), nameLimit)
	}
}

// shown returns the beginning of a word.
func shown[T ~string](word T) string {
	const most = 100
	if len(word) <= most {
		return string(word)
	}
	return strings.ToValidUTF8(string(word[:most]), "") + "..."
}

func (n *linter) state(s *State) {
	at := statePath(s.Name)
	n.name(at, s.Name)
	if s.Label != "" && !slices.Contains(Labels(), s.Label) {
		n.add(at+".label", BadLabel, "there is no label %q%s", shown(s.Label), resource.Choices(string(s.Label), Labels()))
	}
	validated := []Set{Candidate, Active}
	for _, f := range []struct {
		key   string
		set   Set
		known []Set
	}{
		{"self", s.ValidateSelf, validated}, {"others", s.ValidateOthers, validated},
		{"previous_on_validate", s.PreviousOnValidate, AllSets()}, {"previous_on_export", s.PreviousOnExport,
			AllSets()},
	} {
		if f.set != None && !slices.Contains(f.known, f.set) {
			n.add(at+"."+f.key, BadAttributeSet, "%q is no set of attributes for it%s", shown(f.set),
				resource.Choices(string(f.set), f.known))
		}
	}
	switch {
	case s.ModelState == "":
	case !slices.Contains(ModelStates(), s.ModelState):
		n.add(at+".model_state", BadAttributeSet, "there is no model state %q%s", shown(s.ModelState),
			resource.Choices(string(s.ModelState), ModelStates()))
	case s.Export || s.ValidateSelf != None || s.ValidateOthers != None:
		n.add(at+".model_state", BadAttributeSet,
			"stands beside export, self or others, which say the same; keep one of the two forms")
	}
	if s.Deleted && s.exports() {
		n.add(at+".deleted", DeletedExports,
			"a deleted service takes part in nothing, but the state exports; leave out one of the two")
	}
}

func (n *linter) transfer(i int, t Transfer, first map[[3]string]int) {
	at := fmt.Sprintf("transfers[%d]", i)
	source := n.known(at+".from", t.Source)
	target := n.known(at+".to", t.Target)
	failure := t.Error != "" && n.known(at+".error", t.Error)
	for _, o := range []struct {
		key string
		op  Operation
	}{{"op", t.Operation}, {"error_op", t.ErrorOperation}} {
		if _, ok := operationNamed(o.op); !ok && o.op != NoOperation {
			n.add(at+"."+o.key, BadOperation, "there is no operation %q%s", shown(o.op),
				resource.Choices(string(o.op), Operations()))
		}
	}
	if source && n.states[t.Source].Deleted {
		n.add(at+".from", FromDeleted, "%q is a deleted state; nothing leads out of one", t.Source)
	}
	if slices.Contains(Triggers(), t.Trigger) {
		n.trigger(at, t)
		n.unambiguous(at, i, t, first)
	} else {
		n.add(at+".trigger", BadTrigger, "there is no trigger %q%s", shown(t.Trigger),
			resource.Choices(string(t.Trigger), Triggers()))
	}
	if source && target && t.Preserves {
		n.preserves(at+".same", t.Source, t.Target)
	}
	if source && failure && t.ErrorPreserves {
		n.preserves(at+".error_same", t.Source, t.Error)
	}
}

// trigger checks the attributes that depend on the trigger of a transfer.
func (n *linter) trigger(at string, t Transfer) {
	mayValidate := t.Trigger == Auto || t.Trigger == APISetState
	if t.Validate && !mayValidate {
		n.add(at+".validate", ValidateNot,
			"a transfer by %s is not validated; only those by auto and api_set_state are", t.Trigger)
	}
	switch fails := t.Validate || t.Trigger == ResourceBased; {
	case fails && t.Error == "":
		n.add(at, ErrorRequired, "the transfer from %q to %q may fail; name the state that it leads to then, as error",
			shown(t.Source), shown(t.Target))
	case !fails && t.Error != "":
		n.add(at+".error", ErrorUnused,
			"the transfer cannot fail: it is neither validated nor by resource_based; leave the error state out")
	case t.Error == "" && t.ErrorOperation != NoOperation:
		n.add(at+".error_op", BadOperation,
			"there is no error state, so nothing happens on the way to it; leave the operation out")
	}
	switch {
	case t.Config == "":
	case t.Trigger != Auto:
		n.add(at+".config", ConfigNot, "a transfer by %s has no gate; only those by auto have one", t.Trigger)
	default:
		n.name(at+".config", t.Config)
	}
}

// unambiguous reports a second transfer with the same trigger and source.
func (n *linter) unambiguous(at string, i int, t Transfer, first map[[3]string]int) {
	key := [3]string{string(t.Trigger), t.Source}
	if t.Trigger == APISetState {
		key[2] = t.Target
	}
	earlier, ok := first[key]
	switch {
	case !ok:
		first[key] = i
	case t.Trigger == APISetState:
		n.add(at, Ambiguous, "transfers[%d] leads from %q to %q by %s too; keep one", earlier, t.Source, t.Target,
			t.Trigger)
	default:
		n.add(at, Ambiguous, "transfers[%d] leads out of %q by %s too; a state has one transfer of that kind", earlier,
			t.Source, t.Trigger)
	}
}

// preserves reports a transfer that preserves the desired state although its ends export different things (lsm.md 10).
func (n *linter) preserves(at, source, target string) {
	s, t := n.states[source], n.states[target]
	switch {
	case s.exports() != t.exports():
		n.add(at, SameChangesExport,
			"only one of %q and %q exports, so the desired state changes on the way; leave it out", source, target)
	case s.Purge != t.Purge:
		n.add(at, SameChangesExport,
			"only one of %q and %q purges, so the desired state changes on the way; leave it out", source, target)
	}
}

// reach reports states that no service can reach, and a lifecycle that services never leave.
func (n *linter) reach() {
	reached := make(map[string]bool, len(n.states))
	queue := append([]string{n.l.Initial}, n.l.AlternativeInitial...)
	leads := make(map[string][]string)
	for _, t := range n.l.Transfers {
		leads[t.Source] = append(leads[t.Source], t.Target, t.Error)
	}
	deleted := false
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		s, ok := n.states[at]
		if !ok || reached[at] {
			continue
		}
		reached[at] = true
		deleted = deleted || s.Deleted
		queue = append(queue, leads[at]...)
	}
	for _, name := range n.names {
		if !reached[name] {
			n.add(statePath(name), Unreachable,
				"no transfers lead to the state %q from an initial one; add one, or leave the state out", name)
		}
	}
	if !deleted {
		n.add("", NoDeleted,
			"no transfers lead from the initial state to one with deleted: true, so a service could never be removed; add one")
	}
}

// cycles reports cycles of auto transfers, including those through a failed validation, which would never end.
func (n *linter) cycles() {
	leads := make(map[string][]string)
	place := make(map[string]int)
	for i, t := range n.l.Transfers {
		if t.Trigger != Auto {
			continue
		}
		if _, ok := place[t.Source]; !ok {
			place[t.Source] = i
		}
		leads[t.Source] = append(leads[t.Source], t.Target)
		if t.Validate && t.Error != "" {
			leads[t.Source] = append(leads[t.Source], t.Error)
		}
	}
	for _, cycle := range digraph.CyclesOf(leads) {
		n.add(fmt.Sprintf("transfers[%d]", place[cycle[0]]), AutoCycle,
			"auto transfers lead in a circle: %s; let a person or a deployment set one of them off",
			strings.Join(cycle, " -> "))
	}
}
