package lifecycle

import (
	"strconv"
	"time"

	"github.com/google/uuid"
)

// EventType says what an event is about (lsm.md 17).
type EventType string

// The types of events.
const (
	CreateTransition   EventType = "CREATE_TRANSITION"
	AutoTransition     EventType = "AUTO_TRANSITION"
	SetStateTransition EventType = "API_SET_STATE_TRANSITION"
	UpdateTransition   EventType = "ON_UPDATE_TRANSITION"
	DeleteTransition   EventType = "ON_DELETE_TRANSITION"
	ResourceTransition EventType = "RESOURCE_TRANSITION"
	ResourceEvent      EventType = "RESOURCE_EVENT" // a deployment result that concerns no transfer
	AllocationUpdate   EventType = "ALLOCATION_UPDATE"
	ForceUpdate        EventType = "FORCE_UPDATE"
	ForceDelete        EventType = "FORCE_DELETE"
)

// eventTypes is the type of the events of transfers by each trigger.
var eventTypes = map[Trigger]EventType{
	Auto: AutoTransition, APISetState: SetStateTransition, OnUpdate: UpdateTransition, OnDelete: DeleteTransition, ResourceBased: ResourceTransition,
}

// Step is how far a transfer has come when an event is logged.
type Step string

// The steps. A transfer that is executed goes through triggered, [validating], [compiling] and executed, in this order.
const (
	Triggered  Step = "trigger"
	Validating Step = "validation" // a validation was asked for
	Compiling  Step = "compile"    // a plan with the new desired state was asked for
	Executed   Step = "executed"
	Ignored    Step = "ignored" // nothing was to be done, or what came is out of date
	Aborted    Step = "aborted" // an operation lacked the set that it needs
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
	Version        int       `json:"version"`         // of the service before what the event tells; 0 at its creation
	DesiredVersion int       `json:"desired_version"` // likewise
	Type           EventType `json:"type"`
	Step           Step      `json:"step"`
	Error          bool      `json:"error,omitempty"` // the way to the error state, or an abort
	Source         string    `json:"source,omitempty"`
	Destination    string    `json:"destination,omitempty"`
	Correlation    string    `json:"correlation"` // the same for all events of one attempt
	Severity       Severity  `json:"severity"`
	Message        string    `json:"message"` // without values of attributes
	At             time.Time `json:"at"`
}

// space is the name space of the ids of services that are no UUIDs.
var space = uuid.MustParse("5d6b1ad9-6b0f-4c53-9d32-0a6f6f0a7b1e")

// Correlation returns the id that the events of a transfer attempt share: the UUID of version 3 of the service's
// version, in the name space of the service's id (lsm.md 6). An id that is no UUID has one made from it.
func Correlation(service string, version int) string {
	namespace, err := uuid.Parse(service)
	if err != nil {
		namespace = uuid.NewMD5(space, []byte(service))
	}
	return uuid.NewMD5(namespace, []byte(strconv.Itoa(version))).String()
}

// Hop is a transfer that was executed.
type ExecutedTransfer struct {
	Service string `json:"service"`
	Version int    `json:"version"` // after it
	State   string `json:"state"`   // after it

	After Instance `json:"-"` // the service, right after it
}

// Result is what a call did.
type Result struct {
	Events []Event
	Trace  []ExecutedTransfer // every executed transfer, in order
	// Stopped is set when the call itself was carried out, but an automatic transfer after it was aborted: the service
	// rests where it should not.
	Stopped *Error
}
