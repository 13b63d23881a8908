package template

import (
	"maps"
	"slices"

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
	"md5": digestFunctions["md5"], "sha1": digestFunctions["sha1"], "sha256": digestFunctions["sha256"],
	"sha512":       digestFunctions["sha512"],
	"base64sha256": digestFunctions["base64sha256"], "base64sha512": digestFunctions["base64sha512"],
	"uuidv5": uuidFunction,

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
