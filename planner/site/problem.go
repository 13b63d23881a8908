package site

import "github.com/slipway/terraform-provider-slipway/planner/invalid"

// The errors of a site are those of package invalid.
type (
	Code     = invalid.Code
	Problem  = invalid.Error
	Problems = invalid.Errors
)

// The codes are those of package invalid.
const (
	BadName           = invalid.BadName
	BadLabel          = invalid.BadLabel
	BadValue          = invalid.BadValue
	MissingField      = invalid.MissingField
	Duplicate         = invalid.Duplicate
	DuplicateGroup    = invalid.DuplicateGroup
	UnknownDependency = invalid.UnknownDependency
	UnknownGroup      = invalid.UnknownGroup
	UnknownNode       = invalid.UnknownNode
	Cycle             = invalid.Cycle
	UnreachableGoal   = invalid.UnreachableGoal
	NoNodes           = invalid.NoNodes
	NoGroup           = invalid.NoGroup
	UnknownType       = invalid.UnknownType
	UnknownParameter  = invalid.UnknownParameter
	BadParameter      = invalid.BadParameter
	MissingParameter  = invalid.MissingParameter
	UnknownReference  = invalid.UnknownReference
	DuplicateResource = invalid.DuplicateResource
	BadStructure      = invalid.BadStructure
	UnknownRole       = invalid.UnknownRole
	EmptyType         = invalid.EmptyType
	EmptyTitle        = invalid.EmptyTitle
	NullValue         = invalid.NullValue
	DependencyCycle   = invalid.DependencyCycle
	NoEffect          = invalid.NoEffect
	NodeMoved         = invalid.NodeMoved
	SameMachine       = invalid.SameMachine
	SimilarResource   = invalid.SimilarResource
	Protected         = invalid.Protected
)
