package types

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// recorded is embedded by a type T that describes what was there before as a B, a pointer so that all types share one
// code. It gives T the methods of [Type], [Finder], [Widener], [Releaser] and [Imager] that take or return the
// text of that in the ledger.
type recorded[T capturer[B], B any] struct{}

// capturer is what T has in their place. It may have widen, release and now, too: see [Widener], [Releaser] and
// [Imager].
type capturer[B any] interface {
	capture(ctx context.Context, s *Session, r resource.Resource) (B, error)
	undo(ctx context.Context, s *Session, title string, before B) error
	there(ctx context.Context, s *Session, title string, before B) (bool, error)
}

type widener[B any] interface {
	widen(ctx context.Context, s *Session, r resource.Resource, before B) error
}

type releaser[B any] interface {
	release(ctx context.Context, s *Session, r resource.Resource, before B) (resource.Parameters, error)
}

type imager[B any] interface {
	now(ctx context.Context, s *Session, title string, before B) (B, error)
}

// checked is a record that says whether it is damaged.
type checked interface{ check() error }

// located is a record with the path of the object, which r may write another way than the resource did before.
type located interface{ locate(r resource.Resource) }

// decode reads what a type recorded: B is a pointer.
func decode[B any](before json.RawMessage) (b B, err error) {
	if string(before) == "null" {
		before = json.RawMessage("{}")
	}
	err = json.Unmarshal(before, &b)
	if c, ok := any(b).(checked); ok && err == nil {
		err = c.check()
	}
	if err != nil {
		err = fmt.Errorf("the ledger's record of what was there before: %w", err)
	}
	return b, err
}

// encode returns a record as the ledger has it.
func encode(b any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(b)
}

// Capture implements [Type].
func (recorded[T, B]) Capture(ctx context.Context, s *Session, r resource.Resource) (json.RawMessage, error) {
	var t T
	b, err := t.capture(ctx, s, r)
	return encode(b, err)
}

// Widen implements [Widener].
func (recorded[T, B]) Widen(
	ctx context.Context, s *Session, r resource.Resource, before json.RawMessage,
) (json.RawMessage, error) {
	var t T
	var b B
	w, widens := any(t).(widener[B])
	if _, hasPath := any(b).(located); !widens && !hasPath {
		return before, nil
	}
	b, err := decode[B](before)
	if l, hasPath := any(b).(located); hasPath && err == nil {
		l.locate(r)
	}
	if err == nil && widens {
		err = w.widen(ctx, s, r, b)
	}
	return encode(b, err)
}

// Release implements [Releaser].
func (recorded[T, B]) Release(
	ctx context.Context, s *Session, r resource.Resource, before json.RawMessage,
) (returning resource.Parameters, rest json.RawMessage, err error) {
	var t T
	released, ok := any(t).(releaser[B])
	if !ok {
		return nil, before, nil
	}
	b, err := decode[B](before)
	if err == nil {
		returning, err = released.release(ctx, s, r, b)
	}
	rest, err = encode(b, err)
	return returning, rest, err
}

// Image implements [Imager].
func (recorded[T, B]) Image(
	ctx context.Context, s *Session, title string, before json.RawMessage,
) (json.RawMessage, error) {
	var t T
	i, ok := any(t).(imager[B])
	if !ok {
		return nil, nil
	}
	b, err := decode[B](before)
	if err == nil {
		b, err = i.now(ctx, s, title, b)
	}
	return encode(b, err)
}

// There implements [Finder].
func (recorded[T, B]) There(ctx context.Context, s *Session, title string, before json.RawMessage) (bool, error) {
	b, err := decode[B](before)
	if err != nil {
		return false, err
	}
	var t T
	return t.there(ctx, s, title, b)
}

// Undo implements [Type].
func (recorded[T, B]) Undo(ctx context.Context, s *Session, title string, before json.RawMessage) error {
	b, err := decode[B](before)
	if err != nil {
		return err
	}
	var t T
	return t.undo(ctx, s, title, b)
}
