package command

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/server"
)

// writeReportMarkdown writes a report for a merge request or a ticket.
func writeReportMarkdown(out io.Writer, a *account) error {
	p, f := &printer{w: out}, asMarkdown
	p.printf("# Run of site %s: %s\n\n", f.escape(a.Site), f.escape(a.State))
	p.printf("%s, started %s, took %s, by %s. %s.\n", f.escape(a.Operation), a.Started.UTC().Format(time.RFC3339),
		duration(a.Run), f.escape(a.Owner), a.counts())
	for _, w := range waitsOf(a.Held) {
		p.printf("\nThe run %s.\n", f.escape(w.String()))
	}
	if len(a.Steps) > 0 {
		p.printf("\n## Steps\n\n")
	}
	for _, s := range a.Steps {
		p.printf("- %s\n", f.escape(s))
	}
	if a.Report != "" {
		p.printf("\n## Outcome\n\n")
		p.fence("", a.Report)
	}
	if len(a.Decisions) > 0 {
		p.printf("\n## Decisions\n\n")
	}
	for _, d := range a.Decisions {
		p.printf("- %s: %s\n", d.Time.UTC().Format(time.RFC3339), f.escape(d.Message))
	}
	for _, part := range []struct {
		title, language string
		results         []alike
	}{{"Failed", "", a.Failures}, {"Left as it is (noop)", "", a.Noop}, {"Changed texts", "diff", a.Texts}} {
		if len(part.results) > 0 {
			p.printf("\n## %s\n", part.title)
		}
		for _, r := range part.results[:min(len(part.results), textsShown)] {
			p.printf("\n%s\n", f.escape(r.String()))
			if r.Output != "" {
				p.printf("\n")
				p.fence(part.language, r.Output)
			}
		}
		if more := len(part.results) - textsShown; more > 0 {
			p.printf("\nand %d more; `--output json` has them\n", more)
		}
	}
	if len(a.Nodes) > 0 {
		p.printf("\n## Nodes\n\n")
		rows := make([][]string, len(a.Nodes))
		for i, n := range a.Nodes {
			rows[i] = []string{n.Title(), n.Group, n.Stage, fmt.Sprint(len(n.Tasks)), fmt.Sprint(n.Changed),
				fmt.Sprint(n.Failed), n.Time().String()}
		}
		p.table(f, []string{"NODE", "GROUP", "STAGE", "TASKS", "CHANGED", "FAILED", "TIME"}, rows)
	}
	p.printf("\nRun: `%s`\n", a.ID)
	return p.err
}

// fence prints a block of text as it is. Its fence is longer than any in the text.
func (p *printer) fence(language, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	p.printf("%s%s\n%s\n%s\n", fence, language, strings.TrimRight(text, "\n"), fence)
}

//go:embed report.html
var reportPage string

var reportTemplate = template.Must(template.New("report").Funcs(server.Functions).
	Funcs(template.FuncMap{"count": resource.Count}).Parse(reportPage))

// writeReportHTML writes a report as one page that needs nothing else and runs no script.
func writeReportHTML(out io.Writer, a *account) error {
	var page strings.Builder
	err := reportTemplate.Execute(&page, struct {
		*account
		Took, Counts string
		Waits        []wait
	}{a, duration(a.Run), a.counts(), waitsOf(a.Held)})
	if err == nil {
		_, err = io.WriteString(out, resource.Visible(page.String()))
	}
	return err
}

// succeeded reports whether nobody has to look at the run again: it failed nowhere, or it is still at work.
func (a *account) succeeded() bool {
	switch a.Status {
	case string(engine.Failed), string(engine.Interrupted), journal.Abandoned:
		return false
	}
	return true
}

// junitSuites is a report in the XML that CI systems read as test results: a suite for each node with a case for each
// task, and one for the run as a whole.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
	Skipped *junitSkipped `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeReportJUnit(out io.Writer, a *account) error {
	var whole time.Duration
	if !a.Ended.IsZero() {
		whole = a.Ended.Sub(a.Started)
	}
	run := junitCase{Class: a.Site, Name: a.Operation + " of site " + a.Site, Time: seconds(whole), Output: a.Report}
	if !a.succeeded() {
		run.Failure, run.Output = &junitFailure{"the run is " + a.Status, a.Report}, ""
	}
	for _, d := range a.Decisions {
		run.Output = strings.TrimLeft(run.Output+fmt.Sprintf("\ndecided at %s: %s", d.Time.UTC().Format(time.RFC3339),
			d.Message), "\n")
	}
	root := junitSuites{Name: "slipway: " + a.Site, Time: seconds(whole)}
	root.add(junitSuite{Name: "run " + a.ID, Time: seconds(whole), Cases: []junitCase{run}})
	for _, n := range a.Nodes {
		suite := junitSuite{Name: n.Title(), Time: seconds(n.Time())}
		for _, e := range n.Tasks {
			c := junitCase{Class: n.Title(), Name: e.Action, Time: seconds(time.Duration(e.Millis) * time.Millisecond)}
			if e.Resource != "" {
				c.Name = e.Resource
			}
			if e.Status == "failed" {
				c.Failure = &junitFailure{withoutHint(e.Message), e.Output}
			} else {
				c.Output = strings.TrimSpace(e.Status + "\n" + e.Message + "\n" + e.Output)
			}
			suite.Cases = append(suite.Cases, c)
		}
		if stoppedNode(n) {
			why := strings.TrimSuffix(n.Stage+": "+withoutHint(n.Message), ": ")
			suite.Cases = append(suite.Cases, junitCase{Class: n.Title(), Name: n.Title(), Time: seconds(0),
				Skipped: &junitSkipped{why}})
		}
		root.add(suite)
	}
	text, err := xml.MarshalIndent(root, "", "  ")
	if err == nil {
		_, err = io.WriteString(out, xml.Header+resource.Visible(string(text))+"\n")
	}
	return err
}

// add adds a suite and counts its cases.
func (s *junitSuites) add(suite junitSuite) {
	suite.Tests = len(suite.Cases)
	for _, c := range suite.Cases {
		if c.Failure != nil {
			suite.Failures++
		}
	}
	s.Tests += suite.Tests
	s.Failures += suite.Failures
	s.Suites = append(s.Suites, suite)
}

// seconds is a duration as JUnit's XML has it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
