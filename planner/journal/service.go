package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// ServiceVersion is one version of a service: a full picture of it (lsm.md 17). It holds no secret: who records it leaves sensitive values
// out and names them in Redacted.
type ServiceVersion struct {
	Service         string // name, one of the site
	Incarnation     int    // 0 and up; grows when a service of this name is made anew
	Version         int    // change counter, from 1 (lsm.md 7)
	DesiredVersion  int    // counter of what is to be deployed (lsm.md 10)
	ID              string // of the instance
	Entity          string
	EntityVersion   int
	EntityDigest    string
	Lifecycle       string
	Identity        string // value of the identity attribute as text; empty when the entity has none
	State           string
	Label           string // of the state: info, success, warning, danger or empty
	Deleted         bool   // the state is one of a deleted service
	TransferContext string // why the last transfer happened: `auto`, `update` and so on

	// Attribute sets; nil when there is no such set, which is not an empty one. What JSON can write: as it is read back, whole numbers
	// are int64, all others float64, lists []any and objects map[string]any.
	Candidate, Active, Rollback map[string]any
	Redacted                    []string // attributes whose values were left out of the sets

	Config map[string]bool // the gates that the service sets itself

	Run   string    // that made this version; the writer's own when it is empty
	Owner string    // host and process of that run; the writer's own when it is empty
	Time  time.Time // when; now when it is zero
}

// ServiceEvent is something that happened to a service (lsm.md 17). It holds no secret.
type ServiceEvent struct {
	Service        string
	Incarnation    int
	Version        int       // of the service before the event; 0 before it was there
	DesiredVersion int       // likewise
	Time           time.Time // that of a deployment's result is after the end of its tasks; now when it is zero
	Source         string    // state; empty when the event is of no transfer, as Destination
	Destination    string
	Type           string // CREATE_TRANSITION, AUTO_TRANSITION, RESOURCE_TRANSITION and so on
	Message        string // bounded: 1 KiB
	Ignored        bool   // the transfer changes nothing, so it made no version
	Correlation    string // the same for all events of one attempt of a transfer
	Severity       int    // 3 trace, 10 debug, 20 info, 30 warning, 40 error, 50 critical
	IsError        bool   // it takes the error edge of a transfer
	Run            string // as in ServiceVersion
}

// ErrNoService means that the journal holds no service of this name.
var ErrNoService = errors.New("no such service")

// ConflictError means that another run recorded another content under the same version of a service.
type ConflictError struct {
	Service              string
	Incarnation, Version int
	Field                string // the first that differs
	Run                  string // that recorded the version
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("service %q: version %d (incarnation %d) was recorded by run %s with another %s; a change must have a new version, a service that is made anew a new incarnation",
		e.Service, e.Version, e.Incarnation, e.Run, e.Field)
}

// problem tells what is wrong with a version that is to be recorded; nil when nothing is.
func (v *ServiceVersion) problem() error {
	switch {
	case v.Service == "":
		return errors.New("a version of a service has no service: it must name one")
	case v.Version < 1:
		return fmt.Errorf("service %q: version %d: versions begin with 1", v.Service, v.Version)
	case v.Incarnation < 0:
		return fmt.Errorf("service %q: incarnation %d: incarnations begin with 0", v.Service, v.Incarnation)
	case v.State == "":
		return fmt.Errorf("service %q: version %d has no state: it must have one", v.Service, v.Version)
	}
	return nil
}

// problem tells what is wrong with an event that is to be recorded; nil when nothing is.
func (e *ServiceEvent) problem() error {
	switch {
	case e.Service == "":
		return fmt.Errorf("an event %s has no service: it must name one", e.Type)
	case e.Type == "":
		return fmt.Errorf("service %q: an event has no type: it must have one", e.Service)
	case e.Version < 0 || e.Incarnation < 0:
		return fmt.Errorf("service %q: an event of version %d, incarnation %d: neither may be below 0", e.Service, e.Version, e.Incarnation)
	}
	return nil
}

// conflict names the first thing in which two records of one version differ that only another version may change; empty when there is none.
// A candidate that allocation completed, config, and what only describes a service change without one (lsm.md 6).
func (v *ServiceVersion) conflict(other *ServiceVersion) (string, error) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"id", v.ID == other.ID},
		{"entity", v.Entity == other.Entity},
		{"entity_version", v.EntityVersion == other.EntityVersion},
		{"identity", v.Identity == other.Identity},
		{"desired_version", v.DesiredVersion == other.DesiredVersion},
		{"state", v.State == other.State},
		{"deleted", v.Deleted == other.Deleted},
	} {
		if !f.same {
			return f.name, nil
		}
	}
	for _, f := range []struct {
		name      string
		one, more map[string]any
	}{{"active", v.Active, other.Active}, {"rollback", v.Rollback, other.Rollback}} {
		one, err := setText(f.one)
		if err != nil {
			return "", fmt.Errorf("service %q: %s: %w", v.Service, f.name, err)
		}
		more, err := setText(f.more)
		if err != nil {
			return "", fmt.Errorf("service %q: %s: %w", v.Service, f.name, err)
		}
		if !sameText(one, more) {
			return f.name, nil
		}
	}
	return "", nil
}

func sameText(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// setText writes an attribute set as JSON, in one form; nil for no set.
func setText(set map[string]any) (*string, error) {
	if set == nil {
		return nil, nil
	}
	text, err := jsonText(set)
	return &text, err
}

func jsonText(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// readSet reads what setText wrote.
func readSet(text *string) (map[string]any, error) {
	if text == nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(*text)))
	d.UseNumber()
	set := map[string]any{}
	if err := d.Decode(&set); err != nil {
		return nil, err
	}
	for name, v := range set {
		set[name] = plain(v)
	}
	return set, nil
}

// plain makes numbers of what json.Decoder leaves as text.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(v)) {
			v[name] = plain(v[name])
		}
	}
	return v
}
