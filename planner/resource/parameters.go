package resource

import (
	"math"
	"strconv"
)

// The accessors below read a parameter that passed validation. A parameter that is not there, or is of another kind,
// reads as the zero value, or as the default given to the forms that end in Or.

// Has reports whether the parameter is given.
func (p Parameters) Has(name string) bool {
	_, ok := p[name]
	return ok
}

// String returns a parameter of kind [String].
func (p Parameters) String(name string) string { return p.StringOr(name, "") }

// StringOr returns a parameter of kind [String], or what stands for one that is absent.
func (p Parameters) StringOr(name, absent string) string {
	if s, ok := scalarText(p[name]); ok {
		return s
	}
	return absent
}

// Bool returns a parameter of kind [Bool].
func (p Parameters) Bool(name string) bool { return p.BoolOr(name, false) }

// BoolOr returns a parameter of kind [Bool], or what stands for one that is absent.
func (p Parameters) BoolOr(name string, absent bool) bool {
	if b, ok := p[name].(bool); ok {
		return b
	}
	return absent
}

// Int returns a parameter of kind [Integer].
func (p Parameters) Int(name string) int64 { return p.IntOr(name, 0) }

// IntOr returns a parameter of kind [Integer], or what stands for one that is absent.
func (p Parameters) IntOr(name string, absent int64) int64 {
	if n, ok := Whole(p[name]); ok {
		return n
	}
	return absent
}

// Strings returns a parameter of kind [StringList]; a single string counts as a list of one. The result is the caller's
// own.
func (p Parameters) Strings(name string) []string {
	switch v := p[name].(type) {
	case nil:
		return nil
	case []any:
		return textsOf(v)
	default:
		if s, ok := scalarText(v); ok {
			return []string{s}
		}
		return nil
	}
}

// Command is one of several commands of a parameter.
type Command struct {
	Line  string   // for /bin/sh; empty where Words are given
	Words []string // a program and its arguments
}

// Commands returns a parameter of kind [StringList] with [Parameter.Commands].
func (p Parameters) Commands(name string) []Command {
	list, isList := p[name].([]any)
	if !isList && p.Has(name) {
		list = []any{p[name]}
	}
	commands := make([]Command, len(list))
	for i, e := range list {
		if words, ok := e.([]any); ok {
			commands[i].Words = textsOf(words)
		} else {
			commands[i].Line = textOf(e)
		}
	}
	return commands
}

// StringMap returns a parameter of kind [StringMap]. The result is the caller's own.
func (p Parameters) StringMap(name string) map[string]string {
	m, ok := p[name].(map[string]any)
	if !ok {
		return nil
	}
	return textMapOf(m)
}

// textsOf returns the texts of a list, without what has none.
func textsOf(list []any) []string {
	out := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := scalarText(e); ok {
			out = append(out, s)
		}
	}
	return out
}

// textMapOf returns the texts of a map, without what has none.
func textMapOf(m map[string]any) map[string]string {
	out := make(map[string]string, len(m))
	for k, e := range m {
		if s, ok := scalarText(e); ok {
			out[k] = s
		}
	}
	return out
}

// scalarText returns the text of a string, a bool or a finite number.
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		if n, ok := Whole(v); ok {
			return strconv.FormatInt(n, 10), true
		}
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'f', -1, 64), true
		}
	}
	return "", false
}
