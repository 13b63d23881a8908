package temporal

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// Worker is a process that executes runs, sessions with nodes, or both.
type Worker struct {
	Settings Settings
	// Zones are those of the nodes with which it runs sessions, "" that of nodes without one; nil: it runs none.
	Zones    []string
	Zone     Zone // required with Zones
	Sessions int  // at once
	// Perform executes a run that was handed over, see [Runs]; nil: it executes none.
	Perform func(ctx context.Context, site, id, saved string,
		drive func(context.Context, *rollout.Hosted, <-chan struct{}) error) error
	Started func(identity string) // called when the worker takes tasks; identity has its version, zones and ids of keys
	Ending  func()                // called when it takes nothing more
	Grace   time.Duration         // for sessions that run when the worker is to end

	runs    Runs
	started atomic.Bool
}

// checkKeys reports keys that are those of other workers.
func (w *Worker) checkKeys() error {
	if w.Perform != nil {
		if err := w.Settings.hosts(); err != nil {
			return err
		}
	}
	for _, zone := range w.Zones {
		if len(w.Settings.Keys.IDs(zone)) == 0 {
			return w.Settings.wrong("encryption_key", "has no key of the zone %q; give what %s", zone, printed([]string{zone}))
		}
	}
	return nil
}

// mostActivities bounds what a process does at once: sessions of its runs, and what waits.
const mostActivities = 2000

// Run works until ctx ends, and then takes nothing more and lets sessions end within the grace. Another process goes on
// with the runs.
func (w *Worker) Run(ctx context.Context) error {
	c, err := w.Settings.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := errors.Join(w.checkKeys(), w.Settings.ready(ctx, c)); err != nil {
		return err
	}
	own, err := uuid.NewV7()
	if err != nil {
		return err
	}
	identity, err := w.Settings.identity(w.Zones)
	if err != nil {
		return err
	}
	w.runs.Perform, w.runs.Queue = w.Perform, w.Settings.queue("host", own.String())
	w.runs.Signal = func(ctx context.Context, workflow, signal string, arg any) error {
		return c.SignalWorkflow(ctx, workflow, "", signal, arg)
	}
	fatal := make(chan error, 1)
	options := worker.Options{Identity: identity,
		WorkerStopTimeout: w.Grace, MaxConcurrentActivityExecutionSize: mostActivities,
		MaxHeartbeatThrottleInterval: heartbeatLimit / 6,
		OnFatalError: func(err error) {
			select {
			case fatal <- err:
			default:
			}
		}}
	var parts, hosting []worker.Worker // hosting ends last: it takes the ends of callbacks
	if w.Perform != nil {
		w.runs.leaving = make(chan struct{})
		hosts, decides, opens := options, options, options
		hosts.DisableWorkflowWorker, hosts.WorkerStopTimeout = true, answerTime
		decides.LocalActivityWorkerOnly, decides.WorkerStopTimeout = true, answerTime
		opens.DisableWorkflowWorker = true
		for _, queue := range w.Settings.controls() {
			decider, opener := worker.New(c, queue, decides), worker.New(c, queue, opens)
			w.runs.Register(decider)
			opener.RegisterActivity(&Activities{&w.runs})
			hosting, parts = append(hosting, decider), append(parts, opener)
		}
		host := worker.New(c, w.runs.Queue, hosts)
		host.RegisterActivity(&Activities{&w.runs})
		hosting = append(hosting, host)
	}
	options.DisableWorkflowWorker = true
	w.Zone.build, w.Zone.client, w.Zone.places = w.Settings.Build, c, make(chan struct{}, w.Sessions)
	for _, zone := range w.Zones {
		for _, queue := range w.Settings.zones(zone) {
			part := worker.New(c, queue, options)
			part.RegisterActivity(&w.Zone)
			parts = append(parts, part)
		}
	}
	here := worker.New(c, w.Settings.here(), options)
	here.RegisterActivityWithOptions(func() error { return nil }, activity.RegisterOptions{Name: "here"})
	parts = append(parts, here)
	defer w.Zone.close()
	for _, part := range slices.Concat(hosting, parts) {
		if err := part.Start(); err != nil {
			return err
		}
	}
	w.started.Store(true)
	w.Started(identity)
	select {
	case <-ctx.Done():
	case err = <-fatal:
	}
	w.started.Store(false)
	w.Ending()
	var stopping sync.WaitGroup
	for _, part := range parts {
		stopping.Go(part.Stop)
	}
	if w.Perform != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Grace)
		if err != nil {
			cancel()
		}
		w.runs.leave(leaving)
		cancel()
	}
	for _, part := range hosting {
		stopping.Go(part.Stop)
	}
	stopping.Wait()
	return err
}
