package command

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	metricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracesv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	spansv1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// collector is an OpenTelemetry collector on loopback that decodes what it gets.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*spansv1.Span
	metrics map[string]float64 // name and what identifies it -> value or count
	all     bytes.Buffer       // as it came
	errs    []error
}

func newCollector(t *testing.T) *collector {
	c := &collector{metrics: map[string]float64{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err == nil {
			c.all.Write(body)
			err = c.take(r.URL.Path, body)
		}
		if err != nil {
			c.errs = append(c.errs, err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	return c
}

func (c *collector) take(path string, body []byte) error {
	switch path {
	case "/v1/traces":
		var m tracesv1.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			return err
		}
		for _, of := range m.GetResourceSpans() {
			for _, scope := range of.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
		return nil
	case "/v1/metrics":
		var m metricsv1.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			return err
		}
		for _, of := range m.GetResourceMetrics() {
			for _, scope := range of.GetScopeMetrics() {
				for _, metric := range scope.GetMetrics() {
					for _, p := range slices.Concat(metric.GetSum().GetDataPoints(), metric.GetGauge().GetDataPoints()) {
						c.metrics[metric.GetName()+" "+attributes(p.GetAttributes())] = float64(p.GetAsInt())
					}
					for _, p := range metric.GetHistogram().GetDataPoints() {
						c.metrics[metric.GetName()+" "+attributes(p.GetAttributes())] = float64(p.GetCount())
					}
				}
			}
		}
		return nil
	}
	return fmt.Errorf("%s: no such path", path)
}

// attributes returns attributes in one line.
func attributes(of []*commonv1.KeyValue) string {
	var parts []string
	for _, a := range of {
		parts = append(parts, a.GetKey()+"="+a.GetValue().GetStringValue())
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// tree returns the names of the spans below one, each with the names above it.
func (c *collector) tree(parent *spansv1.Span, above string) (names []string) {
	for _, s := range c.spans {
		if bytes.Equal(s.GetParentSpanId(), parent.GetSpanId()) {
			name := strings.TrimPrefix(above+" > "+s.GetName(), " > ")
			names = append(append(names, name), c.tree(s, name)...)
		}
	}
	slices.Sort(names)
	return names
}

// site writes a site of two nodes in a group, one of which cannot have its file, with a secret.
func (s *sandbox) writeSecretSite() {
	s.must(os.WriteFile(s.path("site.yaml"), []byte("site: lon1\nnodes:\n"+
		"- {name: a, connect: {transport: local, root: "+s.path("a")+"}}\n"+
		"- {name: b, connect: {transport: local, root: "+s.path("b")+"}}\n"+
		"groups:\n- {name: web, critical: true, selectors: [], success_criteria: {percent_successful_nodes: 50}}\n"+
		"services:\n- {name: motd, selectors: [], configuration: {file: {/etc/motd: {content: \"hunter2\\n\", sensitive: true}, "+
		"/etc/only-a/x: {content: \"hunter2\\n\", sensitive: true}}}}\n"), 0o600))
	s.must(os.MkdirAll(s.path("a", "etc", "only-a"), 0o755))
}

// A run is a trace with the id of the run: a span for it, its groups, nodes and tasks, and metrics, of a check too. No secret is in them.
func TestTracesAndMetrics(t *testing.T) {
	c := newCollector(t)
	s := newSandbox(t, "a", "b")
	s.writeSecretSite()
	if out, status := s.run("yes\n", "apply", s.path("site.yaml")); !strings.Contains(out, "only-a") {
		t.Fatalf("status %d:\n%s", status, out)
	}
	store, err := journal.OpenExisting(t.Context(), s.path("journal", "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // read only
	run, err := store.Run(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"run create", "run create > group web",
		"run create > group web > node a", "run create > group web > node a > session", "run create > group web > node a > session",
		"run create > group web > node a > session > task create", "run create > group web > node a > session > task create",
		"run create > group web > node a > session > task prepare",
		"run create > group web > node b", "run create > group web > node b > session", "run create > group web > node b > session",
		"run create > group web > node b > session > task create", "run create > group web > node b > session > task create",
		"run create > group web > node b > session > task prepare"}
	if got := c.tree(&spansv1.Span{}, ""); !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	failed := 0
	within := map[string]*spansv1.Span{}
	for _, span := range c.spans {
		within[string(span.GetSpanId())] = span
	}
	for _, span := range c.spans {
		if above := within[string(span.GetParentSpanId())]; above != nil && (span.GetStartTimeUnixNano() < above.GetStartTimeUnixNano()-2e6 ||
			span.GetEndTimeUnixNano() > above.GetEndTimeUnixNano()) {
			t.Errorf("span %s is not within %s", span.GetName(), above.GetName())
		}
		if got := fmt.Sprintf("%x", span.GetTraceId()); got != strings.ReplaceAll(run.ID, "-", "") {
			t.Errorf("span %s has the trace %s, the run is %s", span.GetName(), got, run.ID)
		}
		if span.GetEndTimeUnixNano() < span.GetStartTimeUnixNano() {
			t.Errorf("span %s ends before it starts", span.GetName())
		}
		if span.GetStatus().GetCode() == spansv1.Status_STATUS_CODE_ERROR && strings.Contains(attributes(span.GetAttributes()), "slipway.task=file[/etc/only-a/x]") {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d tasks failed, want 1", failed)
	}
	for name, want := range map[string]float64{
		"slipway.tasks slipway.site=lon1 slipway.status=changed slipway.task.type=file":         3,
		"slipway.tasks slipway.site=lon1 slipway.status=failed slipway.task.type=file":          1,
		"slipway.task.duration slipway.site=lon1 slipway.status=changed slipway.task.type=file": 3,
		"slipway.runs slipway.operation=create slipway.site=lon1 slipway.status=" + run.Status:  1,
	} {
		if got := c.metrics[name]; got != want {
			t.Errorf("%s is %v, want %v; all: %v", name, got, want, c.metrics)
		}
	}
	s.must(os.WriteFile(s.path("a", "etc", "motd"), []byte("changed\n"), 0o600))
	s.run("", "check", s.path("site.yaml"))
	if got := c.metrics["slipway.drift slipway.site=lon1"]; got != 1 {
		t.Errorf("drift is %v, want 1; all: %v", got, c.metrics)
	}
	s.must(os.Remove(s.path("a", "etc", "motd")))
	s.must(os.MkdirAll(s.path("a", "etc", "motd", "folder"), 0o755)) // it cannot be repaired
	s.run("", "apply", "--yes", s.path("site.yaml"))
	s.run("", "check", s.path("site.yaml"))
	if got := c.metrics["slipway.unfinished slipway.site=lon1"]; got != 1 {
		t.Errorf("%v are unfinished, want 1; all: %v", got, c.metrics)
	}
	if len(c.errs) > 0 || strings.Contains(c.all.String(), "hunter2") {
		t.Errorf("errors %v, a secret: %v", c.errs, strings.Contains(c.all.String(), "hunter2"))
	}
}

// TRACEPARENT of the environment is the parent of the run's span, and the journal has the trace that the run is in then.
func TestTraceParent(t *testing.T) {
	for name, tt := range map[string]struct{ parent, trace, span string }{
		"a parent":  {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"},
		"not valid": {"00-0af7651916cd43dd-01", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t)
			t.Setenv("TRACEPARENT", tt.parent)
			s := newSandbox(t, "a")
			s.write("site.yaml", "x", "a")
			s.expect(0, "deployed", "yes\n", "apply", s.path("site.yaml"))
			store, err := journal.OpenExisting(t.Context(), s.path("journal", "lon1.db"))
			s.must(err)
			defer store.Close() //nolint:errcheck // read only
			run, err := store.Run(t.Context(), "")
			s.must(err)
			notes, err := store.AllEvents(t.Context(), run.ID, journal.Note)
			s.must(err)
			trace := tt.trace
			if trace == "" {
				trace = strings.ReplaceAll(run.ID, "-", "")
			}
			if noted := len(notes) == 1 && strings.Contains(notes[0].Message, trace); noted != (tt.trace != "") {
				t.Errorf("the notes are %+v", notes)
			}
			if len(c.spans) < 4 {
				t.Errorf("%d spans, errors %v", len(c.spans), c.errs)
			}
			for _, span := range c.spans {
				parent := fmt.Sprintf("%x", span.GetParentSpanId())
				if strings.HasPrefix(span.GetName(), "run ") && parent != tt.span {
					t.Errorf("the parent of the run is %q, want %q", parent, tt.span)
				}
				if got := fmt.Sprintf("%x", span.GetTraceId()); got != trace {
					t.Errorf("span %s has the trace %s, want %s", span.GetName(), got, trace)
				}
			}
		})
	}
}

// A collector that is down, or never answers, neither fails a run nor keeps it from ending.
func TestCollectorThatIsOfNoUse(t *testing.T) {
	silent := make(chan struct{})
	never := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-silent }))
	defer never.Close()
	defer close(silent)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	for name, url := range map[string]string{"down": down.URL, "silent": never.URL, "wrong": "http://127.0.0.1:1/%zz"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
			s := newSandbox(t, "a")
			s.write("site.yaml", "x", "a")
			out, status := s.run("yes\n", "apply", s.path("site.yaml"))
			if status != 0 || !strings.Contains(out, "races and metrics") {
				t.Errorf("status %d:\n%s", status, out)
			}
		})
	}
	t.Run("protocol", func(t *testing.T) {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", down.URL)
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
		s := newSandbox(t, "a")
		s.write("site.yaml", "x", "a")
		if out, status := s.run("yes\n", "apply", s.path("site.yaml")); status != 0 || !strings.Contains(out, `OTEL_EXPORTER_OTLP_PROTOCOL = "grpc": must be http/protobuf`) {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
}
