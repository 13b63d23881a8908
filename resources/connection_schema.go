package resources

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// nodeConnection is the name of a node's connection. It is not `connection`, as in the provider, because Terraform
// keeps that name to itself in every resource.
const nodeConnection = "connect"

// nodeCredentials is the object that holds the secrets of a node's connection, and of each hop of it. They stand apart
// because Terraform marks every sensitive attribute of an object, also one that is null, and compares every mark with
// every value, again and again: with a thousand nodes that takes minutes. An object that is null has no marks.
const nodeCredentials = "credentials"

// nodeConnectionAttribute is `connect` of slipway_node.
func nodeConnectionAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "How this node is reached, where it differs from the provider's `connection`. Each attribute given here counts instead of the provider's. A private key, key file or `agent = true` given here " +
			"keeps the provider's keys, passphrase and certificate away from this node.",
		Attributes: connectionAttributes(ConnectionFields(), ofNode),
		Validators: eitherKey(nodeCredentials),
	}
}

// ProviderConnectionAttribute is `connection` of the provider.
func ProviderConnectionAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "How nodes are reached. These are defaults: a node's own `connect` counts instead, attribute by attribute. What is given here is in no state and may come from an ephemeral value. " +
			"Configuration counts before the environment; a key that is configured here keeps all keys of the environment away.",
		Attributes: connectionAttributes(ConnectionFields(), ofProvider),
		Validators: eitherKey(""),
	}
}

// stateNote goes with everything secret that a resource takes.
const stateNote = " It is kept in Terraform's state, as every attribute of a resource is; to keep it out, give it in the provider's `connection`, or use the agent or a key file."

// owner is what a connection is an attribute of.
type owner int

const (
	ofNode owner = iota
	ofProvider
)

// connectionAttributes returns the attributes of a connection, or of a hop. The framework takes attributes of resources
// in a provider's schema, too.
func connectionAttributes(fields []ConnectionField, of owner) map[string]schema.Attribute {
	attributes, secrets := make(map[string]schema.Attribute, len(fields)+1), make(map[string]schema.Attribute)
	for _, f := range fields {
		text, validators, either := f.Description, f.strings, eitherKey("")
		switch {
		case of == ofProvider:
			text += f.defaults()
		case f.Sensitive:
			secrets[f.Name] = schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: text + stateNote,
				Validators: validators}
			attributes[f.Name] = movedAttribute(values.Join(nodeCredentials, f.Name))
			continue
		case f.file:
			validators = append(slices.Clone(validators), presentFile())
		}
		if of == ofNode {
			either = eitherKey(nodeCredentials)
		}
		switch f.Kind {
		case TextField:
			attributes[f.Name] = schema.StringAttribute{Required: f.Required, Optional: !f.Required, Sensitive: f.Sensitive,
				MarkdownDescription: text, Validators: validators}
		case NumberField:
			attributes[f.Name] = schema.Int64Attribute{Optional: true, MarkdownDescription: text, Validators: f.integers}
		case FlagField:
			attributes[f.Name] = schema.BoolAttribute{Optional: true, MarkdownDescription: text}
		case LinesField:
			attributes[f.Name] = schema.ListAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: text, Validators: lines()}
		case BastionsField:
			attributes[f.Name] = schema.ListNestedAttribute{Optional: true, MarkdownDescription: text,
				NestedObject: schema.NestedAttributeObject{Attributes: connectionAttributes(hopFields(), of), Validators: either}}
		}
	}
	if of == ofProvider {
		// Without the attribute, Terraform would leave out what was copied from a node without a word, and another key
		// would be offered.
		attributes[nodeCredentials] = schema.MapAttribute{Optional: true, Sensitive: true, ElementType: types.StringType,
			MarkdownDescription: "Refused: a node's `connect` has its secrets there, the provider has them beside everything else.", Validators: []validator.Map{misplaced()}}
		return attributes
	}
	attributes[nodeCredentials] = schema.SingleNestedAttribute{Optional: true, Attributes: secrets,
		MarkdownDescription: "What is secret. It stands apart because Terraform walks every sensitive attribute of every node many times, also one that is not set; where nothing is secret, leave the object out."}
	return attributes
}

// defaults says where the provider takes the field from when it is not configured.
func (f ConnectionField) defaults() (text string) {
	if f.Parse != nil {
		text = fmt.Sprintf(" May also be given as `%s`", f.Environment())
		if f.Form != "" {
			text += ": " + f.Form
		}
		text += "."
	}
	if f.Default != "" {
		text += fmt.Sprintf(" Default: `%s`.", f.Default)
	}
	return text
}

// movedAttribute stands where a secret stood in version 0 and refuses it. Without the attribute, Terraform would leave
// what is given there out without a word, and the node would be reached with another key.
func movedAttribute(to string) schema.Attribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: "Moved: give `" + to + "` instead.",
		Validators: []validator.String{moved(to)}}
}

// eitherKey refuses a connection or hop that gives its private key twice. secrets is the name of the object that has
// the secrets, if there is one.
func eitherKey(secrets string) []validator.Object {
	return []validator.Object{onlyOneOf("Give the private key as text or as a file, not both.",
		values.Join(secrets, "private_key"), "private_key_file")}
}

// lines accepts a list of texts without empty ones.
func lines() []validator.List {
	return []validator.List{listvalidator.NoNullValues(), listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))}
}
