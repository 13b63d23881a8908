package types

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// octets is a text of the node that need not be UTF-8: a link's target, a user's full name. In JSON it is a string, or
// where that cannot hold it, an object with the bytes.
type octets string

type encodedOctets struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON loses no byte.
func (o octets) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(o)) {
		return json.Marshal(string(o))
	}
	return json.Marshal(encodedOctets{[]byte(o)})
}

// UnmarshalJSON reads both forms.
func (o *octets) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		var e encodedOctets
		if err := resource.DecodeStrictly(text, &e); err != nil {
			return err
		}
		*o = octets(e.Bytes)
		return nil
	}
	var plain string
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	*o = octets(plain)
	return nil
}
