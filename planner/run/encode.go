package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// programVersion is that of encoded programs; it rises when an older build would read one wrongly.
const programVersion = 1

// encoded is a program as JSON. Names are there once and elsewhere by their index, so that a session takes less than
// 150 bytes however long names are (design.md 6): "~1z" is Names[71], the index to the base of 36.
type encoded struct {
	Version int
	Names   []string // sorted
	Program any
}

// plain is a program that is encoded field by field.
type plain Program

// shortName is the length up to which a name stays where it is.
const shortName = 6

// MarshalJSON encodes a program: equal programs give equal text.
func (p Program) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(plain(p))
	if err != nil {
		return nil, err
	}
	var fields any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	if err := numbers.Decode(&fields); err != nil {
		return nil, err
	}
	seen := map[string]int{}
	eachString(fields, func(s string) string {
		seen[s]++
		return s
	})
	maps.DeleteFunc(seen, func(s string, n int) bool {
		return !strings.HasPrefix(s, "~") && (n == 1 || len(s) <= shortName)
	})
	out := encoded{Version: programVersion, Names: slices.Sorted(maps.Keys(seen))}
	for i, s := range out.Names {
		seen[s] = i
	}
	out.Program = eachString(fields, func(s string) string {
		if i, named := seen[s]; named {
			return "~" + strconv.FormatInt(int64(i), 36)
		}
		return s
	})
	return json.Marshal(out)
}

// UnmarshalJSON is the reverse of MarshalJSON. A program of another version is an error.
func (p *Program) UnmarshalJSON(data []byte) error {
	e := encoded{}
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	if err := numbers.Decode(&e); err != nil {
		return fmt.Errorf("the program of the run cannot be read: %w", err)
	}
	if e.Version != programVersion {
		return fmt.Errorf("the program of the run has version %d, this build reads %d", e.Version, programVersion)
	}
	var wrong error
	fields := eachString(e.Program, func(s string) string {
		digits, named := strings.CutPrefix(s, "~")
		if !named {
			return s
		}
		i, err := strconv.ParseInt(digits, 36, 64)
		if err != nil || i < 0 || i >= int64(len(e.Names)) {
			wrong = fmt.Errorf("the program of the run cannot be read: it has no name %q", s)
			return s
		}
		return e.Names[i]
	})
	if wrong != nil {
		return wrong
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, (*plain)(p))
}

// eachString returns a value of JSON in which every string, the keys of objects among them, is replaced.
func eachString(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = eachString(v[i], replace)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[replace(key)] = eachString(value, replace)
		}
		return out
	}
	return v
}
