package template

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions is the table of functions, named and behaving as Terraform's. There is none that reads a file, the time or
// anything else from outside. What would make much out of little is bounded (see bounded.go).
var functions = map[string]function.Function{
	// numbers
	"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc,
	"max": stdlib.MaxFunc, "min": stdlib.MinFunc,
	"parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "signum": stdlib.SignumFunc, "sum": sumFunction,

	// texts
	"chomp": stdlib.ChompFunc, "endswith": endsWithFunction, "format": bounded(stdlib.FormatFunc,
		formatBound), "formatlist": bounded(stdlib.FormatListFunc, formatBound),
	"indent": bounded(stdlib.IndentFunc, indentBound), "join": bounded(stdlib.JoinFunc,
		joinBound), "lower": stdlib.LowerFunc,
	"regex": bounded(stdlib.RegexFunc, regexBound), "regexall": bounded(stdlib.RegexAllFunc,
		regexAllBound), "replace": replaceFunction,
	"split": stdlib.SplitFunc, "startswith": startsWithFunction, "strcontains": containsTextFunction,
	"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc,
	"title": stdlib.TitleFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc,
	"trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc,
	"upper": stdlib.UpperFunc,

	// collections
	"alltrue": allTrueFunction, "anytrue": anyTrueFunction, "chunklist": stdlib.ChunklistFunc,
	"coalesce": coalesceFunction, "coalescelist": stdlib.CoalesceListFunc,
	"compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": bounded(
		stdlib.DistinctFunc, distinctBound),
	"element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "index": indexFunction, "keys": stdlib.KeysFunc,
	"length": lengthFunction,
	"lookup": lookupFunction, "matchkeys": matchKeysFunction, "merge": stdlib.MergeFunc, "one": oneFunction,
	"range": stdlib.RangeFunc, "reverse": stdlib.ReverseListFunc,
	"setintersection": stdlib.SetIntersectionFunc, "setproduct": bounded(stdlib.SetProductFunc,
		productBound), "setsubtract": stdlib.SetSubtractFunc,
	"setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "transpose": transposeFunction,
	"values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,

	// encodings
	"base64decode": base64DecodeFunction, "base64encode": base64EncodeFunction, "csvdecode": stdlib.CSVDecodeFunc,
	"jsondecode": stdlib.JSONDecodeFunc,
	"jsonencode": stdlib.JSONEncodeFunc, "urlencode": urlEncodeFunction, "yamldecode": yamlDecodeFunction,
	"yamlencode": yamlEncodeFunction,

	// digests
	"md5":          digestFunction(sumMD5, hex.EncodeToString),
	"sha1":         digestFunction(sumSHA1, hex.EncodeToString),
	"sha256":       digestFunction(sumSHA256, hex.EncodeToString),
	"sha512":       digestFunction(sumSHA512, hex.EncodeToString),
	"base64sha256": digestFunction(sumSHA256, base64.StdEncoding.EncodeToString),
	"base64sha512": digestFunction(sumSHA512, base64.StdEncoding.EncodeToString),
	"uuidv5":       uuidFunction,

	// networks
	"cidrhost": cidrHostFunction, "cidrnetmask": cidrNetmaskFunction, "cidrsubnet": cidrSubnetFunction,
	"cidrsubnets": cidrSubnetsFunction,

	// times
	"formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc, "timecmp": timeCmpFunction,

	// types
	"can": tryfunc.CanFunc, "issensitive": isSensitiveFunction, "nonsensitive": nonsensitiveFunction,
	"sensitive": sensitiveFunction, "try": tryfunc.TryFunc,
	"tobool": stdlib.MakeToFunc(cty.Bool), "tolist": stdlib.MakeToFunc(
		cty.List(cty.DynamicPseudoType)), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
	"tonumber": stdlib.MakeToFunc(cty.Number), "toset": stdlib.MakeToFunc(
		cty.Set(cty.DynamicPseudoType)), "tostring": stdlib.MakeToFunc(cty.String),
}

// Functions returns the names of the functions that a template can call, sorted.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

// newFunction makes a function of parameters that gives one type.
func newFunction(gives cty.Type, work func(args []cty.Value) (cty.Value, error),
	parameters ...function.Parameter) function.Function {
	return function.New(&function.Spec{
		Params: parameters,
		Type:   function.StaticReturnType(gives),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return work(args) },
	})
}

// parameters are parameters of one type, which are known and not null.
func parameters(t cty.Type, names ...string) []function.Parameter {
	out := make([]function.Parameter, len(names))
	for i, n := range names {
		out[i] = function.Parameter{Name: n, Type: t}
	}
	return out
}

// markFunction makes a function of a value of any type with its marks.
func markFunction(gives func(cty.Value) cty.Type, work func(cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true,
			AllowMarked: true, AllowNull: true, AllowUnknown: true}},
		Type: func(args []cty.Value) (cty.Type, error) { return gives(args[0]), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return work(args[0]), nil },
	})
}

var (
	sensitiveFunction    = markFunction(cty.Value.Type, func(v cty.Value) cty.Value { return v.Mark(sensitive) })
	nonsensitiveFunction = markFunction(cty.Value.Type, func(v cty.Value) cty.Value {
		v, marks := v.Unmark()
		delete(marks, sensitive)
		return v.WithMarks(marks)
	})
	isSensitiveFunction = markFunction(func(cty.Value) cty.Type { return cty.Bool },
		func(v cty.Value) cty.Value { return cty.BoolVal(v.HasMark(sensitive)) })
)

// timeCmpFunction compares two points in time: -1, 0 or 1.
var timeCmpFunction = newFunction(cty.Number, func(args []cty.Value) (cty.Value, error) {
	var at [2]time.Time
	for i, a := range args {
		var err error
		if at[i], err = time.Parse(time.RFC3339, a.AsString()); err != nil {
			return cty.NilVal, function.NewArgErrorf(i, "must be a time as in RFC 3339, such as 2026-01-31T08:00:00Z")
		}
	}
	return cty.NumberIntVal(int64(at[0].Compare(at[1]))), nil
}, parameters(cty.String, "timestamp_a", "timestamp_b")...)
