package planner

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// digestForm is the version of the digest's format. It changes with the format.
const digestForm = "slipway plan 2"

// planDigest identifies everything that a run of the plan will do. settings are the site's groups in the order of the
// plan's. Groups without a phase do not count, and neither do names that only say which service or override a task
// comes from.
func planDigest(p *Plan, settings []site.Group) string {
	d := digester{hash: sha256.New()}
	d.text(digestForm, p.Site)
	working := make(map[string]bool)
	for _, phase := range p.Phases {
		working[phase.Group] = true
	}
	for i, g := range p.Groups {
		if working[g.Name] {
			d.group(g, settings[i])
		}
	}
	d.number(int64(len(p.Phases)))
	for _, phase := range p.Phases {
		d.text(string(phase.TaskGroup), phase.Group)
		d.number(int64(len(phase.Tasks)))
		for _, t := range phase.Tasks {
			d.text(string(t.Kind), t.Name, t.Node, string(t.Action), t.Resource.Type, t.Resource.Title, t.Digest)
			d.number(int64(t.Limit))
			d.bool(t.Tolerate)
			d.ids(t.Requires)
			d.ids(t.Notifies)
		}
	}
	d.list(p.Departed)
	if p.EndAtPause {
		d.text("ends at a pause")
	}
	for _, h := range p.Held {
		d.text("held", h.Group)
		d.number(int64(h.Batch))
	}
	if p.MayFail != nil {
		d.text("failure budget")
		d.number(int64(*p.MayFail))
	}
	return d.sum()
}

// digester writes values so that no two sequences of values give the same bytes: every text after its length, every
// list after its number of elements.
type digester struct {
	hash hash.Hash
	buf  []byte // what the hash has not got yet
}

// flushSize is the number of bytes that are written to the hash at once.
const flushSize = 16 << 10

func (d *digester) flush() {
	if len(d.buf) >= flushSize {
		d.hash.Write(d.buf)
		d.buf = d.buf[:0]
	}
}

func (d *digester) sum() string {
	d.hash.Write(d.buf)
	d.buf = d.buf[:0]
	return hex.EncodeToString(d.hash.Sum(nil))
}

func (d *digester) group(g Group, s site.Group) {
	d.text("group", g.Name)
	d.list(g.Members)
	d.list(g.Owned)
	d.bool(s.Critical)
	parents := slices.Clone(s.DependsOn)
	slices.Sort(parents)
	d.list(slices.Compact(parents))
	d.bool(s.SuccessCriteria != nil)
	if c := s.SuccessCriteria; c != nil {
		for _, n := range []*int{c.PercentSuccessfulNodes, c.MinimumSuccessfulNodes, c.MaximumFailedNodes} {
			d.bool(n != nil)
			if n != nil {
				d.number(int64(*n))
			}
		}
	}
	d.bool(s.Rolling != nil)
	if r := s.Rolling; r != nil {
		d.number(int64(r.MaxParallel))
		d.text(r.Lock, r.Unlock)
		if len(g.Unlocked) > 0 {
			d.list(g.Unlocked)
		}
		if len(g.Order) > 0 {
			d.text("order")
			d.list(g.Order)
		}
		if g.Batches != nil {
			d.text("batches")
			d.number(int64(len(g.Batches)))
			for _, batch := range g.Batches {
				d.list(batch)
			}
			for _, batch := range g.Pauses {
				d.text("pause")
				d.number(int64(batch))
			}
			d.number(int64(r.Soak))
			if h := r.HealthCheck; h != nil {
				d.text(h.Command)
				d.number(int64(h.Timeout))
				d.number(int64(h.Retries))
				d.number(int64(h.Interval))
			}
			if r.OnFailure == site.OnFailureRollback {
				d.text(r.OnFailure)
			}
		}
	}
	d.number(int64(s.PrepareTimeout))
	d.number(int64(s.DeployTimeout))
	if s.OnShortfall != "" {
		d.text(s.OnShortfall)
	}
	if g.Maintenance != "" {
		d.text("maintenance", g.Maintenance)
	}
}

func (d *digester) text(texts ...string) {
	for _, s := range texts {
		d.buf = binary.AppendUvarint(d.buf, uint64(len(s)))
		d.buf = append(d.buf, s...)
		d.flush()
	}
}

func (d *digester) list(texts []string) {
	d.number(int64(len(texts)))
	d.text(texts...)
}

func (d *digester) ids(ids []resource.ID) {
	d.number(int64(len(ids)))
	for _, id := range ids {
		d.text(string(id))
	}
}

func (d *digester) number(n int64) {
	d.buf = binary.AppendVarint(d.buf, n)
	d.flush()
}

func (d *digester) bool(b bool) {
	var n int64
	if b {
		n = 1
	}
	d.number(n)
}
