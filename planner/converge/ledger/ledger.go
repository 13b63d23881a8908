// Package ledger keeps the record, on a node, of what slipway applied there: in a file that is written as a whole, and
// a log of what changed since. It answers what a site has on the node, and in which order that is undone.
package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// FormVersion is the version of the ledger's form. A ledger of another one is left alone.
const FormVersion = 1

// Ledger is what slipway knows on a node of what it did there. It holds no secret: digests of resources, and what types
// captured. Every change is a [Record]; it reaches the disk before what it announces is done (write-ahead), see
// [Ledger.Save].
type Ledger struct {
	Version int    `json:"version"`
	ID      string `json:"id,omitempty"` // random, made when the ledger is first written as a whole; part of the node's identity
	// Generation counts how often it was written as a whole; the log says which one it goes on from.
	Generation int64    `json:"generation"`
	Made       []string `json:"made,omitempty"` // directories above slipway's own that it had to make, outermost first
	// Locked says for each site that the node was locked (Manifest.Lock) and is not unlocked yet.
	Locked map[string]Lock `json:"locked,omitempty"`
	// Pending lists what was notified and not refreshed yet. It need not be an entry: a target may be applied later.
	Pending []Key `json:"refresh_pending,omitempty"`
	// Left lists directories that slipway made, whose own entries are gone, and in which other things of slipway are
	// still.
	Left    []string `json:"left,omitempty"`
	Entries []*Entry `json:"entries"` // in the order in which they were first applied
	// Noop lists for each site the resources that have noop, and so are only looked at: id -> digest. Such a resource has
	// an entry too when it was applied before it had noop.
	Noop map[string]map[resource.ID]string `json:"noop,omitempty"`
	// Owners says for each site the lineage of the state that has it. A site that Terraform manages has none.
	Owners map[string]string `json:"owners,omitempty"`
	// Fences has for each site the last lease of each line whose sessions wrote here, in the order in which they came.
	Fences map[string][]Fence `json:"fences,omitempty"`
	// Images are what was there before the changes of a site's last run that is to be restorable, in the order of the
	// changes.
	Images []*Image `json:"images,omitempty"`
	// PutBacks has for each site what was put back last, until another run changes the node.
	PutBacks map[string]PutBack `json:"put_backs,omitempty"`
	// Unchecked has for each site the run that changed the node, or was about to, as long as no health check that was to
	// follow has succeeded.
	Unchecked map[string]string `json:"unchecked,omitempty"`

	sys   *system.System
	index map[resource.ID][]*Entry
	Log   Log `json:"-"`
}

// Key is a resource of a site.
type Key struct {
	Site string      `json:"site"`
	ID   resource.ID `json:"id"`
}

// Entry is one resource that slipway applied.
type Entry struct {
	Site   string `json:"site"`
	Type   string `json:"type"`
	Title  string `json:"title"`
	Object string `json:"object,omitempty"` // the thing on the node (resource.Schema.Target), and
	Aim    string `json:"aim,omitempty"`    // what is done to it
	// Former says that the resource is about to have another object, or aim: this one is undone once that is there. Its
	// ID is one of its own.
	Former bool            `json:"former,omitempty"`
	Digest string          `json:"digest"`          // empty while an apply or undo was started and is not finished
	Before json.RawMessage `json:"before"`          // what was there before slipway touched it first (Type.Capture)
	Run    string          `json:"run"`             // the run that touched it last
	Guard  bool            `json:"guard,omitempty"` // its removal is guarded, too
	// There says that the object was on the node when the resource was applied last, so that its undo reports when others
	// have taken it away. It stays false for types whose objects cannot be looked for.
	There bool `json:"there,omitempty"`
	// MACs are the HMACs of the texts with secrets, with the node's own key, by where they are in the parameters.
	MACs map[string]string `json:"macs,omitempty"`
	// Rest is, beside MACs, the digest of the resource without these texts. Sites whose secrets have other names or
	// versions compare both. An older slipway recorded none.
	Rest string `json:"rest,omitempty"`
	// Sensitive says that what is there may be secret: the resource was sensitive when it was applied last, or is since
	// an apply that was started and is not finished.
	Sensitive bool `json:"sensitive,omitempty"`
	// Shared says that other sites may have the resource, too: what was there before is the same for all of them, and it
	// is undone with the last one.
	Shared bool `json:"shared,omitempty"`
	// Wants is what errors in other sites say of the parameters.
	Wants map[string]string `json:"wants,omitempty"`
	// Requires lists what the resource has required so far: it is undone before that.
	Requires []resource.ID `json:"requires,omitempty"`

	ID resource.ID `json:"-"`
}

// Image is what was there before a run changed something: on the node, in the ledger or both.
type Image struct {
	Key
	Run   string `json:"run"`
	Entry *Entry `json:"entry,omitempty"` // the ledger's, none when it had none; the key may be that of its successor
	At    int    `json:"at"`              // the position of Entry
	// Before is what was there on the node, as types describe it. It is empty when nothing was changed there, or when
	// that stays.
	Before  json.RawMessage `json:"before,omitempty"`
	Stays   bool            `json:"stays,omitempty"`   // the node was changed, and that cannot be restored
	Pending bool            `json:"pending,omitempty"` // nothing but a refresh became pending
}

// Owner returns the id of the resource that the image is of, also where its key is that of a former entry.
func (i *Image) Owner() resource.ID {
	if i.Entry != nil {
		former := *i.Entry
		former.Former = true
		if former.Identify(); former.ID == i.ID {
			return former.Owner()
		}
	}
	return i.ID
}

// Key returns the resource of the entry.
func (e *Entry) Key() Key { return Key{e.Site, e.ID} }

// Secret reports whether what the entry left on the node may be secret. An older slipway recorded no more than MACs.
func (e *Entry) Secret() bool { return e.Sensitive || len(e.MACs) > 0 }

// Owner returns the id of the resource, also of a former entry.
func (e *Entry) Owner() resource.ID { return resource.MakeID(e.Type, e.Title) }

// Identify gives the entry its ID. That of a former one begins as the name of no type does.
func (e *Entry) Identify() {
	if e.ID = e.Owner(); e.Former {
		e.ID = resource.ID(fmt.Sprintf("former %s %q %q", e.ID, e.Object, e.Aim))
	}
}

// Record is one change of the ledger. It says how things are afterwards, so it may be replayed. Exactly one field is
// set, besides Was.
type Record struct {
	Entry     *Entry     `json:"entry,omitempty"` // it is there in this form
	Was       *Key       `json:"was,omitempty"`   // with Entry: it takes the place of this one
	Drop      *Key       `json:"drop,omitempty"`  // the entry is not there, nor a refresh pending for it
	Pending   *Key       `json:"owe,omitempty"`   // a refresh is pending
	Refreshed *Key       `json:"settle,omitempty"`
	Lock      *SiteLock  `json:"lock,omitempty"`
	Unlock    string     `json:"unlock,omitempty"` // a site
	Made      []string   `json:"made,omitempty"`
	Noop      *Noop      `json:"noop,omitempty"`
	Left      string     `json:"left,omitempty"` // a directory
	Gone      string     `json:"gone,omitempty"` // a directory is not left any more
	Owner     *Owner     `json:"owner,omitempty"`
	Fence     *SiteFence `json:"fence,omitempty"`
	Image     *Image     `json:"image,omitempty"`    // it was taken
	Restored  *Image     `json:"restored,omitempty"` // the ledger is as it was then
	PutBack   *PutBack   `json:"put_back,omitempty"`
	Forget    string     `json:"forget,omitempty"` // a site, of which no image is needed any more
	Unchecked *Unchecked `json:"unchecked,omitempty"`
}

// PutBack says that a guarded change was put back, or with an empty guard that this need not be known any more.
type PutBack struct {
	Site      string        `json:"site"`
	Guard     string        `json:"guard,omitempty"`
	Run       string        `json:"run,omitempty"` // the one that had made the change
	Resources []resource.ID `json:"resources,omitempty"`
	Why       string        `json:"why,omitempty"`
}

// Unchecked says that a health check of a site's node is to follow what a run changed, or with an empty run that it
// succeeded.
type Unchecked struct {
	Site string `json:"site"`
	Run  string `json:"run,omitempty"`
}

// Noop says that a resource has noop, or with an empty digest that it has it no more.
type Noop struct {
	Key
	Digest string `json:"digest,omitempty"`
}

// Owner says whose a site is; with an empty lineage it is nobody's, or Terraform's.
type Owner struct {
	Site    string `json:"site"`
	Lineage string `json:"lineage,omitempty"`
}

// SiteLock says that a run of a site has locked the node.
type SiteLock struct {
	Site   string `json:"site"`
	Run    string `json:"run"`
	Unlock string `json:"unlock,omitempty"`
}

// Change applies a record, and has the next [Ledger.Append] or [Ledger.Save] write it.
func (l *Ledger) Change(r Record) {
	l.apply(r)
	l.Log.Unsaved = append(l.Log.Unsaved, r)
}

func (l *Ledger) apply(r Record) {
	switch {
	case r.Entry != nil:
		place := r.Entry.Key()
		if r.Was != nil {
			place = *r.Was
		}
		l.put(r.Entry, l.Entry(place.Site, place.ID))
		if r.Entry.Shared {
			for _, other := range l.OfOthers(r.Entry.Key()) {
				other.Shared, other.Before = true, r.Entry.Before
			}
		}
	case r.Drop != nil:
		if e := l.Entry(r.Drop.Site, r.Drop.ID); e != nil {
			l.Entries = slices.DeleteFunc(l.Entries, func(other *Entry) bool { return other == e })
			l.unindex(e)
		}
		l.apply(Record{Refreshed: r.Drop})
	case r.Pending != nil:
		if !slices.Contains(l.Pending, *r.Pending) {
			l.Pending = append(l.Pending, *r.Pending)
		}
	case r.Refreshed != nil:
		l.Pending = slices.DeleteFunc(l.Pending, func(k Key) bool { return k == *r.Refreshed })
	case r.Lock != nil:
		if l.Locked == nil {
			l.Locked = map[string]Lock{}
		}
		l.Locked[r.Lock.Site] = Lock{r.Lock.Run, r.Lock.Unlock}
	case r.Unlock != "":
		delete(l.Locked, r.Unlock)
	case len(r.Made) > 0:
		l.Made = r.Made
	case r.Left != "":
		if !slices.Contains(l.Left, r.Left) {
			l.Left = append(l.Left, r.Left)
		}
	case r.Gone != "":
		l.Left = slices.DeleteFunc(l.Left, func(dir string) bool { return dir == r.Gone })
	case r.Owner != nil && r.Owner.Lineage == "":
		delete(l.Owners, r.Owner.Site)
	case r.Owner != nil:
		if l.Owners == nil {
			l.Owners = map[string]string{}
		}
		l.Owners[r.Owner.Site] = r.Owner.Lineage
	case r.Fence != nil:
		l.recordFence(*r.Fence)
	case r.Image != nil:
		l.Images = append(l.Images, r.Image)
	case r.Restored != nil:
		l.restore(*r.Restored)
	case r.Forget != "":
		l.Images = slices.DeleteFunc(l.Images, func(i *Image) bool { return i.Site == r.Forget })
	case r.PutBack != nil && r.PutBack.Guard == "":
		delete(l.PutBacks, r.PutBack.Site)
	case r.PutBack != nil:
		if l.PutBacks == nil {
			l.PutBacks = map[string]PutBack{}
		}
		l.PutBacks[r.PutBack.Site] = *r.PutBack
	case r.Unchecked != nil && r.Unchecked.Run == "":
		delete(l.Unchecked, r.Unchecked.Site)
	case r.Unchecked != nil:
		if l.Unchecked == nil {
			l.Unchecked = map[string]string{}
		}
		l.Unchecked[r.Unchecked.Site] = r.Unchecked.Run
	case r.Noop != nil && r.Noop.Digest == "":
		delete(l.Noop[r.Noop.Site], r.Noop.ID)
	case r.Noop != nil:
		if l.Noop == nil {
			l.Noop = map[string]map[resource.ID]string{}
		}
		if l.Noop[r.Noop.Site] == nil {
			l.Noop[r.Noop.Site] = map[resource.ID]string{}
		}
		l.Noop[r.Noop.Site][r.Noop.ID] = r.Noop.Digest
	}
}

// restore brings the entry of an image back to its position.
func (l *Ledger) restore(i Image) {
	switch e := l.Entry(i.Site, i.ID); {
	case i.Pending:
		l.apply(Record{Refreshed: &i.Key})
	case i.Entry == nil:
		l.apply(Record{Drop: &i.Key})
	default:
		was := *i.Entry
		l.put(&was, e)
		if e == nil {
			last := len(l.Entries) - 1
			l.Entries = slices.Insert(l.Entries[:last], min(i.At, last), &was)
		}
	}
}

// put enters e in the place of old, or at the end when that is nil.
func (l *Ledger) put(e, old *Entry) {
	switch old {
	case e:
		return
	case nil:
		l.Entries = append(l.Entries, e)
	default:
		l.Entries[slices.Index(l.Entries, old)] = e
		l.unindex(old)
	}
	if l.index == nil {
		l.index = map[resource.ID][]*Entry{}
	}
	l.index[e.ID] = append(l.index[e.ID], e)
}

func (l *Ledger) unindex(e *Entry) {
	l.index[e.ID] = slices.DeleteFunc(l.index[e.ID], func(other *Entry) bool { return other == e })
}

// Entry returns what a site applied under an id, nil when that is nothing.
func (l *Ledger) Entry(site string, id resource.ID) *Entry {
	for _, e := range l.index[id] {
		if e.Site == site {
			return e
		}
	}
	return nil
}

// Image returns an image of what the ledger says of a resource.
func (l *Ledger) Image(run string, k Key) Image {
	i := Image{Key: k, Run: run}
	if e := l.Entry(k.Site, k.ID); e != nil {
		was := *e
		i.Entry, i.At = &was, slices.Index(l.Entries, e)
	}
	return i
}

// Formers returns what a resource is to leave once its new object is there, the last one first.
func (l *Ledger) Formers(k Key) (out []*Entry) {
	for _, e := range slices.Backward(l.Entries) {
		if e.Former && e.Site == k.Site && e.Owner() == k.ID {
			out = append(out, e)
		}
	}
	return out
}

// OfOthers returns what sites other than that of a key applied under its id.
func (l *Ledger) OfOthers(k Key) (out []*Entry) {
	for _, e := range l.index[k.ID] {
		if e.Site != k.Site {
			out = append(out, e)
		}
	}
	return out
}

// Digests lists what a site applied: id -> digest. What was notified and not refreshed yet is not finished, nor is what
// has a former object: its digest is empty. A resource with noop has the digest of the form that was checked last,
// after [resource.Watched] when it was never applied.
func (l *Ledger) Digests(site string) map[resource.ID]string {
	out := map[resource.ID]string{}
	for _, e := range l.Entries {
		if e.Site == site && !e.Former {
			out[e.ID] = e.Digest
		}
	}
	for _, k := range l.Pending {
		if _, applied := out[k.ID]; applied && k.Site == site {
			out[k.ID] = ""
		}
	}
	for id, digest := range l.Noop[site] {
		if _, applied := out[id]; !applied {
			digest = resource.Watched + digest
		}
		out[id] = digest
	}
	for _, e := range l.Entries {
		if e.Site == site && e.Former {
			out[e.Owner()] = ""
		}
	}
	return out
}

// SetNoop records that a resource has noop, or with an empty digest that it has it no more.
func (l *Ledger) SetNoop(k Key, digest string) {
	if l.Noop[k.Site][k.ID] != digest {
		l.Change(Record{Noop: &Noop{k, digest}})
	}
}

// SetUnchecked records that a health check of a site's node is to follow what a run changed, or with an empty run that
// it succeeded.
func (l *Ledger) SetUnchecked(site, run string) {
	if l.Unchecked[site] != run {
		l.Change(Record{Unchecked: &Unchecked{site, run}})
	}
}

// IsPending reports whether a resource was notified and not refreshed yet.
func (l *Ledger) IsPending(k Key) bool { return slices.Contains(l.Pending, k) }

// AddPending records that a resource was notified.
func (l *Ledger) AddPending(k Key) {
	if !l.IsPending(k) {
		l.Change(Record{Pending: &k})
	}
}

// RemovePending records that a resource was refreshed, or needs no refresh any more.
func (l *Ledger) RemovePending(k Key) {
	if l.IsPending(k) {
		l.Change(Record{Refreshed: &k})
	}
}

// Empty reports whether nothing of any site is left.
func (l *Ledger) Empty() bool {
	for _, ids := range l.Noop {
		if len(ids) > 0 {
			return false
		}
	}
	return len(l.Entries) == 0 && len(l.Pending) == 0 && len(l.Locked) == 0 && len(l.Images) == 0 &&
		len(l.PutBacks) == 0 && len(l.Unchecked) == 0
}

// Parse reads the ledger as it was written as a whole.
func Parse(content []byte) (*Ledger, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(content, &version); err != nil {
		return nil, damaged("%w", err)
	}
	if version.Version != FormVersion {
		return nil, fmt.Errorf("has version %d, and this slipway knows version %d only; use the slipway that wrote it",
			version.Version, FormVersion)
	}
	l := &Ledger{}
	if err := resource.DecodeStrictly(content, l); err != nil {
		return nil, damaged("%w", err)
	}
	entries := l.Entries
	l.Entries = make([]*Entry, 0, len(entries))
	for i, e := range entries {
		if err := e.complete(); err != nil {
			return nil, damaged("entry %d %w", i, err)
		}
		if l.Entry(e.Site, e.ID) != nil {
			return nil, damaged("%s of site %q is there twice", e.ID, e.Site)
		}
		l.put(e, nil)
	}
	for i, image := range l.Images {
		if err := image.complete(); err != nil {
			return nil, damaged("image %d %w", i, err)
		}
	}
	return l, l.checkMade()
}

// complete checks what was read of an image.
func (i *Image) complete() error {
	switch {
	case i == nil || i.Site == "" || i.ID == "":
		return errors.New("names no site or resource")
	case i.Entry == nil:
		return nil
	}
	return i.Entry.complete()
}

// complete checks what was read of an entry.
func (e *Entry) complete() error {
	if e == nil || e.Site == "" || e.Type == "" || e.Title == "" {
		return errors.New("names no site, type or title")
	}
	if e.Identify(); len(e.Before) == 0 {
		e.Before = json.RawMessage("null")
	}
	return nil
}

func (l *Ledger) checkMade() error {
	for _, dir := range l.Made {
		if !strings.HasPrefix(system.Home, dir+"/") {
			return damaged("%q is not above %s", dir, system.Home)
		}
	}
	return nil
}

// Has reports whether anything of a site is recorded.
func (l *Ledger) Has(site string) bool {
	_, locked := l.Locked[site]
	return locked || len(l.Digests(site)) > 0
}

// Lock is what the ledger says of a node that is locked.
type Lock struct {
	Run string `json:"run"` // the run that locked it
	// Unlock is the command that unlocks it, as that run's manifest named it: whoever unlocks the node later may have
	// none. Empty when the run had none either.
	Unlock string `json:"unlock,omitempty"`
}

// UnmarshalJSON also reads the older form, which is the run alone.
func (h *Lock) UnmarshalJSON(text []byte) error {
	*h = Lock{}
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &h.Run)
	}
	type plain Lock // has no UnmarshalJSON
	return resource.DecodeStrictly(text, (*plain)(h))
}
