package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Bounds of decisions.
const (
	decisionBytes = 4 << 10 // of a request
	reasonLimit   = 500     // characters
	decisionRate  = 20      // per second; further ones wait for the next
)

// Person is somebody who may decide about runs. The token is the only proof: it must be one that nobody guesses.
type Person struct{ Name, Token string }

// actions are the decisions, each an address of its own below that of a run.
var actions = []string{journal.Approve, journal.Hold, journal.Resume, journal.Cancel}

// decision is the body of a request that decides.
type decision struct {
	Group  string `json:"group"` // of approve
	Batch  int    `json:"batch"` // of approve
	Reason string `json:"reason"`
}

// decided is the answer: what was recorded.
type decided struct {
	Run    string `json:"run"`
	Action string `json:"action"`
	Group  string `json:"group,omitempty"`
	Batch  int    `json:"batch,omitempty"`
	Person string `json:"person"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// decide returns the handler of an action.
func (s *server) decide(action string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := s.decision(w, r, action)
		if err != nil {
			fail(w, err)
			return
		}
		write(w, http.StatusOK, answer)
	})
}

func (s *server) decision(w http.ResponseWriter, r *http.Request, action string) (answer decided, err error) {
	person, err := s.person(r)
	if err != nil {
		return answer, err
	}
	if !s.decisions.another(time.Now(), decisionRate) {
		w.Header().Set("Retry-After", "1")
		return answer, &statusError{http.StatusTooManyRequests, "too many decisions; ask again later"}
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) // not of every writer
	asked, err := readDecision(w, r, action)
	if err != nil {
		return answer, err
	}
	d := journal.Decision{Action: action, Group: asked.Group, Batch: asked.Batch, Person: person, Reason: asked.Reason}
	err = s.withRun(r.Context(), r.PathValue("id"), func(store *journal.Store, run journal.Run) error {
		e, err := d.Record(r.Context(), store, run)
		answer = decided{run.ID, action, e.Group, e.Phase, person, asked.Reason, e.Decision()}
		if no := journal.UndecidableError(""); errors.As(err, &no) {
			return &statusError{http.StatusConflict, no.Error()}
		}
		if journal.Denied(err) {
			return &statusError{http.StatusForbidden, err.Error()}
		}
		return err
	})
	return answer, err
}

// readDecision reads the body of a request.
func readDecision(w http.ResponseWriter, r *http.Request, action string) (d decision, err error) {
	wrong := func(status int, format string, args ...any) (decision, error) {
		return decision{}, &statusError{status, fmt.Sprintf(format, args...)}
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return wrong(http.StatusUnsupportedMediaType, "the body must be JSON, with Content-Type: application/json")
	}
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, decisionBytes))
	body.DisallowUnknownFields()
	err = body.Decode(&d)
	if err == nil && body.More() {
		err = errors.New("more than one value")
	}
	large := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &large):
		return wrong(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", decisionBytes)
	case errors.Is(err, io.EOF):
		return wrong(http.StatusBadRequest, "the body is empty; give an object, such as {\"reason\": \"it works\"}")
	case err != nil:
		return wrong(http.StatusBadRequest, "the body is not a decision: %v", err)
	}
	d.Reason = strings.TrimSpace(strings.ReplaceAll(resource.Visible(d.Reason), "\n", " "))
	switch {
	case utf8.RuneCountInString(d.Reason) > reasonLimit:
		return wrong(http.StatusBadRequest, "reason: must have at most %d characters", reasonLimit)
	case action == journal.Cancel && d.Reason == "":
		return wrong(http.StatusBadRequest, "reason: is missing; a cancellation needs one")
	case action != journal.Approve && (d.Group != "" || d.Batch != 0):
		return wrong(http.StatusBadRequest, "group and batch belong to approve; leave them out")
	}
	return d, nil
}

// person returns who sent a request that decides. The token must be in the header Authorization, as Bearer: a browser
// adds that only for a script of this server, so no other page can decide in a person's name.
func (s *server) person(r *http.Request) (string, error) {
	if err := s.sameOrigin(r); err != nil {
		return "", err
	}
	if len(s.People) == 0 {
		return "", &statusError{http.StatusForbidden, "nobody may decide here; start serve with --decide or --people-file"}
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if name := s.personOf(given); ok && name != "" {
		return name, nil
	}
	if ok && s.Token != "" && s.isToken(given) {
		return "", &statusError{http.StatusForbidden, "this token may read, and not decide"}
	}
	return "", s.wrongToken()
}

// personOf returns the name of the person with a token, in a time that says nothing about the others; empty for nobody.
func (s *server) personOf(given string) (name string) {
	got := sha256.Sum256([]byte(given))
	for _, p := range s.People {
		if want := sha256.Sum256([]byte(p.Token)); subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			name = p.Name
		}
	}
	return name
}

// sameOrigin refuses what a page of another server sends.
func (s *server) sameOrigin(r *http.Request) error {
	if s.Token == "" {
		if err := loopbackOnly(r); err != nil {
			return err
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
				return &statusError{http.StatusForbidden, fmt.Sprintf("the request comes from a page of %q", origin)}
			}
		}
	}
	if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" {
		return &statusError{http.StatusForbidden, "the request comes from a page of another server"}
	}
	return nil
}
