// Package lifecycle is the state machine of services: lifecycles as data, and an inventory that drives services through
// them (lsm.md). It is pure: it has no clock, makes no ids and reads no files, so equal calls on equal inventories have
// equal results.
//
// # Lifecycles
//
// A [Lifecycle] has states and transfers. A [State] decides whether a service in it is deployed or removed, and which
// set of its attributes plans and validations use ([State.Role]). A [Transfer] has one trigger:
//
//   - auto: the service is in the source state and the gate is open; a validation may come first;
//   - api_set_state: the target is requested; a validation may come first;
//   - on_update and on_delete: an update, or a deletion, is accepted;
//   - resource_based: the deployment of the service's tasks succeeded or failed.
//
// A transfer that can fail has an error state. [Lint] returns all errors of a lifecycle; [New] returns the [Machine]
// of a valid one. The shipped lifecycles are YAML in package document; entities that name none have [Default].
//
// # Services
//
// An [Instance] has a state, three sets of attributes and two counters. An update writes the candidate, starting from
// the present candidate, else from the active set. The operation promote makes the candidate active and the active set
// the rollback set; the operation rollback reverses this once. Version counts executed transfers. A caller gives the
// version that it has read, and a call for another version is refused, so that no change of somebody else is lost.
// DesiredVersion counts the transfers that change the desired state.
//
// # Calls
//
// Users request [Inventory.Create], Update, Delete, SetState and SetConfig. Validated, Deployed and StoreReturned
// report results. ForceState and Forget bypass the lifecycle.
//
// Each call is checked in the order of lsm.md 3: the service exists, is not deleted and has the given version; the
// lifecycle has the transfer; types, limits and references are valid; the identity is unchanged and unique; the
// modifiers allow the change. A refusal is an invalid.Errors and changes nothing. Results that come too late are logged
// and have no effect.
//
// # Transfers
//
// A transfer applies its operation to the sets, changes state and counters, and drops a pending validation. If one of
// its two states exports, and it does not preserve the desired state, it logs the step [Compiling]: a new plan is
// needed. If the set that the operation needs is missing, nothing changes except the log. A transfer from a state to
// itself without an operation is not executed, so repeated deployment results cost no version and no plan.
//
// After every call the service follows automatic transfers whose gate is open, up to one that needs a validation. After
// a transfer that preserved the desired state nothing is deployed, so the last deployment result is used at once
// (lsm.md 10).
//
// # Updates
//
// The attributes of an update are made in three steps: [CarryAllocated] copies allocated values,
// catalog.Structure.Check adds defaults and checks types, rules and limits, and [CheckUpdate] compares the result with
// the attributes before: identity first, then modifiers. None of them modifies its arguments; results may share values
// with them. [PoolUsage] allocates values from pools.
//
// # Deployment and validation
//
// [Inventory.Export] returns what to deploy. [Inventory.Validation] returns the services that take part in the
// validation of one, and [Inventory.Dangling] its references to services that do not, which protect those from
// deletion.
package lifecycle
