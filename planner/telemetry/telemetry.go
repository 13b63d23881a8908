// Package telemetry sends what runs do as OpenTelemetry traces and metrics, over OTLP and HTTP. It is off unless one of
// the endpoints of OpenTelemetry's environment is set. What it sends are events of the journal, which have no secret,
// and never what commands print. It never lets a run wait: what a collector does not take in time is dropped.
package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// FlushTime bounds how long the end of a run or check waits for a collector.
const FlushTime = 2 * time.Second

// queueSize is how many spans may wait for a collector, unless OTEL_BSP_MAX_QUEUE_SIZE says so. More are dropped.
const queueSize = 1 << 14

// scope names slipway as what makes the spans and metrics.
const scope = "github.com/slipway/terraform-provider-slipway"

// Wanted reports whether the environment says where traces and metrics go.
func Wanted() (traces, metrics bool) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, false
	}
	wanted := func(signal string) bool {
		return os.Getenv("OTEL_"+signal+"_EXPORTER") != "none" &&
			(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != "")
	}
	return wanted("TRACES"), wanted("METRICS")
}

// parent returns a context in which TRACEPARENT and TRACESTATE of the environment, where they are valid, are the parent
// of a span (https://www.w3.org/TR/trace-context/).
func parent(ctx context.Context) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": os.Getenv("TRACEPARENT"),
		"tracestate": os.Getenv("TRACESTATE")})
}

// Inherited returns the id of the trace that the runs of this process are in, because the environment has a parent for
// them. It is empty where each run is a trace of its own, and where no traces are wanted.
func Inherited(ctx context.Context) string {
	traces, _ := Wanted()
	of := trace.SpanContextFromContext(parent(ctx))
	if !traces || !of.IsValid() {
		return ""
	}
	return of.TraceID().String()
}

// TraceID returns the id of the trace of a run: the run's own id, without dashes, or the [Inherited] one. It is empty
// for an id that is none.
func TraceID(ctx context.Context, run string) string {
	if inherited := Inherited(ctx); inherited != "" {
		return inherited
	}
	id, err := uuid.Parse(run)
	if err != nil {
		return ""
	}
	return trace.TraceID(id).String()
}

// sender sends spans and metrics of one run or check.
type sender struct {
	traces  *sdktrace.TracerProvider
	metrics *sdkmetric.MeterProvider

	mu     sync.Mutex
	failed error // the first
}

// newSender returns nil when nothing is wanted. instance distinguishes it from others, and names its trace.
func newSender(ctx context.Context, instance string) (*sender, error) {
	withTraces, withMetrics := Wanted()
	if !withTraces && !withMetrics {
		return nil, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
		"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("%s = %q: must be http/protobuf, which slipway speaks", name, p)
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"} {
		if u, err := url.Parse(os.Getenv(name)); err != nil || os.Getenv(name) != "" && u.Host == "" {
			return nil, fmt.Errorf("%s: must be a URL such as http://localhost:4318", name) // it may have a password
		}
	}
	of, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "slipway"),
		attribute.String("service.instance.id", instance)), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	s := &sender{}
	if withTraces {
		out, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		var size []sdktrace.BatchSpanProcessorOption
		if os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE") == "" {
			size = append(size, sdktrace.WithMaxQueueSize(queueSize))
		}
		id, _ := uuid.Parse(instance) // else zero, and the SDK drops the spans: only runs have traces
		s.traces = sdktrace.NewTracerProvider(sdktrace.WithResource(of), sdktrace.WithIDGenerator(ids(id)),
			sdktrace.WithBatcher(spanExporter{out, s}, size...))
	}
	if withMetrics {
		out, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, err
		}
		s.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(of),
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter{out, s})))
	}
	return s, nil
}

// meter is of no use where no metrics are wanted, and can be used all the same.
func (s *sender) meter() metric.Meter {
	if s.metrics == nil {
		return sdkmetric.NewMeterProvider().Meter(scope)
	}
	return s.metrics.Meter(scope)
}

// close sends what is left, for [FlushTime] at most, and returns the first error of all that was sent.
func (s *sender) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), FlushTime)
	defer cancel()
	var done sync.WaitGroup
	if s.traces != nil {
		done.Go(func() { s.fail(s.traces.Shutdown(ctx)) })
	}
	if s.metrics != nil {
		done.Go(func() { s.fail(s.metrics.Shutdown(ctx)) })
	}
	done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *sender) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

// spanExporter and metricExporter keep errors for the end, which the SDK would print.
type spanExporter struct {
	sdktrace.SpanExporter
	of *sender
}

func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.of.fail(e.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

type metricExporter struct {
	sdkmetric.Exporter
	of *sender
}

func (e metricExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	e.of.fail(e.Exporter.Export(ctx, m))
	return nil
}

// ids gives all spans the trace of a run, unless they have a parent in another one.
type ids trace.TraceID

func (i ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	return trace.TraceID(i), i.NewSpanID(ctx, trace.TraceID(i))
}

func (ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}
