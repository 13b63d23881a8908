// Package sealed carries attributes of any type past the plugin framework unopened.
//
// slipway_deployment takes whole objects: a thousand nodes are one value with some twenty thousand values inside. The framework walks
// all of it many times in every call, and looks each place up from the root again, though its schema knows nothing of what is inside. A sealed
// attribute is one string to the framework and a dynamic attribute to Terraform. Three parts make it so:
//
//   - [Type] in the schema: schema.StringAttribute{CustomType: sealed.Type{}}.
//   - [Value] in the model. [Value.Open] gives what Terraform sent, [Seal] makes one from a value of the provider's own.
//   - [NewServer] between Terraform and the framework. It declares the attributes dynamic, seals them in every request and opens them in every
//     response that holds a configuration, a plan or a state of a resource.
//
// # Contract
//
// What Terraform sends comes back byte for byte. The payload of a sealed value is the value's own encoding, in base64 and never decoded on the way:
// types, unknown values at any depth with what is known about them, null, numbers of any size, order and empty collections stay as
// they are. Only a state as its file holds it, in JSON, is encoded anew, in the one form in which Terraform then sends it.
//
// Absent stays absent: an attribute that is null or unknown as a whole is null or unknown to the framework too. So is one that is null or
// unknown but has a type, for [Value.IsNull] and [Value.IsUnknown]; what is unknown deeper inside shows when the value is opened. A validator or
// plan modifier of a sealed attribute sees the [Value].
//
// [Value.Equal] compares as the framework would have compared what is inside: types and values.
//
// Diagnostics and paths that require replacement are not touched. A path may lead into a sealed attribute, as the framework never looks it up.
//
// Sealed attributes stand at the top level of a managed resource, and are neither computed nor write-only. Such a resource has no list
// resource. In a generated configuration they are what they are in the state; the framework would leave out an empty text. What is not
// sealed, and every other resource, data source and function, passes as it is.
package sealed
