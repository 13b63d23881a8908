package performance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/remote"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// BenchmarkAgainstSSH compares a first run with the same manifests, given to the same helper by plain ssh: on all nodes
// at once, and on each one after the other. What the run takes longer is its own overhead: the machine, the journal and
// the scheduling. Both sides start on fresh nodes that have the helper already, in turn. Run it with -benchtime=5x; it
// reports medians in seconds, and how much longer the run takes, in percent.
func BenchmarkAgainstSSH(b *testing.B) {
	s := theSite(nodes)
	var own, plain []time.Duration
	for b.Loop() {
		wipe(b)
		survey(b, s)
		recorder := &recorder{Executor: rollout.NewInProcess(), sent: map[string][][]byte{}}
		start := time.Now()
		applyThrough(b, recorder, s, nil)
		own = append(own, time.Since(start))

		wipe(b)
		survey(b, s)
		start = time.Now()
		var ends sync.WaitGroup
		for node, manifests := range recorder.sent {
			ends.Go(func() {
				for _, m := range manifests {
					give(b, node, m)
				}
			})
		}
		ends.Wait()
		plain = append(plain, time.Since(start))
	}
	slices.Sort(own)
	slices.Sort(plain)
	run, ssh := own[len(own)/2].Seconds(), plain[len(plain)/2].Seconds()
	b.ReportMetric(run, "run-s")
	b.ReportMetric(ssh, "ssh-s")
	b.ReportMetric(100*(run/ssh-1), "overhead-%")
}

// recorder records the manifests that are sent to each node, in order.
type recorder struct {
	rollout.Executor
	mu   sync.Mutex
	sent map[string][][]byte
}

func (r *recorder) Converge(ctx context.Context, node site.Node, m converge.Manifest, each func(converge.Result)) (
	converge.Summary, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return converge.Summary{}, err
	}
	r.mu.Lock()
	r.sent[node.Name] = append(r.sent[node.Name], append(raw, '\n'))
	r.mu.Unlock()
	return r.Executor.Converge(ctx, node, m, each)
}

// give gives a manifest to the helper of a node, and waits for its summary.
func give(b *testing.B, node string, manifest []byte) {
	cmd := exec.Command("ssh", "-F", nodes.State("ssh_config"), node, `for h in `+remote.Directory+`/helper-*; do case "$h" in *.checked) ;; *) exec "$h";; esac; done`)
	in, err := cmd.StdinPipe() // it stays open: its end would be that of the controller
	if err != nil {
		b.Error(err)
		return
	}
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Start(); err != nil {
		b.Error(err)
		return
	}
	_, err = io.Copy(in, bytes.NewReader(manifest))
	if wrong := cmd.Wait(); err != nil || wrong != nil {
		b.Errorf("%s: %v, %v\n%s%s", node, err, wrong, out.String(), complaints.String())
		return
	}
	for line := range bytes.Lines(out.Bytes()) {
		var m converge.Message
		switch err := json.Unmarshal(line, &m); {
		case err != nil:
			b.Errorf("%s: %v\n%s", node, err, line)
		case m.Result != nil && (m.Result.Status == converge.Failed || m.Result.Status == converge.Skipped):
			b.Errorf("%s: %s: %s", node, m.Result.ID, m.Result.Message)
		case m.Summary != nil && m.Summary.Error != nil:
			b.Errorf("%s: %v", node, m.Summary.Error)
		}
	}
}
