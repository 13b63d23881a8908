package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestWrongArguments(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"nothing", "terraform-provider-slipway nothing: no such command; there are "},
		{"validat site.yaml", `validat: no such command; did you mean "validate"?; there are `},
		{"nothing --output json", "nothing: no such command"},
		{"services nothing", "services nothing: no such command; there are diagnose, list, log, show"},
		{"services nothing --bogus", "services nothing: no such command"},
		{"completion nothing", "completion nothing: no such command; there are bash, fish, powershell, zsh"},
		{"help nothing", "terraform-provider-slipway nothing: no such command"},
		{"help services nothing", "services nothing: no such command"},
		{"help plan nothing", `plan: has no commands, so there is no help for "nothing"`},
		{"runs nothing", `terraform-provider-slipway runs takes no arguments, got "nothing"`},
		{"lifecycle list nothing", `lifecycle list takes no arguments, got "nothing"`},
		{"report one two", `terraform-provider-slipway report takes one run, got "two" too`},
		{"watch one two", `terraform-provider-slipway watch takes one run, got "two" too`},
		{"runs --limit 0", "--limit 0: must be at least 1"},
		{"runs --limit -1", "--limit -1: must be at least 1"},
		{"services log web --limit 0", "--limit 0: must be at least 1"},
		{"--bogus", "unknown flag: --bogus"},
		{"runs --limit many", `invalid argument "many"`},
	} {
		out, errOut, status := answer(t, "", strings.Fields(tt.args)...)
		if status != statusInvalid || out != "" || !strings.Contains(errOut, tt.want) {
			t.Errorf("%s: status %d, output %q, error %q, want %q", tt.args, status, out, errOut, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	for args, want := range map[string]string{
		"":                   "Available Commands:",
		"--help":             "Available Commands:",
		"help":               "Available Commands:",
		"help help":          "Help provides help",
		"help plan":          "terraform-provider-slipway plan FILE...",
		"help services list": "terraform-provider-slipway services list",
		"services":           "Available Commands:",
		"services -h":        "Available Commands:",
		"lifecycle":          "Available Commands:",
		"completion":         "Available Commands:",
		"--version":          "terraform-provider-slipway version test",
	} {
		out, errOut, status := answer(t, "", strings.Fields(args)...)
		if status != 0 || errOut != "" || !strings.Contains(out, want) {
			t.Errorf("%q: status %d, output %q, error %q, want %q", args, status, out, errOut, want)
		}
	}
}

// asked is standard input that never comes, and tells when somebody waits for it.
type asked struct {
	io.Reader
	waited chan struct{}
}

func (a asked) Read(b []byte) (int, error) {
	close(a.waited)
	return a.Reader.Read(b)
}

// TestInterrupted: a command that only reads ends when it is interrupted, though it is in the middle of something.
func TestInterrupted(t *testing.T) {
	for _, args := range []string{"validate -", "plan -", "simulate -", "graph -", "order -", "override - -",
		"lifecycle lint -"} {
		t.Run(args, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			never, end := io.Pipe()
			in := asked{never, make(chan struct{})}
			cmd := New("test", nil, "")
			var out bytes.Buffer
			cmd.SetIn(in)
			cmd.SetOut(&out)
			cmd.SetArgs(strings.Fields(args))
			ended := make(chan error, 1)
			go func() { ended <- cmd.ExecuteContext(ctx) }()
			<-in.waited
			cancel()
			if err := <-ended; err == nil || !strings.HasSuffix(err.Error(), ": interrupted") ||
				ExitStatus(err) != statusInvalid || out.Len() > 0 {
				t.Errorf("got %v (status %d), output %q", err, ExitStatus(err), out.String())
			}
			if err := end.CloseWithError(errors.New("the test is over")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMarkdownText(t *testing.T) {
	for text, want := range map[string]string{
		"R&D":         "R&amp;D",
		"&lt;b&gt;":   "&amp;lt;b&amp;gt;",
		"~~gone~~":    `\~\~gone\~\~`,
		"a|b\nc_d*e*": `a\|b c\_d\*e\*`,
		"<b>[x](y)#`": "&lt;b>" + `\[x\](y)\#` + "\\`",
	} {
		if got := asMarkdown.escape(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestGuideIsComplete holds the guide to the commands that read documents, and to the keys of the JSON of order and
// override.
func TestGuideIsComplete(t *testing.T) {
	guide, err := os.ReadFile("../../templates/guides/companion.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"validate", "plan", "simulate", "graph", "order", "override"} {
		cmd, _, err := New("test", nil, "").Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(guide), "\n| `"+cmd.Use+"` | ") {
			t.Errorf("the table of commands lacks %q", cmd.Use)
		}
	}
	for name, of := range map[string][]any{
		"order":    {orderJSON{}, stageJSON{}, stageTaskJSON{}, graphTaskJSON{}, stepGroupJSON{}},
		"override": {overridesJSON{}, overriddenJSON{}},
	} {
		_, section, found := strings.Cut(string(guide), "\n`"+name+"`:\n\n| key | value |\n")
		section, _, _ = strings.Cut(section, "\n\n")
		if !found {
			t.Errorf("the guide does not tell of the JSON of %s", name)
		}
		for _, v := range of {
			for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
				key, may, _ := strings.Cut(f.Tag.Get("json"), ",")
				written := regexp.MustCompile(`[{ ` + "`" + `]` + key + `(\??)[,}` + "`" +
					`]`).FindStringSubmatch(section)
				if written == nil {
					t.Errorf("%s: the guide lacks the key %s of %T", name, key, v)
				} else if atTop := strings.Contains(section, "`"+key+"`?"); (may == "omitempty") != (written[1] == "?" || atTop) && f.Name != "Nodes" { // several have nodes
					t.Errorf("%s: the guide is wrong about when %s of %T is left out", name, key, v)
				}
			}
		}
	}
}
