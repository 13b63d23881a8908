package lifecycle

import (
	"strconv"
	"time"

	"github.com/google/uuid"
)

// EventType is the type of an event (lsm.md 17).
type EventType string

// The types of events.
const (
	CreateTransition   EventType = "CREATE_TRANSITION"
	AutoTransition     EventType = "AUTO_TRANSITION"
	SetStateTransition EventType = "API_SET_STATE_TRANSITION"
	UpdateTransition   EventType = "ON_UPDATE_TRANSITION"
	DeleteTransition   EventType = "ON_DELETE_TRANSITION"
	ResourceTransition EventType = "RESOURCE_TRANSITION"
	ResourceEvent      EventType = "RESOURCE_EVENT" // a deployment result without a transfer
	AllocationUpdate   EventType = "ALLOCATION_UPDATE"
	ForceUpdate        EventType = "FORCE_UPDATE"
	ForceDelete        EventType = "FORCE_DELETE"
)

// eventTypes maps each trigger to the type of the events of its transfers.
var eventTypes = map[Trigger]EventType{
	Auto: AutoTransition, APISetState: SetStateTransition, OnUpdate: UpdateTransition, OnDelete: DeleteTransition,
	ResourceBased: ResourceTransition,
}

// Step is the step of a transfer that an event records.
type Step string

// The steps. An executed transfer has triggered, [validating], [compiling] and executed, in this order.
const (
	Triggered  Step = "trigger"
	Validating Step = "validation" // a validation was requested
	Compiling  Step = "compile"    // a plan for the new desired state was requested
	Executed   Step = "executed"
	Ignored    Step = "ignored" // nothing to do, or the result is out of date
	Aborted    Step = "aborted" // the set that an operation needs is missing
)

// Severity grades events, as log levels do.
type Severity int

// The severities.
const (
	SeverityDebug   Severity = 10
	SeverityInfo    Severity = 20
	SeverityWarning Severity = 30
	SeverityError   Severity = 40
)

// Event is one line of the log of a service.
type Event struct {
	Service        string    `json:"service"`
	Version        int       `json:"version"`         // of the service before the event; 0 at its creation
	DesiredVersion int       `json:"desired_version"` // of the service before the event
	Type           EventType `json:"type"`
	Step           Step      `json:"step"`
	Error          bool      `json:"error,omitempty"` // to the error state, or aborted
	Source         string    `json:"source,omitempty"`
	Destination    string    `json:"destination,omitempty"`
	Correlation    string    `json:"correlation"` // the same for all events of one attempt
	Severity       Severity  `json:"severity"`
	Message        string    `json:"message"` // without values of attributes
	At             time.Time `json:"at"`
}

// space is the UUID namespace for service ids that are not UUIDs.
var space = uuid.MustParse("5d6b1ad9-6b0f-4c53-9d32-0a6f6f0a7b1e")

// Correlation returns the id that the events of one attempt at a transfer share: the version 3 UUID of the service's
// version in the namespace of the service's id (lsm.md 6). If the id is not a UUID, the namespace is derived from it.
func Correlation(service string, version int) string {
	namespace, err := uuid.Parse(service)
	if err != nil {
		namespace = uuid.NewMD5(space, []byte(service))
	}
	return uuid.NewMD5(namespace, []byte(strconv.Itoa(version))).String()
}

// Result is the result of a call.
type Result struct {
	Events []Event
	Trace  []Instance // the service after every executed transfer, in order
	// Stopped is set if the call succeeded but an automatic transfer after it was aborted. The service then rests in a
	// state that it should have left.
	Stopped error
}
