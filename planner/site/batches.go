package site

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// HealthCheck is a command that says whether a node works. It is run on the node after its tasks, and again after
// [Rolling.Soak].
type HealthCheck struct {
	Command  string        `key:"command,required"` // exit status 0: the node works
	Timeout  time.Duration `key:"timeout"`          // of one run of it; 0 is DefaultCheckTimeout
	Retries  int           `key:"retries"`          // how often it is run again when it fails
	Interval time.Duration `key:"interval"`         // before it is run again; 0 is DefaultCheckInterval
}

// Defaults of a [HealthCheck].
const (
	DefaultCheckTimeout  = 30 * time.Second
	DefaultCheckInterval = 10 * time.Second
)

// What happens when a batch fails, in [Rolling.OnFailure].
const (
	OnFailureStop     = "stop"     // no further node is started
	OnFailureRollback = "rollback" // and the nodes of the batch are restored to what they had before the run
)

// Split returns the batches of nodes, which are sorted, and the numbers, from 1, of those after which the run waits for
// approval. Shares are cumulative and rounded up; a batch that would add no node is left out, and what the last share
// leaves is a batch of its own. There are none when the group has nothing between batches.
func (r Rolling) Split(nodes []string) (batches [][]string, pauses []int) {
	if !r.batched() {
		return nil, nil
	}
	from := 0
	for _, share := range append(slices.Clone(r.Batches), allNodes) {
		n, percent, _ := parseShare(share) // it is valid
		if percent {
			n = (n*len(nodes) + 99) / 100
		}
		if to := min(n, len(nodes)); to > from {
			batches = append(batches, nodes[from:to])
			from = to
		}
		if done := len(batches); done > 0 && slices.Contains(r.Approve, share) && !slices.Contains(pauses, done) {
			pauses = append(pauses, done)
		}
	}
	return batches, pauses
}

// batched reports whether the group is rolled out in batches, of which there may be one.
func (r Rolling) batched() bool {
	return len(r.Batches)+len(r.Approve) > 0 || r.HealthCheck != nil || r.Soak != 0
}

// allNodes is the share that always comes last.
const allNodes = "100%"

// parseShare returns the number of a share, "3" or "10%", and whether it is a percentage.
func parseShare(share string) (n int, percent, ok bool) {
	digits, percent := strings.CutSuffix(share, "%")
	n, err := strconv.Atoi(digits)
	return n, percent, err == nil && n >= 1 && strconv.Itoa(n) == digits
}

// validateBatches reports batches that are malformed, exceed 100 % or do not grow, and health checks that cannot be
// run.
func (g Group) validateBatches() (errs invalid.Errors) {
	report := func(attribute string, code invalid.Code, format string, args ...any) {
		errs = append(errs, g.wrong("rolling."+attribute, code, format, args...))
	}
	last := map[bool]int{}
	for i, share := range g.Rolling.Batches {
		at := fmt.Sprintf("batches[%d]", i)
		n, percent, ok := parseShare(share)
		switch {
		case !ok:
			report(at, invalid.BadValue, "%q is not a share of the nodes; give a number of nodes such as \"1\", "+
				"or a percentage such as \"10%%\"", share)
		case percent && n > 100:
			report(at, invalid.BadValue, "%q is more than all nodes; give \"100%%\" at most", share)
		case last[true] == 100:
			report(at, invalid.BadValue, "%q comes after \"100%%\", which is all nodes; leave it out", share)
		case n <= last[percent]:
			report(at, invalid.BadValue, "%q adds no node to the batch before; shares are cumulative, "+
				"so each must be larger than the last", share)
		default:
			last[percent] = n
		}
	}
	for i, share := range g.Rolling.Approve {
		if share != allNodes && !slices.Contains(g.Rolling.Batches, share) {
			report(fmt.Sprintf("approve[%d]", i), invalid.BadValue, "there is no batch %q; give one of batches, or %q", share,
				allNodes)
		}
	}
	if g.Rolling.Soak < 0 {
		report("soak", invalid.BadValue, "%s is negative; give a time above zero, or leave it out", g.Rolling.Soak)
	}
	switch what := g.Rolling.OnFailure; {
	case what != "" && what != OnFailureStop && what != OnFailureRollback:
		report("on_failure", invalid.BadValue, "%q is not allowed; write %q or %q", what, OnFailureStop, OnFailureRollback)
	case what != "" && !g.Rolling.batched():
		report("on_failure", invalid.BadValue, "the group has no batches that may fail; give batches, health_check or "+
			"soak as well, or leave it out")
	}
	if h := g.Rolling.HealthCheck; h != nil {
		if h.Command == "" {
			report("health_check.command", invalid.MissingField, "there is no command; give one that ends with status 0 "+
				"on a node that works")
		}
		if h.Retries < 0 {
			report("health_check.retries", invalid.BadValue, "%d is negative; give 0 or more", h.Retries)
		}
		if h.Timeout < 0 {
			report("health_check.timeout", invalid.BadValue, "%s is negative; give a time above zero, or leave it out for %s",
				h.Timeout, DefaultCheckTimeout)
		}
		if h.Interval < 0 {
			report("health_check.interval", invalid.BadValue,
				"%s is negative; give a time above zero, or leave it out for %s", h.Interval, DefaultCheckInterval)
		}
	}
	return errs
}
