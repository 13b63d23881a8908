package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Digest identifies the content of a resource: equal resources have equal digests on every machine and in every
// version of slipway. It is the SHA-256, in hexadecimal, of the canonical JSON of type, title and parameters: keys
// sorted, no blanks, whole numbers without fraction or exponent, and no escapes in strings but those that JSON demands.
// It never reveals a parameter's value. The place of a content on the controller ([SourceFile]) is no part of it.
//
// Digest knows no schema: bring the resource into its one form with [Schema.Normalize] first, so that `"a"` and `["a"]`
// count as equal where a list is wanted. Values that [Schema.Validate] refuses have a digest too, but no promise comes
// with it.
func Digest(r Resource) string {
	var short [1 << 10]byte // enough for most, and not on the heap
	b := append(short[:0], `{"type":`...)
	b = appendString(b, r.Type)
	b = append(b, `,"title":`...)
	b = appendString(b, r.Title)
	if p := r.Parameters.placeless(); len(p) > 0 {
		b = append(b, `,"parameters":`...)
		b = appendCanonical(b, map[string]any(p))
	}
	b = append(b, '}')
	return SHA256(b)
}

// SourceFile is the parameter that says where on the controller the content of a resource is. What the content is,
// other parameters say: equal resources may have it from different places.
const SourceFile = "source_file"

// placeless returns p without the places of contents on the controller; p itself where it has none.
func (p Parameters) placeless() Parameters {
	if _, has := p[SourceFile]; !has {
		return p
	}
	p = maps.Clone(p)
	delete(p, SourceFile)
	return p
}

// SHA256 returns the SHA-256 of a text, in hexadecimal.
func SHA256[T string | []byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	var digits [2 * sha256.Size]byte // on the stack: a plan digests many resources
	hex.Encode(digits[:], sum[:])
	return string(digits[:])
}

// DigestJSON returns the SHA-256 of a value of Go as [json.Marshal] encodes it. It fails only on values that JSON
// cannot encode, which no configuration has.
func DigestJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return SHA256(text), nil
}

// Canonical returns a text that is equal for two values only if they are equal; 1 and 1.0 are equal.
func Canonical(value any) string { return string(appendCanonical(nil, value)) }

func appendCanonical(b []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return appendFloat(b, v)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, e)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		var few [fewNames]string
		for i, k := range sortedNames(few[:0], v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, k)
			b = append(b, ':')
			b = appendCanonical(b, v[k])
		}
		return append(b, '}')
	default:
		// Not data. It is written in a form that no data has, so that it can never pass for something else.
		return fmt.Appendf(b, "(%T %v)", v, v)
	}
}

// fewNames is as many parameters as few resources have more of.
const fewNames = 16

// sortedNames appends the keys of a map, sorted, to an empty slice.
func sortedNames(names []string, m map[string]any) []string {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// appendFloat writes a whole number as the integer that it is, because a value that went through JSON or HCL comes
// back as either kind.
func appendFloat(b []byte, f float64) []byte {
	if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
		return strconv.AppendInt(b, int64(f), 10)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// appendString quotes s. Bytes are kept as they are, so that two strings never become one.
func appendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	plain := 0 // what follows it has not been written yet
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[plain:i]...)
		plain = i + 1
		if c < 0x20 {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		} else {
			b = append(b, '\\', c)
		}
	}
	b = append(b, s[plain:]...)
	return append(b, '"')
}
