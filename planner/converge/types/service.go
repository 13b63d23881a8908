package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// serviceType is Puppet's service: whether a service runs, and whether it is started at boot.
type serviceType struct {
	recorded[serviceType, *serviceBefore]
}

func (serviceType) Schema() resource.Schema { return schema.Service() }

// serviceManager is what serviceType needs of systemd and OpenRC.
type serviceManager interface {
	// unit returns the manager's own name for a service.
	unit(name string) string
	// states looks at many services at once; each unit asked for is in the answer.
	states(ctx context.Context, s *Session, units []string) (map[string]serviceState, error)
	// set changes whether a service is running and enabled, from what it is to what is wanted.
	set(ctx context.Context, s *Session, unit string, is serviceState, want serviceWant) error
	restart(ctx context.Context, s *Session, unit string) error
	// own returns the commands that are run in place of the manager's.
	own() serviceCommands
}

// serviceManagers is the table of service managers, with the sign that each is the one that runs the node.
var serviceManagers = []struct {
	provider string
	signs    []string
	manager  func(own serviceCommands) serviceManager
}{
	{"systemd", []string{"/run/systemd/system"}, func(own serviceCommands) serviceManager { return systemd{own} }},
	{"openrc", []string{"/run/openrc", "/sbin/openrc-run"},
		func(own serviceCommands) serviceManager { return openrc{own} }},
}

// enablement is whether a service is started at boot.
type enablement string

const (
	enabled    enablement = "true"
	disabled   enablement = "false"
	masked     enablement = "mask"
	unsettable enablement = "" // neither: the service is not one that can be enabled (static), or does not exist
)

// serviceState is what a node knows of a service.
type serviceState struct {
	exists  bool
	active  string // running, stopped, or the manager's word for a state between
	enabled enablement
	levels  []string // OpenRC: the runlevels that start it
	reload  bool     // systemd: files changed since it read them
	// finished says, of a stopped unit of the type oneshot of systemd, that it has run and was successful.
	finished string
	failed   bool   // systemd: it is stopped, and not because that was wanted
	detail   string // for errors: the manager's own words
}

// serviceWant is what is wanted of a service; empty fields leave what is there.
type serviceWant struct {
	active  string // running or stopped
	enabled enablement
	levels  []string // OpenRC, with enabled: the runlevels; none means default
	exactly bool     // masked is not as good as disabled, and other runlevels are not as good as these
}

// serviceBefore is what Capture records.
type serviceBefore struct {
	Unit     string `json:"unit"`
	Provider string `json:"provider"`
	Exists   bool   `json:"exists"`
	Active   string `json:"active,omitempty"` // empty as long as the resource says nothing of it
	// SaidEnabled says that the resource has said something of Enabled and Levels.
	SaidEnabled bool       `json:"said_enabled,omitempty"`
	Enabled     enablement `json:"enabled,omitempty"`
	Levels      []string   `json:"levels,omitempty"`
	// Commands are those of the resource's present form.
	Commands serviceCommands `json:"commands,omitzero"`
}

const (
	running = "running"
	stopped = "stopped"
)

// baseProvider is the provider of a service that no manager knows.
const baseProvider = "base"

var errNoService = errors.New("the node has no such service; install its package first (require), or check the name")

// formerEnable and formerLevels are what Release returns besides parameters: enable is meant to the letter, and the
// runlevels.
const (
	formerEnable = "former enable"
	formerLevels = "former levels"
)

func wantService(r resource.Resource) serviceWant {
	p := r.Parameters
	return serviceWant{
		active: p.String("ensure"), enabled: enablement(p.String("enable")),
		levels: p.Strings(formerLevels), exactly: p.Bool(formerEnable),
	}
}

// serviceOf returns the service manager that r asks for, or the one that runs the node, and r's unit.
func serviceOf(s *Session, r resource.Resource) (m serviceManager, provider, unit string, err error) {
	m, provider, err = findServiceManager(s, r.Parameters.String("provider"), commandsOf(r))
	if err != nil {
		return nil, "", "", err
	}
	return m, provider, m.unit(r.Parameters.StringOr("name", r.Title)), nil
}

func findServiceManager(s *Session, provider string, own serviceCommands) (serviceManager, string, error) {
	if provider == baseProvider {
		return base{own}, provider, nil
	}
	for _, m := range serviceManagers {
		if provider != "" && provider != m.provider {
			continue
		}
		found, err := s.FirstThere(m.signs...)
		if err != nil {
			return nil, "", err
		}
		if found != "" {
			return m.manager(own), m.provider, nil
		}
	}
	if provider != "" {
		return nil, "", fmt.Errorf("provider %q: it does not run this node; leave provider out to use the one that does",
			provider)
	}
	return nil, "", errNoServiceManager
}

var errNoServiceManager = errors.New("the node is run by neither systemd nor OpenRC")

// ServiceProvider returns [resource.Facts].ServiceProvider of a node; empty where nobody can look.
func ServiceProvider(s *Session) string {
	_, provider, err := findServiceManager(s, "", serviceCommands{})
	if errors.Is(err, errNoServiceManager) {
		return resource.NoServiceProvider
	}
	return provider
}

func (b *serviceBefore) manager(s *Session) (serviceManager, error) {
	m, _, err := findServiceManager(s, b.Provider, b.Commands)
	return m, err
}

func serviceError(r resource.Resource, err error) error {
	return fmt.Errorf("service %q: %w", r.Parameters.StringOr("name", r.Title), err)
}

// Prefetch looks at all services at once.
func (serviceType) Prefetch(ctx context.Context, s *Session, rs []resource.Resource) error {
	units := map[string][]string{}
	for _, r := range rs {
		// Check reports an error for the resource that it concerns.
		if m, provider, unit, err := serviceOf(s, r); err == nil && len(m.own().Status) == 0 {
			units[provider] = append(units[provider], unit)
		}
	}
	for _, m := range serviceManagers {
		if len(units[m.provider]) > 0 {
			if _, err := serviceStates(ctx, s, m.manager(serviceCommands{}), m.provider, units[m.provider]); err != nil {
				return err
			}
		}
	}
	return nil
}

// serviceStates looks at units, unless an earlier look covered them.
func serviceStates(
	ctx context.Context, s *Session, m serviceManager, provider string, units []string,
) (map[string]serviceState, error) {
	look := func() (map[string]serviceState, error) { return m.states(ctx, s, units) }
	if len(m.own().Status) > 0 { // the answer is of one resource
		return look()
	}
	states, err := system.Remember(s.System, "service."+provider, look)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		if _, ok := states[u]; !ok {
			return look()
		}
	}
	return states, nil
}

// stateOf returns the manager and state of r's service.
func (serviceType) stateOf(
	ctx context.Context, s *Session, r resource.Resource,
) (m serviceManager, provider, unit string, is serviceState, err error) {
	m, provider, unit, err = serviceOf(s, r)
	if err != nil {
		return nil, "", "", is, serviceError(r, err)
	}
	states, err := serviceStates(ctx, s, m, provider, []string{unit})
	if err != nil {
		err = serviceError(r, err)
	}
	return m, provider, unit, states[unit], err
}

func (t serviceType) Check(ctx context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	_, _, _, is, err := t.stateOf(ctx, s, r)
	if err != nil {
		return nil, err
	}
	return compareService(is, wantService(r)), nil
}

// compareService is Puppet's rule of when a service is in sync. A service that does not exist is stopped and disabled;
// its package may come in the same run. One that is masked is as good as disabled, and one that cannot be enabled is
// left alone.
func compareService(is serviceState, want serviceWant) []Difference {
	var out []Difference
	active := is.active
	if !is.exists {
		active = "not there"
	}
	if want.active == running && is.active != running || want.active == stopped && is.exists && is.active != stopped {
		out = append(out, Difference{Parameter: "ensure", Is: active, Should: want.active})
	}
	ok := want.enabled == "" || is.enabled == want.enabled
	switch want.enabled {
	case enabled:
		ok = ok || is.exists && is.enabled == unsettable
	case disabled:
		ok = ok || is.enabled == masked && !want.exactly || is.enabled == unsettable
	}
	if len(want.levels) > 0 && !slices.Equal(is.levels, want.levels) {
		ok = false
	}
	if !ok {
		d := Difference{Parameter: "enable", Is: string(is.enabled), Should: string(want.enabled)}
		if !is.exists && is.enabled == unsettable {
			d.Is = "not there"
		} else if d.Is == "" {
			d.Is = "cannot be enabled"
		}
		out = append(out, d)
	}
	return out
}

func (t serviceType) capture(ctx context.Context, s *Session, r resource.Resource) (*serviceBefore, error) {
	_, provider, unit, is, err := t.stateOf(ctx, s, r)
	b := serviceBefore{Unit: unit, Provider: provider, Exists: is.exists, Commands: commandsOf(r)}
	b.widen(wantService(r), is)
	return &b, err
}

// now takes down whether the service runs, whatever the resource says of that: a refresh may have stopped it.
func (serviceType) now(ctx context.Context, s *Session, _ string, b *serviceBefore) (*serviceBefore, error) {
	m, err := b.manager(s)
	if err != nil {
		return b, err
	}
	states, err := serviceStates(ctx, s, m, b.Provider, []string{b.Unit})
	want, is := serviceWant{active: running}, states[b.Unit]
	if b.SaidEnabled {
		want.enabled = enabled
	}
	n := serviceBefore{Unit: b.Unit, Provider: b.Provider, Exists: is.exists, Commands: b.Commands}
	n.widen(want, is)
	return &n, err
}

// Ran implements [Reviver].
func (serviceType) Ran(image json.RawMessage) bool {
	b, err := decode[*serviceBefore](image)
	return err == nil && b.Exists && b.Active == running
}

// Revive implements [Reviver].
func (t serviceType) Revive(ctx context.Context, s *Session, title string, image json.RawMessage) error {
	b, err := decode[*serviceBefore](image)
	if err != nil {
		return err
	}
	m, err := b.manager(s)
	if err != nil {
		return fmt.Errorf("service %q: %w", b.Unit, err)
	}
	states, err := m.states(ctx, s, []string{b.Unit})
	if err == nil && states[b.Unit].active != stopped {
		err = m.restart(ctx, s, b.Unit)
	}
	if err != nil {
		return fmt.Errorf("service %q: %w", b.Unit, err)
	}
	return t.undo(ctx, s, title, b)
}

// widen takes down what r says something of for the first time, and the commands of r.
func (t serviceType) widen(ctx context.Context, s *Session, r resource.Resource, b *serviceBefore) error {
	_, _, _, is, err := t.stateOf(ctx, s, r)
	b.widen(wantService(r), is)
	b.Commands = commandsOf(r)
	return err
}

// release returns whether the service ran and was enabled. What did not exist before stays as it is.
func (t serviceType) release(
	ctx context.Context, s *Session, r resource.Resource, b *serviceBefore,
) (resource.Parameters, error) {
	_, _, _, is, err := t.stateOf(ctx, s, r)
	if err != nil {
		return nil, err
	}
	was, returning := *b, resource.Parameters{}
	if r.Parameters.Has("ensure") {
		was.Active = ""
	} else {
		b.Active = ""
	}
	if r.Parameters.Has("enable") {
		was.SaidEnabled = false
	} else {
		b.SaidEnabled, b.Enabled, b.Levels = false, unsettable, nil
	}
	if b.Exists {
		todo := undoService(is, was)
		if todo.active != "" {
			returning["ensure"] = todo.active
		}
		if todo.enabled != "" && (todo.enabled != masked || r.Parameters.String("ensure") != running) {
			returning["enable"], returning[formerEnable] = string(todo.enabled), true
			if len(todo.levels) > 0 {
				returning[formerLevels] = texts(todo.levels)
			}
		}
	}
	return returning, nil
}

func (b *serviceBefore) widen(want serviceWant, is serviceState) {
	if want.active != "" && b.Active == "" {
		if b.Active = stopped; is.exists && is.active != stopped {
			b.Active = running
		}
	}
	if want.enabled != "" && !b.SaidEnabled {
		b.SaidEnabled, b.Enabled, b.Levels = true, is.enabled, is.levels
	}
}

// Resolve follows a unit's other names, which are links of systemd to its file.
func (serviceType) Resolve(s *Session, object string) string {
	for range aliasLimit {
		unit := systemd{}.unit(object)
		next := unit
		for _, dir := range unitDirs {
			if info, err := s.Lstat(path.Join(dir, unit)); err == nil {
				if info.IsLink() && info.Target != "/dev/null" {
					next = path.Base(info.Target)
				}
				break
			}
		}
		if next == unit {
			break
		}
		object = strings.TrimSuffix(next, ".service")
	}
	return object
}

// unitDirs are where systemd looks for units; the first counts. aliasLimit bounds the links from name to name.
var unitDirs = []string{
	"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
	"/lib/systemd/system",
}

const aliasLimit = 8

func (t serviceType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	m, _, unit, is, err := t.stateOf(ctx, s, r)
	if err != nil {
		return err
	}
	want := wantService(r)
	if !is.exists && (want.active == running && !m.own().suffice() || want.enabled == enabled) {
		return serviceError(r, errNoService)
	}
	// What is in sync already is not set again.
	var todo serviceWant
	for _, d := range compareService(is, want) {
		if d.Parameter == "ensure" {
			todo.active = want.active
		} else {
			todo.enabled, todo.levels = want.enabled, want.levels
		}
	}
	if err := m.set(ctx, s, unit, is, todo); err != nil {
		return serviceError(r, err)
	}
	return nil
}

// Refresh restarts the service if it is to run, or nothing is said of that and it runs (Puppet: only a running
// service).
func (t serviceType) Refresh(ctx context.Context, s *Session, r resource.Resource) error {
	m, _, unit, is, err := t.stateOf(ctx, s, r)
	if err != nil {
		return err
	}
	switch want := wantService(r).active; {
	case want == stopped, want == "" && is.active != running:
		return nil
	case !is.exists && !m.own().suffice():
		return serviceError(r, errNoService)
	}
	if command := r.Parameters.String("restart"); command != "" {
		err = mustRun(ctx, s, system.Command{Argv: []string{"/bin/sh", "-c", command}})
	} else {
		err = m.restart(ctx, s, unit)
	}
	if err != nil {
		return serviceError(r, fmt.Errorf("restart: %w", err))
	}
	return nil
}

func (serviceType) there(ctx context.Context, s *Session, _ string, b *serviceBefore) (bool, error) {
	m, err := b.manager(s)
	if err != nil {
		return false, err
	}
	states, err := serviceStates(ctx, s, m, b.Provider, []string{b.Unit})
	return states[b.Unit].exists, err
}

// undo brings back whether the service ran and was enabled, as far as the resource has said something of it. One that
// did not exist before slipway is stopped, and disabled if slipway saw to that, so that nothing of it is left when its
// files go; one that is gone needs nothing.
func (serviceType) undo(ctx context.Context, s *Session, _ string, b *serviceBefore) error {
	fail := func(err error) error { return fmt.Errorf("service %q: %w", b.Unit, err) }
	m, err := b.manager(s)
	if err != nil {
		return fail(err)
	}
	states, err := m.states(ctx, s, []string{b.Unit})
	if err != nil {
		return fail(err)
	}
	is := states[b.Unit]
	if todo := undoService(is, *b); todo.active != "" || todo.enabled != "" {
		if err := m.set(ctx, s, b.Unit, is, todo); err != nil {
			return fail(err)
		}
	}
	return nil
}

// undoService returns what must change so that the service is as b says.
func undoService(is serviceState, b serviceBefore) serviceWant {
	var todo serviceWant
	if !b.Exists {
		b.Active, b.Enabled = stopped, disabled
	}
	if !is.exists && is.enabled == unsettable {
		return todo
	}
	if is.exists && b.Active != "" && is.active != b.Active {
		todo.active = b.Active
	}
	switch {
	case !b.SaidEnabled:
	case is.enabled == b.Enabled:
		// OpenRC: enabled still, yet in other runlevels.
		if b.Enabled == enabled && len(b.Levels) > 0 && !slices.Equal(is.levels, b.Levels) {
			todo.enabled, todo.levels = enabled, b.Levels
		}
	case b.Enabled != unsettable:
		todo.enabled, todo.levels = b.Enabled, b.Levels
	case is.enabled == masked: // it could not be enabled, nor was it masked
		todo.enabled = disabled
	}
	return todo
}
