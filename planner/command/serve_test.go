package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// The address that is printed is one that a browser can open.
func TestServedAddress(t *testing.T) {
	const others = ", and at every other address of this machine"
	for listen, want := range map[string]string{
		":8642": "http://localhost:8642/" + others, "[::]:8642": "http://localhost:8642/" + others,
		"0.0.0.0:8642": "http://127.0.0.1:8642/" + others,
		"127.0.0.1:0":  "http://127.0.0.1:8642/", "[::1]:0": "http://[::1]:8642/", "localhost:0": "http://localhost:8642/",
		"gate.example.com:8642": "http://gate.example.com:8642/", "10.0.0.1:http": "http://10.0.0.1:8642/",
	} {
		if got := served(listen, "8642", ""); got != want {
			t.Errorf("--listen %s: %s, want %s", listen, got, want)
		}
	}
}

// The companion serves journals until it is interrupted, also one that begins later.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := New("test", nil, "")
	read, write := io.Pipe()
	cmd.SetOut(write)
	cmd.SetArgs([]string{"serve", "--listen", ":0", "--journal-directory", dir, "--token-file", token})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, others, _ := strings.Cut(strings.TrimPrefix(line, "serving "), ", ")
	if !strings.HasPrefix(address, "http://localhost:") || others != "and at every other address of this machine\n" {
		t.Errorf("it printed %q, not an address that can be opened", line)
	}
	ask := func() string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"v1/sites", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer 0123456789abcdef")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // read to its end
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := ask(); got != "{\"sites\":[]}\n" {
		t.Errorf("without a journal: %s", got)
	}
	s, err := journal.Open(t.Context(), journal.File(dir, "lon1"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the test is over
	if _, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "create"}); err != nil {
		t.Fatal(err)
	}
	if got := ask(); !strings.Contains(got, `"id":"run-1"`) {
		t.Errorf("with a run at work: %s", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The printed address of --decide has the proof that its reader may decide, and the journal has who started serve.
func TestServeDecide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := journal.Open(t.Context(), journal.File(dir, "lon1"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // the test is over
	w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "create"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := New("test", nil, "")
	read, write := io.Pipe()
	cmd.SetOut(write)
	cmd.SetArgs([]string{"serve", "--decide", "--listen", "127.0.0.1:0", "--journal-directory", dir})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, token, found := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "serving ")), "#decide=")
	if !found || len(token) < 20 {
		t.Fatalf("the address is %q", line)
	}
	for proof, want := range map[string]int{token: http.StatusOK, token + "x": http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"v1/runs/run-1/pause", strings.NewReader(`{"reason": "lunch"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+proof)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != want {
			t.Errorf("status %d, want %d, %v", answer.StatusCode, want, err)
		}
	}
	decided, err := w.Decisions(t.Context())
	if err != nil || len(decided) != 1 || decided[0].Message != "by "+person()+": lunch" {
		t.Errorf("the run gets %+v, %v", decided, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Files that name the people who may decide.
func TestReadPeople(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "people")
	for text, want := range map[string]string{
		"# team\n\nAnna B. 0123456789abcdef\nbob\tfedcba9876543210\n": "[{Anna B. 0123456789abcdef} {bob fedcba9876543210}]",
		"":                                       "names nobody",
		"anna\n":                                 ":1: must have a name, blanks and a token",
		"\nanna short\n":                         ":2: must have one token of 16 characters or more",
		"a 0123456789abcdef\nb 0123456789abcdef": ":2: another person has this token",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		people, err := readPeople(file)
		got := fmt.Sprint(people)
		if err != nil {
			got = err.Error()
			if strings.Contains(got, "0123456789abcdef") {
				t.Errorf("the error shows a token: %s", got)
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	short := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(short, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"can be reached from other machines, and there is no token": {"--listen", "0.0.0.0:8642"},
		"is not an address to listen on":                            {"--listen", "here"},
		"no such file":                                              {"--token-file", short + "x"},
		"one token of 16 characters or more":                        {"--token-file", short},
		"leave it out with --token-file and --people-file":          {"--decide", "--people-file", short},
		"--people-file: ":                                           {"--people-file", short + "x"},
	} {
		if _, err := run(t, append([]string{"serve"}, args...)...); err == nil || !strings.Contains(err.Error(), want) || ExitStatus(err) != statusInvalid {
			t.Errorf("%q: %v with status %d, want %q and 2", args, err, ExitStatus(err), want)
		}
	}
}
