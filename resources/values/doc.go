// Package values has Terraform's values on their way: to the planner as plain ones ([Plain], [From]) and the planner's
// errors back ([Diagnostics]), and past the plugin framework what it would only pass on.
//
// # Past the framework
//
// The framework takes every value of a call apart several times and looks each place up from the root again. A thousand
// nodes are a thousand resources, and one attribute of slipway_deployment with some twenty thousand values inside. Two
// servers in front of the framework's give the same answers in less time:
//
//   - [NewServer] carries attributes of any type past the framework. Such an opaque attribute is one string to the
//     framework and a dynamic attribute to Terraform: [OpaqueType] in the schema (schema.StringAttribute{CustomType:
//     values.OpaqueType{}}), [Opaque] in the model. [Opaque.Decode] gives what Terraform sent, [Encode] makes one from
//     one of the provider's own. The server declares the attributes dynamic, wraps them in every request and unwraps
//     them in every response that holds a configuration, a plan or a state of a resource.
//   - [NewUnchangedServer] answers for resources that stay as they are. A node, group, service or override only has
//     desired state: reading it gives what the state says, and a plan of one that nobody changed gives it again.
//
// # Gain
//
// Measured in processor time, with version 1.19 of the framework and a thousand nodes: a read and a plan of them as one
// opaque attribute take 63 ms, and 1,729 ms without (BenchmarkOpaque); validation, read and plan of a thousand node
// resources that stay as they are take 0.42 s, and 3.57 s without the server for unchanged ones (BenchmarkLargePlan of
// package provider).
//
// # Contract of opaque attributes
//
// What Terraform sends comes back byte for byte. The payload of an opaque value is the value's own encoding, in base64
// and never decoded on the way: types, unknown values at any depth with what is known about them, null, numbers of any
// size, order and empty collections stay as they are. A saved state of the schema of today goes back in
// the JSON of its file, and Terraform says what is wrong with one that was changed by hand.
//
// Absent stays absent: an attribute that is null or unknown as a whole is null or unknown to the framework too. So is
// one that is null or unknown but has a type, for [Opaque.IsNull] and [Opaque.IsUnknown]; what is unknown deeper inside
// shows when the value is decoded. A validator or plan modifier of an opaque attribute sees the [Opaque].
//
// [Opaque.Equal] compares as the framework would have compared what is inside: types and values.
//
// Diagnostics and paths that require replacement are not touched. A path may lead into an opaque attribute, as the
// framework never looks it up.
//
// Opaque attributes are at the top level of a managed resource, and are neither computed nor write-only. Such a
// resource has no list resource, is not moved from another type, and is imported without its opaque attributes. In a
// generated configuration they are what they are in the state; the framework would leave out an empty text. What is not
// opaque, and every other resource, data source and function, passes as it is.
//
// # Contract of unchanged resources
//
// Every answer is the one that the framework would have given. Where that is not certain without looking closer, the
// framework is asked:
//
//   - ReadResource is answered for resources that are [Idle].
//   - PlanResourceChange is answered for those of them that compute nothing, neither attributes nor in a ModifyPlan
//     that is not [Quiet], when the proposed state is the prior state. Their plan modifiers must do nothing, and report
//     nothing, where nothing changes; RequiresReplace is such a one.
//   - Neither is answered for an object that has private data, such as one that was just imported, or that is created
//     or destroyed.
package values
