package workers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"

	"github.com/slipway/terraform-provider-slipway/planner/command"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
)

// says checks that a text has one error that says something, and none of the secrets.
func says(t *testing.T, text, want string, secrets ...string) {
	t.Helper()
	if !strings.Contains(text, want) || strings.Count(text, "slipway: ") > 1 {
		t.Errorf("no error %q, or another one:\n%s", want, text)
	}
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("a secret is in:\n%s", text)
		}
	}
}

// What keeps a worker from working is named as its command has it, with what to write instead.
func TestWorkerRefuses(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	none := filepath.Join(t.TempDir(), "none.pem")
	for _, tt := range []struct {
		args   []string
		set    setting
		status int
		want   string
	}{
		{[]string{"--temporal", ""}, nil, 2, `worker: --temporal: is needed, such as "temporal.example.org:7233"`},
		{[]string{"--temporal", "nowhere"}, nil, 2,
			`worker: --temporal: "nowhere" is not HOST:PORT; write, for example, "temporal.example.org:7233"`},
		{[]string{"--temporal", "127.0.0.1:1"}, nil, 1, `worker: --temporal: the Temporal server at "127.0.0.1:1" does not answer`},
		{[]string{"--namespace", "nowhere"}, nil, 1, `worker: --namespace: the Temporal server at "` + c.server.Address +
			`" has no namespace "nowhere"`},
		{[]string{"--task-queue-prefix", "a b"}, nil, 2, `worker: --task-queue-prefix: "a b" must be without white space`},
		{[]string{"--tls-cert-file", none}, nil, 2, "worker: --tls-cert-file: goes with --tls-key-file"},
		{[]string{"--tls-ca-file", none}, nil, 1, "worker: --tls-ca-file: open " + none + ": no such file"},
		{[]string{"--tls"}, nil, 1, "worker: --tls: the Temporal server at \"" + c.server.Address + "\" does not use TLS"},
		{[]string{"--sessions", "0"}, nil, 2, "worker: --sessions 0: must be 1 or more"},
		{[]string{"--grace", "-1s"}, nil, 2, "worker: --grace -1s: must be 0s or more"},
		{[]string{"--zone", "a:b"}, nil, 2, `worker: --zone: "a:b" is not a usable name; use letters`},
		{[]string{"--zone", "rack1", "--zone", "x y"}, nil, 2, `worker: --zone: "x y" is not a usable name; use letters`},
		{[]string{"--zone", strings.Repeat("x", 300)}, nil, 2, "worker: --zone: the name has 300 characters; use at most 253"},
		{[]string{"--zone-wait", "0s"}, nil, 2, "worker: --zone-wait 0s: must be 1s or more"},
		{[]string{"--lost-after", "9s"}, nil, 2, "worker: --lost-after 9s: must be 10s or more"},
		{[]string{"--zone", "rack1", "--lost-after", "5m"}, nil, 2, "worker: --lost-after: has no effect with --zone alone"},
		{[]string{"--zone", "rack1", "--zone-wait", "1h"}, nil, 2, "worker: --zone-wait: has no effect with --zone alone"},
		{[]string{"--control", "--sessions", "5"}, nil, 2, "worker: --sessions: has no effect with --control alone"},
		{nil, variable("SLIPWAY_KEY", ""), 2, "worker: SLIPWAY_KEY: is needed, and not set"},
		{[]string{"--zone", "rack2", "--zone", ""}, variable("SLIPWAY_KEY", ""), 2, "worker: SLIPWAY_KEY: is needed, and not set: " +
			"set it to what `terraform-provider-slipway key --zone rack2` and `terraform-provider-slipway key --zone \"\"` print where " +
			"SLIPWAY_KEY is the key of the provider"},
		{[]string{"--control", "--zone", "rack2"}, variable("SLIPWAY_KEY", ""), 2, "is needed, and not set. Set encryption_key of the provider"},
		{nil, variable("SLIPWAY_KEY", "short"), 2, "worker: SLIPWAY_KEY: key 1 of 1: must be 32 bytes in base64"},
		{[]string{"--zone", "rack1"}, c.ofZone("rack2"), 1, `worker: SLIPWAY_KEY: has no key of the zone "rack1"; give what ` +
			"`terraform-provider-slipway key --zone rack1` prints where SLIPWAY_KEY is the key of the provider"},
		{[]string{"--zone", ""}, c.ofZone("rack2"), 1, `worker: SLIPWAY_KEY: has no key of the zone ""; give what ` +
			"`terraform-provider-slipway key --zone \"\"` prints"},
		{[]string{"--control"}, c.ofZone("rack2"), 1, "worker: SLIPWAY_KEY: has keys of zones alone"},
		{nil, c.ofZone(""), 1, "worker: SLIPWAY_KEY: has keys of zones alone"},
		{nil, variable(command.JournalVariable, ""), 2, "worker: needs the journal of the provider"},
		{nil, variable(command.JournalVariable, "postgres://u:"+secret+"@127.0.0.1:1/x"), 1,
			"worker: SLIPWAY_JOURNAL: journal postgres://u:xxxxx@127.0.0.1:1/x"},
	} {
		if tt.set == nil {
			tt.set = variable("SLIPWAY_TEMPORAL", "")
		}
		says(t, c.refused(tt.status, tt.args, tt.set), tt.want, c.key, secret)
	}
}

// secret is one of the tests.
const secret = "geheim-of-the-tests"

// A run is refused, before anything is touched, where the workers have another key, or are of another version. The error
// names both sides.
func TestRunRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	c.file("x\n")
	refused := func(want ...string) {
		t.Helper()
		out, said := c.start().wait()
		if out.Status != "" || c.content("a", "etc/app") != "-" {
			t.Errorf("a node was touched: %q", out.Status)
		}
		for _, w := range want {
			says(t, said, w, c.key)
		}
	}
	worker := c.worker(nil)
	// The workflows of an older worker have task queues of their own.
	older := sdk.New(c.server.Client(t, client.Options{}), c.prefix+"-workers",
		sdk.Options{Identity: "worker of slipway 0.9.0 on old, process 7, with the key k"})
	older.RegisterActivityWithOptions(func() error { return nil }, activity.RegisterOptions{Name: "here"})
	if err := older.Start(); err != nil {
		t.Fatal(err)
	}
	defer older.Stop()
	ours := c.key
	c.key = encryption.New()
	keys := map[string]string{}
	for _, key := range []string{ours, c.key} {
		parsed, err := encryption.Parse(key)
		if err != nil {
			t.Fatal(err)
		}
		keys[key] = parsed.IDs(encryption.Control)[0]
	}
	refused("no worker executes runs of this version of slipway", "This is slipway "+build+" with the key "+keys[c.key]+
		". There is a worker of slipway 0.9.0 on old, process 7, with the key k, a worker of slipway "+build,
		"with the key "+keys[ours], "engine.temporal: no worker", "its --task-queue-prefix and SLIPWAY_KEY")

	// The key is replaced: all have both, then those that ask for runs use the new one.
	worker.end(syscall.SIGKILL)
	old, next := c.key, encryption.New()
	c.key = old + " " + next
	c.worker(nil)
	for _, c.key = range []string{old, next + " " + old} {
		c.apply()
	}
	if got := c.content("a", "etc/app"); got != "x\n" {
		t.Errorf("the file is %q", got)
	}
}

// Workers of another version are refused by it.
func TestOtherBuild(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	c.file("x\n")
	c.worker(nil, variable(buildVariable, "1.0.0"))
	out, said := c.start().wait()
	if out.Status != "" || c.content("a", "etc/app") != "-" {
		t.Errorf("a node was touched: %q", out.Status)
	}
	says(t, said, "this is slipway "+build+", and there is a worker of slipway 1.0.0 on ")
	says(t, said, "A worker that has ended counts for up to 1m10s: try again then")
}

// A worker of a zone may be of another version, as while they are upgraded one after the other: it runs its sessions, and
// the run warns of it by both versions. A worker of the same version is no warning.
func TestOtherBuildOfAZone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a", Zone: "rack1"}, site.Node{Name: "b", Zone: "rack2"})
	c.file("x\n")
	c.worker([]string{"--control"})
	c.worker([]string{"--zone", "rack1"}, c.ofZone("rack1"), variable(buildVariable, "1.0.0"))
	c.worker([]string{"--zone", "rack2"}, c.ofZone("rack2"))
	c.apply()
	if c.content("a", "etc/app") != "x\n" || c.content("b", "etc/app") != "x\n" {
		t.Error("a node lacks its file")
	}
	last, err := c.store().Run(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	says(t, last.Report, `node "a": a worker of slipway 1.0.0 ran its session, and this run is one of slipway `+build)
	if strings.Contains(last.Report, `node "b"`) {
		t.Errorf("a worker of the same version is a warning: %s", last.Report)
	}
}

// A request of another version than that of the worker ends its run, before a node is touched; an outcome of another
// version is not taken over, and the next run goes on without it. What is said names both versions.
func TestOtherWireVersion(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	c.worker(nil)
	c.file("x\n")
	c.apply()
	store := c.store()
	last, err := store.Run(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := store.Blob(t.Context(), last.ID, journal.UseRequest, encryption.Control, last.Request)
	if err != nil {
		t.Fatal(err)
	}
	var ours struct{ Version int }
	if err := json.Unmarshal(text, &ours); err != nil {
		t.Fatal(err)
	}
	e := c.engine(c.settings())
	// handed hands over a run that does what the first one did, as a slipway of another version of the wire does.
	handed := func(id string, version int) {
		t.Helper()
		run := journal.Run{ID: id, Site: c.site.Name, Operation: "update", Workflow: e.Handing.Workflow(c.site.Name, id),
			Desired: last.Desired}
		of := func(version int) string { return fmt.Sprintf(`"Version":%d`, version) }
		request := strings.Replace(string(text), of(ours.Version), of(version), 1)
		request = strings.Replace(request, `"Site":{`, `"Site":{"Groups":7,"Nodes":[],`, 1) // fields are others there
		if err := store.Hand(t.Context(), run, []byte(request)); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []int{ours.Version - 1, ours.Version + 1} {
		if err := os.Remove(c.path("a", "etc/app")); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("request-", version)
		handed(id, version)
		out, said := c.start().wait()
		says(t, said, fmt.Sprintf("The request of the run cannot be read: has version %d, and this worker executes version "+
			"%d: use a worker of the same version of slipway", version, ours.Version), c.key)
		if out.Status != "" || out.Run != id || c.content("a", "etc/app") != "-" {
			t.Errorf("run %q ended as %q, the file is %q", out.Run, out.Status, c.content("a", "etc/app"))
		}

		id = fmt.Sprint("outcome-", version)
		handed(id, ours.Version)
		w, err := store.Resume(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		// Kept has another type there
		addresses, err := w.Put(t.Context(), journal.UseOutcome, journal.Blob{Zone: encryption.Control,
			Content: fmt.Appendf(nil, `{"Kept":[],"Version":%d}`, version)})
		if err == nil {
			err = w.FinishWith(t.Context(), "succeeded", "", addresses[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("un %s ended: succeeded. Its outcome cannot be read: it has version %d, and this slipway reads "+
			"version %d", id, version, ours.Version)
		if _, err := e.LastHanded(t.Context(), c.site.Name, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of a plan is %v, want %q", err, want)
		}
		c.prior = nil // the next creation goes on from the node
		out, said = c.start().wait()
		says(t, said, want)
		if out.Status != engine.Deployed || out.Run == id || c.content("a", "etc/app") != "x\n" {
			t.Errorf("run %q ended as %q, the file is %q", out.Run, out.Status, c.content("a", "etc/app"))
		}
	}
}

// Who asks for a run finds the workers, whichever clock is wrong: the server's says when they were there.
func TestOtherClock(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	c.worker(nil)
	for _, wrong := range []time.Duration{time.Hour, -time.Hour} {
		settings := c.settings()
		settings.Now = func() time.Time { return time.Now().Add(wrong) }
		if err := c.engine(settings).Handing.Ready(t.Context()); err != nil {
			t.Errorf("with a clock that is wrong by %s: %v", wrong, err)
		}
	}
}

// gateway is a server in front of that of Temporal which uses TLS and wants an API key, as Temporal Cloud does.
func gateway(t *testing.T, server, key string) (address, caFile string) {
	t.Helper()
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server})
	var plain http.Protocols
	plain.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &plain}
	t.Cleanup(transport.CloseIdleConnections)
	forward.Transport, forward.FlushInterval = transport, -1
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "16")
			w.Header().Set("Grpc-Message", "Request unauthenticated.")
			return
		}
		forward.ServeHTTP(w, r)
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // what clients refuse is what is tested
	forward.ErrorLog = s.Config.ErrorLog
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), certificate(t, s.Certificate().Raw)
}

// certificate returns a file with a certificate.
func certificate(t *testing.T, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A server with TLS and an API key is used with both; what is wrong or missing is named, for a worker and for who asks
// for a run.
func TestTLSAndAPIKey(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	another := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, another, another, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	address, ca := gateway(t, c.server.Address, secret)
	wrong := certificate(t, der)
	unknown := "the certificate of the Temporal server at \"" + address + "\" is signed by no authority that is trusted"
	refuses := "the Temporal server at \"" + address + "\" refuses it for the namespace \"default\""
	for _, tt := range []struct {
		tls              *temporal.TLS
		args             []string
		key, name, wants string
	}{
		{nil, nil, "", "tls", "the Temporal server at \"" + address + "\" ends connections without TLS"},
		{&temporal.TLS{}, []string{"--tls"}, secret, "tls.ca_file", unknown},
		{&temporal.TLS{CAFile: wrong}, []string{"--tls-ca-file", wrong}, secret, "tls.ca_file", unknown},
		{&temporal.TLS{CAFile: ca, ServerName: "elsewhere.org"}, []string{"--tls-ca-file", ca, "--tls-server-name", "elsewhere.org"},
			secret, "tls.server_name", "the certificate of the Temporal server at \"" + address + "\" is for another name"},
		{&temporal.TLS{CAFile: ca}, []string{"--tls-ca-file", ca}, "", "api_key", refuses},
		{&temporal.TLS{CAFile: ca}, []string{"--tls-ca-file", ca}, "wrong-" + secret, "api_key", refuses},
	} {
		flag := map[string]string{"tls": "--tls", "tls.ca_file": "--tls-ca-file", "tls.server_name": "--tls-server-name",
			"api_key": "SLIPWAY_TEMPORAL_API_KEY"}[tt.name]
		says(t, c.refused(1, append([]string{"--temporal", address}, tt.args...), variable("SLIPWAY_TEMPORAL_API_KEY", tt.key)),
			"worker: "+flag+": "+tt.wants, c.key, secret)
		settings := c.settings()
		settings.Address, settings.TLS, settings.APIKey = address, tt.tls, tt.key
		err := c.engine(settings).Handing.Ready(t.Context())
		if err == nil {
			t.Fatalf("%s: a run would be handed over", tt.name)
		}
		says(t, err.Error(), "engine.temporal."+tt.name+": "+tt.wants, c.key, secret)
	}

	c.worker([]string{"--temporal", address, "--tls-ca-file", ca}, variable("SLIPWAY_TEMPORAL_API_KEY", secret))
	c.file("x\n")
	settings := c.settings()
	settings.Address, settings.TLS, settings.APIKey = address, &temporal.TLS{CAFile: ca}, secret
	out := c.engine(settings).Apply(t.Context(), nil, c.site, engine.Run{})
	if out.Status != engine.Deployed || c.content("a", "etc/app") != "x\n" {
		t.Errorf("the run ended as %q: %v", out.Status, out.Messages)
	}
}
