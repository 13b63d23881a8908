package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// ServiceEvent is something that happened to a service (lsm.md 17). It contains no secret.
type ServiceEvent struct {
	Service        string    `json:"-"`
	Incarnation    int       `json:"-"`
	Time           time.Time `json:"time"`            // zero means now; a deployment's result is later than its tasks
	Type           string    `json:"type"`            // CREATE_TRANSITION, AUTO_TRANSITION, RESOURCE_TRANSITION and so on
	Version        int       `json:"version"`         // of the service before the event; 0 before its creation
	DesiredVersion int       `json:"desired_version"` // likewise
	// states; both are empty when the event belongs to no transfer
	Source      string `json:"source,omitempty"`
	Destination string `json:"destination,omitempty"`
	Message     string `json:"message,omitempty"`     // bounded: 1 KiB
	Ignored     bool   `json:"ignored"`               // the transfer changes nothing and creates no version
	IsError     bool   `json:"error"`                 // the transfer takes its error edge
	Severity    int    `json:"severity"`              // 3 trace, 10 debug, 20 info, 30 warning, 40 error, 50 critical
	Correlation string `json:"correlation,omitempty"` // the same for all events of one attempt of a transfer
	Run         string `json:"run"`                   // as in [services.Revision]
}

// ErrNoService means that the journal has no service of this name.
var ErrNoService = errors.New("no such service")

// ConflictError means that another run recorded the same version of a service with other content.
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

// validateRevision returns an error when the revision cannot be recorded.
func validateRevision(v *services.Revision) error {
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

// validate returns an error when the event cannot be recorded.
func (e *ServiceEvent) validate() error {
	switch {
	case e.Service == "":
		return fmt.Errorf("an event %s has no service: it must name one", e.Type)
	case e.Type == "":
		return fmt.Errorf("service %q: an event has no type: it must have one", e.Service)
	case e.Version < 0 || e.Incarnation < 0:
		return fmt.Errorf("service %q: an event of version %d, incarnation %d: neither may be below 0", e.Service,
			e.Version, e.Incarnation)
	}
	return nil
}

// conflict returns the first field in which two records of one version differ although only a new version may change
// it, empty when there is no such field. The candidate, config and descriptive fields may change without a new version
// (lsm.md 6).
func conflict(v, other *services.Revision) (string, error) {
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

// setText encodes an attribute set as canonical JSON; nil when there is no set.
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

// readSet decodes the output of setText.
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
		set[name] = resource.PlainNumbers(v)
	}
	return set, nil
}
