package resource

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Digest identifies the content of a resource: equal resources have equal digests on every machine and in every
// version of slipway. It is the SHA-256, in hexadecimal, of the canonical JSON of type, title and parameters: keys
// sorted, no blanks, whole numbers without fraction or exponent, and no escapes in strings but those that JSON demands. It
// never reveals a parameter's value.
//
// Digest knows no schema: bring the resource into its one form with [Schema.Normalize] first, so that `"a"` and `["a"]` count as
// equal where a list is wanted. Values that [Schema.Validate] refuses have a digest too, but no promise comes with it.
func Digest(r Resource) string {
	var b bytes.Buffer
	b.WriteString(`{"type":`)
	writeString(&b, r.Type)
	b.WriteString(`,"title":`)
	writeString(&b, r.Title)
	if len(r.Parameters) > 0 {
		b.WriteString(`,"parameters":`)
		writeCanonical(&b, map[string]any(r.Parameters))
	}
	b.WriteByte('}')
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:])
}

func writeCanonical(b *bytes.Buffer, value any) {
	switch v := value.(type) {
	case string:
		writeString(b, v)
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		writeFloat(b, v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, e)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, k)
			b.WriteByte(':')
			writeCanonical(b, v[k])
		}
		b.WriteByte('}')
	default:
		// Not data. It is written in a form that no data has, so that it can never pass for something else.
		fmt.Fprintf(b, "(%T %v)", v, v)
	}
}

// writeFloat writes a whole number as the integer that it is, because a value that went through JSON or HCL comes
// back as either kind.
func writeFloat(b *bytes.Buffer, f float64) {
	if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
		b.WriteString(strconv.FormatInt(int64(f), 10))
		return
	}
	b.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
}

// writeString quotes s. Bytes are kept as they are, so that two strings never become one.
func writeString(b *bytes.Buffer, s string) {
	const hexDigits = "0123456789abcdef"
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20:
			b.WriteString(`\u00`)
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&0xf])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}
