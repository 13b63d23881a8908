package template

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// textFunction makes a function of texts that gives a text.
func textFunction(work func(args []string) (string, error), names ...string) function.Function {
	return newFunction(cty.String, func(args []cty.Value) (cty.Value, error) {
		out, err := work(asTexts(args))
		if err != nil {
			return cty.UnknownVal(cty.String), err
		}
		return cty.StringVal(out), nil
	}, parameters(cty.String, names...)...)
}

// testFunction makes a function of two texts that gives true or false.
func testFunction(holds func(a, b string) bool, names ...string) function.Function {
	return newFunction(cty.Bool, func(args []cty.Value) (cty.Value, error) {
		return cty.BoolVal(holds(args[0].AsString(), args[1].AsString())), nil
	}, parameters(cty.String, names...)...)
}

func asTexts(args []cty.Value) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a.AsString()
	}
	return out
}

var (
	startsWithFunction   = testFunction(strings.HasPrefix, "str", "prefix")
	endsWithFunction     = testFunction(strings.HasSuffix, "str", "suffix")
	containsTextFunction = testFunction(strings.Contains, "str", "substr")

	replaceFunction = textFunction(func(a []string) (string, error) { return replace(a[0], a[1], a[2]) }, "str",
		"substr", "replace")

	urlEncodeFunction    = textFunction(func(a []string) (string, error) { return url.QueryEscape(a[0]), nil }, "str")
	base64EncodeFunction = textFunction(func(a []string) (string, error) {
		return base64.StdEncoding.EncodeToString([]byte(a[0])), nil
	}, "str")
	base64DecodeFunction = textFunction(func(a []string) (string, error) {
		out, err := base64.StdEncoding.DecodeString(a[0])
		if err != nil {
			return "", function.NewArgErrorf(0, "is not base64")
		}
		if !utf8.Valid(out) {
			return "", function.NewArgErrorf(0, "is base64 of bytes that are no UTF-8 text")
		}
		return string(out), nil
	}, "str")

	uuidFunction = textFunction(func(a []string) (string, error) {
		spaces := map[string]uuid.UUID{"dns": uuid.NameSpaceDNS, "url": uuid.NameSpaceURL, "oid": uuid.NameSpaceOID,
			"x500": uuid.NameSpaceX500}
		space, ok := spaces[a[0]]
		if !ok {
			var err error
			if space, err = uuid.Parse(a[0]); err != nil {
				return "", function.NewArgErrorf(0, "must be dns, url, oid, x500 or a UUID")
			}
		}
		return uuid.NewSHA1(space, []byte(a[1])).String(), nil
	}, "namespace", "name")
)

// digestFunction makes the function of a digest of a text, in hexadecimal or base64.
func digestFunction(sum func([]byte) []byte, encode func([]byte) string) function.Function {
	return textFunction(func(a []string) (string, error) { return encode(sum([]byte(a[0]))), nil }, "str")
}

func sumMD5(b []byte) []byte    { d := md5.Sum(b); return d[:] }
func sumSHA1(b []byte) []byte   { d := sha1.Sum(b); return d[:] }
func sumSHA256(b []byte) []byte { d := sha256.Sum256(b); return d[:] }
func sumSHA512(b []byte) []byte { d := sha512.Sum512(b); return d[:] }
