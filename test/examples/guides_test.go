package examples

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A guide is run from its Markdown, from top to bottom, in a folder that begins with a copy of examples/:
//
//   - Blocks of `sh` are scripts. In blocks of `console`, lines that begin with "$ " are commands, those with "> " go on with
//     one, and what follows is what it prints: a line "..." stands for any lines, blank lines and the amount of white space do
//     not count, nor do colors and the frames of errors, and times, ids and digests are any (masks).
//   - A comment `<!-- file NAME -->` makes the next block a file, `<!-- status N -->` says how the last command of the next one
//     ends: 0 without it.
//   - What readers have before they begin, such as machines, is in comments that they do not see: `<!-- run` and commands,
//     `<!-- file NAME` and the content, up to `-->`.
//
// Commands are typed nowhere else, so each one is run here, or is in notRun.
type guidePart struct {
	line    int // of what opens it, from 1
	kind    string
	file    string
	status  int
	content string
}

// notRun are blocks that need what no test has, by guide and first line.
var notRun = map[string]map[string]string{
	"groups": {
		`terraform-provider-slipway runs approve RUN --why "error rate is normal" # the batch that waits; --group GROUP when several do`: "RUN waits for a person",
	},
	"operating": {
		"terraform-provider-slipway serve --journal-directory .slipway &": "serves until it is stopped, and follows a run at work",
		"curl -s -H \"Authorization: Bearer $TOKEN\" --json '{\"group\": \"compute\", \"batch\": 1, \"reason\": \"the canary is fine\"}' http://127.0.0.1:8642/v1/runs/RUN/approve": "RUN waits for a person",
	},
	"scaling": {
		`export SLIPWAY_JOURNAL="postgres://slipway@db.example.org/slipway?sslmode=verify-full"`: "a PostgreSQL server, and one of Temporal",
		"# where the key of the provider is: what the workers of rack1 need":                     "the worker that it starts works until it is stopped",
	},
	"services": {
		"$ terraform-provider-slipway services diagnose ntp": "a node on which chronyc runs and does not find the time",
	},
}

// parts returns the blocks and comments of a guide.
func parts(t *testing.T, name, text string) (out []guidePart) {
	t.Helper()
	next := guidePart{}
	var open *guidePart
	end := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open != nil && line == end:
			out, open = append(out, *open), nil
		case open != nil:
			if strings.HasPrefix(line, "$ ") && open.kind != "console" {
				t.Errorf("%s:%d: a command in a block of %q; write console", name, i+1, open.kind)
			}
			open.content += line + "\n"
		case strings.HasPrefix(line, "    $ "):
			t.Errorf("%s:%d: a command in an indented block; write ```console", name, i+1)
		case strings.HasPrefix(line, "```"):
			next.line, next.kind = i+1, strings.TrimPrefix(line, "```")
			if next.file != "" {
				next.kind = "file"
			}
			if next.kind == "shell" || next.kind == "bash" {
				t.Errorf("%s:%d: a block of %q; write sh or console", name, i+1, next.kind)
			}
			part := next
			open, end, next = &part, "```", guidePart{}
		case line == "<!-- run":
			open, end = &guidePart{line: i + 1, kind: "sh"}, "-->"
		case strings.HasPrefix(line, "<!-- file "):
			file, whole := strings.CutSuffix(strings.TrimPrefix(line, "<!-- file "), " -->")
			if next.file = file; !whole {
				open, end, next = &guidePart{line: i + 1, kind: "file", file: file}, "-->", guidePart{}
			}
		case strings.HasPrefix(line, "<!-- status "):
			status, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(line, "<!-- status "), " -->"))
			if next.status = status; err != nil {
				t.Errorf("%s:%d: %v", name, i+1, err)
			}
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block does not end", name, open.line)
	}
	return out
}

// commands returns the commands of a block with what each prints.
func (p guidePart) commands() (out [][2]string) {
	if p.kind == "sh" {
		return [][2]string{{p.content, "..."}}
	}
	for _, line := range strings.Split(strings.TrimSuffix(p.content, "\n"), "\n") {
		last := len(out) - 1
		if command, is := strings.CutPrefix(line, "$ "); is {
			out = append(out, [2]string{command, ""})
		} else if more, is := strings.CutPrefix(line, "> "); is && last >= 0 && out[last][1] == "" {
			out[last][0] += "\n" + more
		} else if last >= 0 {
			out[last][1] += line + "\n"
		}
	}
	return out
}

func TestGuides(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(top, "templates/guides/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		known[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runGuide(t, name, parts(t, filepath.Base(page), string(text)))
		})
	}
	for name := range notRun {
		if !known[name] {
			t.Errorf("notRun has the guide %q, which there is not", name)
		}
	}
}

func runGuide(t *testing.T, name string, parts []guidePart) {
	t.Helper()
	left := map[string]bool{}
	for first := range notRun[name] {
		left[first] = true
	}
	parts = slices.DeleteFunc(parts, func(p guidePart) bool {
		first, _, _ := strings.Cut(p.content, "\n")
		reason := notRun[name][first]
		delete(left, first)
		return reason != "" || p.kind != "sh" && p.kind != "console" && p.kind != "file"
	})
	for first := range left {
		t.Errorf("notRun has a block that begins %q, which there is not", first)
	}
	if len(parts) == 0 {
		return
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(top, "examples"))); err != nil {
		t.Fatal(err)
	}
	terraform := binary(t, dir)
	bin := filepath.Join(t.TempDir(), "bin")
	mirror, err := filepath.Abs(os.Getenv("SLIPWAY_MIRROR"))
	if err != nil || os.Mkdir(bin, 0o755) != nil || os.Symlink(terraform.Path, filepath.Join(bin, "terraform")) != nil ||
		os.Symlink(filepath.Join(filepath.Dir(mirror), "terraform-provider-slipway"), filepath.Join(bin, "terraform-provider-slipway")) != nil {
		t.Fatal("the commands cannot be linked")
	}
	in := dir
	for _, p := range parts {
		if p.kind == "file" {
			file := filepath.Join(in, p.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, file, p.content)
			continue
		}
		commands := p.commands()
		for i, c := range commands {
			cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -eo pipefail\ntrap 'pwd >\"$OLDHOME/pwd\"' EXIT\n"+c[0])
			cmd.Dir = in
			cmd.Env = append(terraform.Env, "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "OLDHOME="+bin, "SSH_AUTH_SOCK=", "NO_COLOR=1", "TF_IN_AUTOMATION=", "EDITOR=true")
			cmd.Stdin = strings.NewReader("yes\n")
			out, err := cmd.CombinedOutput()
			status := 0
			var failed *exec.ExitError
			if errors.As(err, &failed) {
				status = failed.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			want := 0
			if i == len(commands)-1 {
				want = p.status
			}
			wrong := differs(plain(dir, c[1]), plain(dir, string(out)))
			if status != want {
				wrong = fmt.Sprintf("status %d, want %d", status, want)
			}
			if wrong != "" {
				t.Fatalf("line %d: %s: %s\n%s", p.line, c[0], wrong, out)
			}
			now, err := os.ReadFile(filepath.Join(bin, "pwd"))
			if err != nil {
				t.Fatal(err)
			}
			in = strings.TrimSpace(string(now))
		}
	}
}

// masks are what comes out otherwise each time.
var masks = []struct {
	of *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\x1b\[[0-9;]*m`), ""},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`\{sha256\}[0-9a-f]{8}`), "{sha256}DIGEST"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?( ?UTC|Z)?`), "TIME"},
	{regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)?m?s\b`), "DURATION"},
}

// plain returns the lines of an output without what does not count.
func plain(dir, text string) (out []string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, dir, "~"), "OpenTofu", "Terraform")
	for _, m := range masks {
		text = m.of.ReplaceAllString(text, m.as)
	}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimLeft(line, "╷│╵")
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// differs says where an output is not what is wanted: "" when it is.
func differs(want, got []string) string {
	for i, line := range want {
		if line == "..." {
			if rest := want[i+1:]; len(rest) > 0 && rest[0] != "..." {
				at := slices.Index(got, rest[0])
				for ; at >= 0; at = after(got, rest[0], at) {
					if differs(rest, got[at:]) == "" {
						return ""
					}
				}
				return fmt.Sprintf("after ..., %q does not come, or what follows it is something else", rest[0])
			} else if len(rest) > 0 {
				return differs(rest, got)
			}
			return ""
		}
		if len(got) == 0 || got[0] != line {
			return fmt.Sprintf("want %q, got %q", line, append(got, "the end")[0])
		}
		got = got[1:]
	}
	if len(got) > 0 {
		return fmt.Sprintf("%q comes besides", got[0])
	}
	return ""
}

// after returns the next index of a line after at, -1 where it does not come any more.
func after(lines []string, line string, at int) int {
	if i := slices.Index(lines[at+1:], line); i >= 0 {
		return at + 1 + i
	}
	return -1
}

// What guides show is compared as far as it can be the same each time.
func TestOutputsOfGuides(t *testing.T) {
	t.Parallel()
	const got = "  web1   DEPLOYED\n\n╷\n│ Error: run 3f0e9a52-1111-4222-8333-123456789abc took 12s\n╵\nend\n"
	for want, same := range map[string]bool{
		"web1 DEPLOYED\n Error: run 00000000-0000-0000-0000-000000000000 took 1.5s\nend": true,
		"web1 DEPLOYED\n...":      true,
		"...\nend":                true,
		"...\nweb1 DEPLOYED\n...": true,
		"web1 FAILED\n...":        false,
		"web1 DEPLOYED\nend":      false,
		"web1 DEPLOYED":           false,
		"...\nweb2\n...":          false,
		"...\nend\nand more":      false,
		"...\nweb1 DEPLOYED\nend": false,
	} {
		if wrong := differs(plain("/x", want), plain("/x", got)); (wrong == "") != same {
			t.Errorf("%q: %q", want, wrong)
		}
	}
	if p := parts(t, "x.md", "<!-- status 2 -->\n```console\n$ a\n> b\nout\n$ c\n```\n<!-- file f\nx\n-->\n"); len(p) != 2 || p[0].status != 2 || p[1].content != "x\n" ||
		!slices.Equal(p[0].commands(), [][2]string{{"a\nb", "out\n"}, {"c", ""}}) {
		t.Errorf("%v", p)
	}
	if !bytes.Contains([]byte(plain("/x", "run 2026-01-02T03:04:05Z")[0]), []byte("TIME")) {
		t.Error("times count")
	}
}
