package temporal

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// TestAWorkerOfAZoneIsTrustedNoMoreThanItsNodes: what it sends in their place is cleaned and bounded in the same way.
func TestAWorkerOfAZoneIsTrustedNoMoreThanItsNodes(t *testing.T) {
	const evil = "go\x1b]0;owned\a\u009b31m"
	r := convergeResult{
		Results: []converge.Result{{ID: "file[" + evil + "]", Message: evil, Output: evil, Notice: evil}},
		Summary: converge.Summary{Error: &converge.SessionError{Code: converge.CodeLocked, Message: evil}},
		Err:     rollout.SaveError(errors.New(evil)),
	}
	if err := r.check(1); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal([]any{r.Results, r.Summary, r.Err.Err().Error()})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "go]0;owned31m"); n != 6 || strings.Contains(string(text), "\\u001b") {
		t.Errorf("%d texts are clean, want 6: %s", n, text)
	}
	var failed *converge.SessionError
	if err := r.check(0); !errors.As(err, &failed) || failed.Code != converge.CodeProtocol {
		t.Errorf("a result that nobody asked for: %v", err)
	}
	r.Summary.Error.Message = strings.Repeat("x", converge.ErrorLimit+1)
	if err := r.check(1); !errors.As(err, &failed) || failed.Code != converge.CodeProtocol {
		t.Errorf("a summary that is too large: %v", err)
	}
}
