package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// here is the task queue of which all workers of all versions take, so that they can be named.
func (s Settings) here() string { return s.queue("workers") }

// identityLimit bounds, in bytes, the zones that an identity names: the server takes 1,000 bytes.
const identityLimit = 400

// identity names a worker of zones, nil of none, on the server: its version, and its keys by their ids.
func (s Settings) identity(zones []string) (string, error) {
	host, err := os.Hostname()
	var of string
	if !s.Keys.OfZone() {
		of = ", the key " + strings.Join(s.Keys.IDs(encryption.Control), " and ")
	}
	for i, zone := range zones {
		if len(of) > identityLimit {
			of += fmt.Sprintf(", those of %d more zones", len(zones)-i)
			break
		}
		of += fmt.Sprintf(", the key %s of %s", strings.Join(s.Keys.IDs(zone), " and "), nameZone(zone))
	}
	return fmt.Sprintf("worker of slipway %s on %s, process %d, with %s", s.Build, host, os.Getpid(),
		strings.TrimPrefix(of, ", ")), err
}

// nameZone names a zone in a text; the empty one is that of nodes without one.
func nameZone(zone string) string {
	if zone == "" {
		return "nodes without a zone"
	}
	return fmt.Sprintf("the zone %q", zone)
}

// Ready reports why no run can be handed over now.
func (c *Client) Ready(ctx context.Context) error {
	if err := c.settings.ready(ctx, c.client); err != nil {
		return err
	}
	queue := c.settings.control()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for { // a worker that was just started may not be known yet
		hosts, err := c.workers(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
		if err == nil && len(hosts) > 0 {
			return c.sameBuild(hosts)
		}
		if err != nil && ctx.Err() == nil {
			return cmp.Or(c.settings.refused(err), c.settings.wrong("", "task queue %s: %w", queue, err))
		}
		select {
		case <-time.After(askAgain):
			continue
		case <-ctx.Done():
		}
		return c.nobody(context.WithoutCancel(ctx), queue)
	}
}

// pollTime is how long a worker may wait for an answer of the server until it asks again, with time to spare.
const pollTime = 70 * time.Second

// workers returns the identities of the workers that take from a task queue. The server lists who took from it in the
// last minutes, by its clock.
func (c *Client) workers(ctx context.Context, queue string, kind enums.TaskQueueType) (names []string, err error) {
	pollers, err := c.pollers(ctx, queue, kind)
	there := func(now time.Time) (names []string) {
		for _, p := range pollers {
			if now.Sub(p.GetLastAccessTime().AsTime()) < pollTime && !slices.Contains(names, p.GetIdentity()) {
				names = append(names, p.GetIdentity())
			}
		}
		slices.Sort(names)
		return names
	}
	now := time.Now
	if c.settings.Now != nil {
		now = c.settings.Now
	}
	if names = there(now()); len(names) > 0 || len(pollers) == 0 {
		return names, err
	}
	at, err := c.serverTime(ctx) // the clocks may differ
	return there(at), err
}

// pollers returns who took from a task queue in the last minutes. A server keeps a queue in partitions, each with a
// list of its own: a worker may be in that of one alone.
func (c *Client) pollers(ctx context.Context, queue string, kind enums.TaskQueueType) ([]*taskqueue.PollerInfo, error) {
	d, err := c.client.DescribeTaskQueue(ctx, queue, kind)
	if err != nil {
		return nil, err
	}
	pollers := d.GetPollers()
	list, err := c.client.WorkflowService().ListTaskQueuePartitions(ctx, &workflowservice.ListTaskQueuePartitionsRequest{
		Namespace: c.settings.namespace(), TaskQueue: &taskqueue.TaskQueue{Name: queue}})
	if err != nil { // not every server allows it
		return pollers, nil //nolint:nilerr // the first partition is known
	}
	partitions := list.GetActivityTaskQueuePartitions()
	if kind == enums.TASK_QUEUE_TYPE_WORKFLOW {
		partitions = list.GetWorkflowTaskQueuePartitions()
	}
	for _, p := range partitions {
		if p.GetKey() == queue {
			continue
		}
		if d, err = c.client.DescribeTaskQueue(ctx, p.GetKey(), kind); err != nil {
			return pollers, err
		}
		pollers = append(pollers, d.GetPollers()...)
	}
	return pollers, nil
}

// serverTime returns the time of the server's clock: that at which it took down that this process asks for tasks.
func (c *Client) serverTime(ctx context.Context) (at time.Time, err error) {
	queue, own := c.settings.queue("time"), uuid.NewString()
	asking, stop := context.WithTimeout(ctx, answerTime)
	var asks sync.WaitGroup
	defer asks.Wait()
	defer stop()
	asks.Go(func() { // nobody sends tasks there
		_, _ = c.client.WorkflowService().PollActivityTaskQueue(asking, &workflowservice.PollActivityTaskQueueRequest{
			Namespace: c.settings.namespace(), TaskQueue: &taskqueue.TaskQueue{Name: queue},
			Identity: own})
	})
	for {
		pollers, err := c.pollers(asking, queue, enums.TASK_QUEUE_TYPE_ACTIVITY)
		for _, p := range pollers {
			if p.GetIdentity() == own {
				return p.GetLastAccessTime().AsTime(), nil
			}
		}
		if err != nil {
			return at, err
		}
		select {
		case <-time.After(shortestPoll):
		case <-asking.Done():
			return at, asking.Err()
		}
	}
}

// sameBuild refuses workers of another version: they may plan a run in another way than who asks for it.
func (c *Client) sameBuild(hosts []string) error {
	for _, name := range hosts {
		if !strings.HasPrefix(name, c.settings.build()) {
			return c.settings.wrong("", "this is slipway %s, and there is a %s. Use one version for all who plan and all workers. "+
				"A worker that has ended counts for up to %s: try again then", c.settings.Build, resource.Text(name), pollTime)
		}
	}
	return nil
}

// nobody says that no worker hosts runs of this version with this key, and which workers there are.
func (c *Client) nobody(ctx context.Context, queue string) error {
	there := c.others(ctx, c.settings.Keys.IDs(encryption.Control)[0], func(string) bool { return true })
	if there != "" {
		there = " " + there + "."
	}
	return c.settings.wrong("", "no worker executes runs of this version of slipway: nobody takes from the task queue %s in "+
		"the namespace %q.%s Start `terraform-provider-slipway worker --control`, of this version, with the same prefix of task "+
		"queues and the same key: its --task-queue-prefix and SLIPWAY_KEY", queue, c.settings.namespace(), there)
}

// others says, in two sentences without the last full stop, which workers there are, and with which version and key
// this process asks for them; key is an id, and what it is of. Empty: no worker counts, or the server does not answer.
func (c *Client) others(ctx context.Context, key string, counts func(worker string) bool) string {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	there, err := c.workers(ctx, c.settings.here(), enums.TASK_QUEUE_TYPE_ACTIVITY)
	there = slices.DeleteFunc(there, func(worker string) bool { return !counts(worker) })
	if err != nil || len(there) == 0 {
		return ""
	}
	return fmt.Sprintf("This is slipway %s with the key %s. There is a %s", c.settings.Build, key,
		resource.Text(strings.Join(there[:min(len(there), mostNamed)], ", a ")))
}

// build is how the identities of workers of this version begin.
func (s Settings) build() string { return fmt.Sprintf("worker of slipway %s on ", s.Build) }

// untaken returns how a workflow with an input ended: err, or that no worker took what it asks, and which workers that
// are for the zone, or of another version, there are.
func (c *Client) untaken(ctx context.Context, in convergeInput, err error) error {
	var timeout *temporal.TimeoutError
	if !errors.As(err, &timeout) || timeout.TimeoutType() != enums.TIMEOUT_TYPE_SCHEDULE_TO_START {
		return err
	}
	zone := " of " + nameZone(in.Zone)
	key, fits := c.settings.Keys.IDs(in.Zone)[0]+zone, false
	there := c.others(ctx, key, func(worker string) bool {
		if !strings.HasPrefix(worker, c.settings.build()) {
			return true
		}
		fit := strings.Contains(worker, key)
		fits = fits || fit
		return !fit && strings.Contains(worker, zone)
	})
	if there != "" {
		there = ". " + there
	}
	if fits {
		there += fmt.Sprintf(". A worker with this key asked for sessions in the last %s: it has ended, or has no place left",
			pollTime)
	}
	return untakenError{in.ZoneWait, there, err}
}

// mostNamed is how many workers an error names.
const mostNamed = 5

// askAgain is the time between two questions for workers.
const askAgain = 500 * time.Millisecond
