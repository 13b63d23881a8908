package temporal

import (
	"fmt"
	"net/http"
)

// Handler serves /healthz, and /metrics in the text format of Prometheus.
func (w *Worker) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(out http.ResponseWriter, _ *http.Request) {
		if !w.started.Load() {
			http.Error(out, "starting, or ending", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(out, "ok") // who asked is gone otherwise
	})
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		for _, m := range []struct {
			name, kind, help string
			value            int64
		}{
			{"slipway_runs", "gauge", "Runs that this worker has.", int64(w.runs.Len())},
			{"slipway_sessions_active", "gauge", "Sessions with nodes that are active.", w.Zone.active.Load()},
			{"slipway_sessions_waiting", "gauge", "Sessions that wait until fewer are active.", w.Zone.waiting.Load()},
			{"slipway_sessions_total", "counter", "Sessions with nodes that were started.", w.Zone.total.Load()},
		} {
			_, _ = fmt.Fprintf(out, "# HELP %[1]s %[2]s\n# TYPE %[1]s %[3]s\n%[1]s %[4]d\n", m.name, m.help, m.kind, m.value)
		}
	})
	return mux
}
