package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// sound is a small lifecycle without errors.
func sound() lifecycle.Lifecycle {
	return lifecycle.Lifecycle{
		Name: "sound", Initial: "start",
		States: []lifecycle.State{
			{Name: "start", Label: lifecycle.Info, ValidateSelf: lifecycle.Candidate},
			{Name: "up", Label: lifecycle.Success, Export: true, ValidateSelf: lifecycle.Active,
				ValidateOthers: lifecycle.Active},
			{Name: "gone", Deleted: true},
		},
		Transfers: []lifecycle.Transfer{
			{Source: "start", Target: "up", Error: "gone", Trigger: lifecycle.Auto, Validate: true,
				Operation: lifecycle.Promote},
			{Source: "up", Target: "up", Error: "up", Trigger: lifecycle.ResourceBased},
			{Source: "up", Target: "gone", Trigger: lifecycle.OnDelete},
		},
	}
}

func TestLint(t *testing.T) {
	add := func(transfers ...lifecycle.Transfer) func(l *lifecycle.Lifecycle) {
		return func(l *lifecycle.Lifecycle) { l.Transfers = append(l.Transfers, transfers...) }
	}
	state := func(change func(s *lifecycle.State)) func(l *lifecycle.Lifecycle) {
		return func(l *lifecycle.Lifecycle) { change(&l.States[1]) }
	}
	tests := []struct {
		name   string
		change func(l *lifecycle.Lifecycle)
		want   []string // path and code of each error
	}{
		{"sound", func(*lifecycle.Lifecycle) {}, nil},
		{"no initial state", func(l *lifecycle.Lifecycle) { l.Initial = "" }, []string{
			"initial unknown_state", "states.start unreachable_state", "states.up unreachable_state", "states.gone unreachable_state", " no_deleted_state_reachable"}},
		{"unknown states", func(l *lifecycle.Lifecycle) {
			l.AlternativeInitial = []string{"up", "upp"}
			l.Transfers = append(l.Transfers, lifecycle.Transfer{Source: "a", Target: "b", Error: "c",
				Trigger: lifecycle.ResourceBased})
		}, []string{
			"alternative_initial[1] unknown_state", "transfers[3].from unknown_state", "transfers[3].to unknown_state", "transfers[3].error unknown_state"}},
		{"bad trigger", add(lifecycle.Transfer{Source: "up", Target: "gone", Trigger: "on_failure", Config: "x",
			Error: "up"}), []string{"transfers[3].trigger bad_trigger"}},
		{"no trigger", add(lifecycle.Transfer{Source: "up", Target: "gone"}),
			[]string{"transfers[3].trigger bad_trigger"}},
		{"bad operations", add(lifecycle.Transfer{Source: "start", Target: "gone", Error: "up",
			Trigger: lifecycle.ResourceBased, Operation: "demote", ErrorOperation: "clear"}),
			[]string{"transfers[3].op bad_operation", "transfers[3].error_op bad_operation"}},
		{"an operation on no way", add(lifecycle.Transfer{Source: "up", Target: "gone", Trigger: lifecycle.APISetState,
			ErrorOperation: lifecycle.Promote}),
			[]string{"transfers[3].error_op bad_operation"}},
		{"bad label", state(func(s *lifecycle.State) { s.Label = "green" }), []string{"states.up.label bad_label"}},
		{"bad sets", state(func(s *lifecycle.State) {
			s.ValidateSelf, s.ValidateOthers, s.PreviousOnValidate, s.PreviousOnExport = "rollback", "activ", "x", "rollback"
		}), []string{
			"states.up.self bad_attribute_set", "states.up.others bad_attribute_set", "states.up.previous_on_validate bad_attribute_set"}},
		{"bad model state", state(func(s *lifecycle.State) { s.Export, s.ModelState = false, "live" }),
			[]string{"states.up.model_state bad_attribute_set"}},
		{"two forms", state(func(s *lifecycle.State) { s.ModelState = lifecycle.ActiveModel }),
			[]string{"states.up.model_state bad_attribute_set"}},
		{"deleted exports", func(l *lifecycle.Lifecycle) { l.States[2].Export = true },
			[]string{"states.gone.deleted deleted_exports"}},
		{"deleted exports, old form", func(l *lifecycle.Lifecycle) { l.States[2].ModelState = lifecycle.DesignedModel },
			[]string{"states.gone.deleted deleted_exports"}},
		{"validated update", add(lifecycle.Transfer{Source: "up", Target: "start", Error: "up",
			Trigger: lifecycle.OnUpdate, Validate: true}), []string{"transfers[3].validate validate_not_allowed"}},
		{"validated deletion", func(l *lifecycle.Lifecycle) {
			l.Transfers[2].Validate, l.Transfers[2].Error = true,
				"up"
		}, []string{"transfers[2].validate validate_not_allowed"}},
		{"validated result", func(l *lifecycle.Lifecycle) { l.Transfers[1].Validate = true },
			[]string{"transfers[1].validate validate_not_allowed"}},
		{"no error state", func(l *lifecycle.Lifecycle) { l.Transfers[0].Error, l.Transfers[1].Error = "", "" },
			[]string{"transfers[0] error_state_required", "transfers[1] error_state_required"}},
		{"an error state for nothing", func(l *lifecycle.Lifecycle) { l.Transfers[2].Error = "up" },
			[]string{"transfers[2].error error_state_unused"}},
		{"gate on another trigger", add(lifecycle.Transfer{Source: "up", Target: "start",
			Trigger: lifecycle.APISetState, Config: "g"}), []string{"transfers[3].config config_not_allowed"}},
		{"gate on a result", func(l *lifecycle.Lifecycle) { l.Transfers[1].Config = "g" },
			[]string{"transfers[1].config config_not_allowed"}},
		{"bad gate", func(l *lifecycle.Lifecycle) { l.Transfers[0].Config = "a b" },
			[]string{"transfers[0].config bad_name"}},
		{"two of a trigger", add(
			lifecycle.Transfer{Source: "start", Target: "gone", Trigger: lifecycle.Auto},
			lifecycle.Transfer{Source: "up", Target: "gone", Error: "up", Trigger: lifecycle.ResourceBased},
			lifecycle.Transfer{Source: "up", Target: "start", Trigger: lifecycle.OnDelete},
			lifecycle.Transfer{Source: "start", Target: "gone", Trigger: lifecycle.OnUpdate},
			lifecycle.Transfer{Source: "start", Target: "start", Trigger: lifecycle.OnUpdate},
		), []string{
			"transfers[3] ambiguous_transfer", "transfers[4] ambiguous_transfer", "transfers[5] ambiguous_transfer", "transfers[7] ambiguous_transfer"}},
		{"set-state to two targets", add(
			lifecycle.Transfer{Source: "up", Target: "start", Trigger: lifecycle.APISetState},
			lifecycle.Transfer{Source: "up", Target: "gone", Trigger: lifecycle.APISetState},
		), nil},
		{"set-state to one target twice", add(
			lifecycle.Transfer{Source: "up", Target: "start", Trigger: lifecycle.APISetState},
			lifecycle.Transfer{Source: "up", Target: "start", Error: "gone", Trigger: lifecycle.APISetState,
				Validate: true},
		), []string{"transfers[4] ambiguous_transfer"}},
		{"out of a deleted state", add(lifecycle.Transfer{Source: "gone", Target: "start",
			Trigger: lifecycle.APISetState}), []string{"transfers[3].from transfer_from_deleted"}},
		{"preserves between exporting and not", func(l *lifecycle.Lifecycle) {
			l.Transfers[0].Preserves,
				l.Transfers[0].ErrorPreserves = true, true
		}, []string{"transfers[0].same same_state_changes_export"}},
		{"preserves on the way to the error state", func(l *lifecycle.Lifecycle) {
			l.Transfers[1].Error, l.Transfers[1].Preserves, l.Transfers[1].ErrorPreserves = "start", true, true
		}, []string{"transfers[1].error_same same_state_changes_export"}},
		{"preserves between purging and not", func(l *lifecycle.Lifecycle) {
			purging := l.States[1]
			purging.Name, purging.Purge = "deleting", true
			l.States = append(l.States, purging)
			l.Transfers[2].Target, l.Transfers[2].Preserves = "deleting", true
			l.Transfers = append(l.Transfers, lifecycle.Transfer{Source: "deleting", Target: "gone", Error: "deleting",
				Trigger: lifecycle.ResourceBased, ErrorPreserves: true})
		}, []string{"transfers[2].same same_state_changes_export"}},
		{"a circle of autos", add(lifecycle.Transfer{Source: "up", Target: "start", Trigger: lifecycle.Auto}),
			[]string{"transfers[0] auto_cycle"}},
		{"an auto to itself", add(lifecycle.Transfer{Source: "up", Target: "up", Trigger: lifecycle.Auto,
			Operation: lifecycle.ClearCandidate}), []string{"transfers[3] auto_cycle"}},
		{"a circle through a failed validation", func(l *lifecycle.Lifecycle) { l.Transfers[0].Error = "start" },
			[]string{"transfers[0] auto_cycle"}},
		{"a circle with a person in it", add(lifecycle.Transfer{Source: "up", Target: "start",
			Trigger: lifecycle.APISetState}), nil},
		{"no way to the end", func(l *lifecycle.Lifecycle) {
			l.Transfers[0].Error, l.Transfers = "up", l.Transfers[:2]
		}, []string{"states.gone unreachable_state", " no_deleted_state_reachable"}},
		{"an island", func(l *lifecycle.Lifecycle) { l.States = append(l.States, lifecycle.State{Name: "island"}) },
			[]string{"states.island unreachable_state"}},
		{"reached by an alternative", func(l *lifecycle.Lifecycle) {
			l.States = append(l.States, lifecycle.State{Name: "imported"})
			l.AlternativeInitial = []string{"imported"}
		}, nil},
		{"the same name twice", func(l *lifecycle.Lifecycle) { l.States = append(l.States, l.States[1]) },
			[]string{"states.up duplicate_state"}},
		{"bad names", func(l *lifecycle.Lifecycle) {
			l.Name = "my lifecycle"
			l.States = append(l.States, lifecycle.State{Name: "a b"}, lifecycle.State{Name: "a.b"})
			l.AlternativeInitial = []string{"a b", "a.b"}
		}, []string{" bad_name", `states["a b"] bad_name`}},
		{"too large", func(l *lifecycle.Lifecycle) { l.States = make([]lifecycle.State, 1001) },
			[]string{" too_large"}},
		{"all at once", func(l *lifecycle.Lifecycle) {
			*l = lifecycle.Lifecycle{Initial: "s", States: []lifecycle.State{{Name: "s", Label: "green"}, {Name: "t"},
				{Name: "island"}}, Transfers: []lifecycle.Transfer{
				{Source: "s", Target: "t", Trigger: lifecycle.APISetState, Operation: "demote"}, {Source: "t",
					Target: "nowhere", Trigger: lifecycle.OnDelete}}}
		}, []string{
			"states.s.label bad_label", "transfers[0].op bad_operation", "transfers[1].to unknown_state", "states.island unreachable_state", " no_deleted_state_reachable"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := sound()
			tt.change(&l)
			errs := lifecycle.Lint(l)
			var got []string
			for _, p := range errs {
				got = append(got, p.Attribute+" "+string(p.Code))
				if !strings.HasPrefix(p.Error(), p.Attribute) || p.Message == "" {
					t.Errorf("%+v reads %q", p, p.Error())
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
			m, again := lifecycle.New(l)
			if (m == nil) != (len(errs) > 0) || len(again) != len(errs) {
				t.Errorf("a machine of a lifecycle with %d problems: %v, %d problems", len(errs), m != nil,
					len(again))
			}
		})
	}
}

func TestLintNamesWhatMayBeMeant(t *testing.T) {
	l := sound()
	l.Transfers[2].Target = "gon"
	if got := lifecycle.Lint(l)[0].Error(); got != `transfers[2].to: there is no state "gon"; did you mean "gone"?` {
		t.Error(got)
	}
}

func TestLintIsBounded(t *testing.T) {
	l := sound()
	for range 5000 {
		l.Transfers = append(l.Transfers, lifecycle.Transfer{Source: strings.Repeat("x", 5000), Target: "y", Error: "z",
			Trigger: "w"})
	}
	errs := lifecycle.Lint(l)
	if len(errs) != 1000 {
		t.Errorf("%d problems, want 1000", len(errs))
	}
	for _, p := range errs {
		if len(p.Message) > 500 {
			t.Fatalf("a message of %d bytes", len(p.Message))
		}
	}
}

func TestMachine(t *testing.T) {
	l, _ := document.ShippedLifecycle("simple")
	m, errs := lifecycle.New(l)
	if errs != nil {
		t.Fatal(errs)
	}
	// The table of resting states of lsm.md 11: who can be deleted, and what comes before.
	for state, want := range map[string]string{"up": "", "rejected": "", "creating": "", "update_rejected": "up",
		"update_rejected_failed": "failed",
		"update_inprogress":      "never", "rollback": "never", "deleting": "never"} {
		way, ok := m.PathTo(state, lifecycle.OnDelete)
		got := strings.Join(way, " ")
		if !ok {
			got = "never"
		}
		if got != want {
			t.Errorf("from %s: %q, want %q", state, got, want)
		}
	}
}

func TestOldModelStates(t *testing.T) {
	none, active, candidate := lifecycle.None, lifecycle.Active, lifecycle.Candidate
	for _, tt := range []struct {
		model     lifecycle.ModelState
		hasActive bool
		want      lifecycle.Role
	}{
		{lifecycle.Inactive, true, lifecycle.Role{}},
		{lifecycle.CandidateModel, false, lifecycle.Role{Self: candidate, Others: none}},
		{lifecycle.CandidateModel, true, lifecycle.Role{Export: true, Self: candidate, Others: active}},
		{lifecycle.DesignedModel, false, lifecycle.Role{Self: candidate, Others: candidate}},
		{lifecycle.DesignedModel, true, lifecycle.Role{Export: true, Self: candidate, Others: candidate}},
		{lifecycle.ActiveModel, false, lifecycle.Role{Export: true, Self: active, Others: active}},
	} {
		if got := (lifecycle.State{ModelState: tt.model}).Role(tt.hasActive); got != tt.want {
			t.Errorf("%s, %v: got %+v, want %+v", tt.model, tt.hasActive, got, tt.want)
		}
	}
}
