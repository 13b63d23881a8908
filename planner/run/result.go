package run

import (
	"encoding/json"
	"unicode/utf8"
)

// Bounds of a result (design.md 6).
const (
	MostResult   = 2048 // bytes, as JSON, of the result of a session with a node
	MostFailures = 20

	mostError = 500 // bytes of the text of Err
	mostIDs   = 900 // bytes of all Failures
	mostID    = 100 // bytes of one of them
	mostFact  = 64  // bytes of Boot and of Digest
)

// Counts are how many items of a session ended how.
type Counts struct {
	Changed   int `json:",omitempty"`
	Unchanged int `json:",omitempty"`
	Failed    int `json:",omitempty"`
	Skipped   int `json:",omitempty"` // left out because what they require failed
	Unknown   int `json:",omitempty"` // without a result
}

// Bounded returns the result with no more than a machine, and what is stored with its events, may get: at most
// [MostResult] bytes as JSON, Decided apart. What is cut off is in the journal.
func (r Result) Bounded() Result {
	r.Boot, r.Digest = clip(r.Boot, mostFact), clip(r.Digest, mostFact)
	ids, left := r.Failures, mostIDs
	r.Failures = nil
	for _, id := range ids[:min(len(ids), MostFailures)] {
		id = clip(id, mostID)
		if left -= length(id) + len(`"",`); left < 0 {
			break
		}
		r.Failures = append(r.Failures, id)
	}
	if r.Err != nil {
		if text := r.Err.Error(); length(text) > mostError {
			r.Err = &clippedError{clip(text, mostError), r.Err}
		}
	}
	return r
}

// clippedError is an error whose text was too long.
type clippedError struct {
	text string
	err  error
}

func (e *clippedError) Error() string { return e.text }
func (e *clippedError) Unwrap() error { return e.err }

// clip returns the beginning of a text that takes at most so many bytes as JSON, with an ellipsis where something is
// missing.
func clip(text string, most int) string {
	if len(text) <= most && length(text) <= most {
		return text
	}
	const ellipsis = "…"
	end, left := 0, most-len(ellipsis)
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if left -= length(text[end : end+size]); left < 0 {
			break
		}
		end += size
	}
	return text[:end] + ellipsis
}

// length returns how many bytes a text takes as JSON, without quotes.
func length(text string) int {
	data, err := json.Marshal(text)
	if err != nil { // no text is an error
		return len(text)
	}
	return len(data) - len(`""`)
}
