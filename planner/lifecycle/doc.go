// Package lifecycle is the state machine of services: lifecycles as data, and an inventory that drives services through
// them (lsm.md). It is pure: no clock, no ids of its own, no files; the same calls on the same inventory have the same
// results. This page is the whole machine.
//
// # Lifecycles
//
// A [Lifecycle] has states and transfers. A [State] says what a service in it is for the models that plans and
// validations are made of: exported or not, purged, seen by its own validation and by those of others, and with which
// set of attributes ([State.Role]). A [Transfer] has one trigger:
//
//   - auto: as soon as the service is there, unless a gate is closed; it may be validated first;
//   - api_set_state: a person asks for the target; it may be validated first;
//   - on_update and on_delete: an update, or a deletion, is accepted;
//   - resource_based: the deployment of the service's tasks succeeded, or failed.
//
// A transfer that can fail has an error state. [Lint] tells everything that is wrong with a lifecycle; [New] makes the
// [Machine] of one that is sound, and nothing else is ever followed. The lifecycles that come with slipway are a
// document (package document); [Default] is the one that counts where an entity names none.
//
// # Services
//
// An [Instance] has a state, three sets of attributes, and two counters. An update writes the candidate, from the
// candidate that is there or else the active set; the operation promote makes the candidate active and keeps what was
// active as rollback; rollback goes back once. Version counts executed transfers and nothing else: a caller names the
// version that it has seen, and a call for another one is refused, so that nothing is changed that somebody else
// changed meanwhile. DesiredVersion counts those transfers that do not preserve what is to be deployed.
//
// # Calls
//
// [Inventory.Create], Update, Delete, SetState and SetConfig are what users ask for; Validated, Deployed and Learned
// bring the results that the machine waits for; Restart goes on after a stop; ForceState, ForceEdit, Forget and
// UpdateEntityVersion are for repairs and migrations.
//
// Each call is checked in the order of lsm.md 3: the service exists, is not deleted, the version is given, it is the
// right one, the lifecycle has the transfer, the targets of edits exist, types, limits and references hold, the
// identity stays and is unique, modifiers allow it. A refusal is an [*Error] and changes nothing. Results that come too
// late are no error: they are logged and have no effect.
//
// # A transfer
//
// It is one step: the operation is applied to the sets, the state and the counters change, a pending validation is
// dropped, and a [Compile] asks for a new plan, when one of the two states exports and the transfer does not preserve
// the desired state (or [Settings.Optimise] is off). Where an operation lacks the set that it needs nothing changes,
// and the event is all that stays. A transfer from a state to itself that has no operation is not executed: it costs no
// version and no plan, so that repeated deployment results are free.
//
// After every call the service settles: open automatic transfers are followed until one has to be validated, or there
// is none. After a transfer that preserved the desired state nothing will be deployed, so a deployment result that is
// known is used at once (lsm.md 10).
//
// # Models
//
// [Inventory.Export] is what is to be deployed. [Inventory.Validation] is the model that a service is validated in;
// [Inventory.Dangling] are its references to services that are not in it, which protect a service from being deleted.
// Owners make trees: [Inventory.Root], Tree and ResourceSets, the scopes of partial plans (lsm.md 15).
//
// Attributes are changed and compared by package edit, and allocated by package allocation, below this one.
package lifecycle
