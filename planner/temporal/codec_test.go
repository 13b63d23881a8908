package temporal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/encryption/encryptiontest"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/temporal/temporaltest"
)

// newKeys returns the keys of a text.
func newKeys(t *testing.T, text string) *encryption.Keys {
	t.Helper()
	keys, err := encryption.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// encrypting returns the options of a client with keys.
func encrypting(keys *encryption.Keys) client.Options {
	var o client.Options
	Encrypt(&o, keys)
	return o
}

// TestServerStoresCiphertext checks on a real server that nothing that a workflow, its activities and its callers say is
// in the history that a client without the key reads, or in the server's database: inputs, results, signals, memos,
// details of heartbeats, what a workflow continues with, and the texts of errors.
func TestServerStoresCiphertext(t *testing.T) {
	const secret = "a\"<correct-horse-battery-1>&b"
	s := temporaltest.Start(t)
	key := encryption.New()
	c := s.Client(t, encrypting(newKeys(t, key)))
	w := worker.New(c, "secrets", worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, in string) (string, error) {
		if in == "" {
			workflow.GetSignalChannel(ctx, "signal").Receive(ctx, &in)
			return "", workflow.NewContinueAsNewError(ctx, "canary-workflow", in)
		}
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute,
			Summary: in, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2, InitialInterval: time.Millisecond}})
		var out string
		if err := workflow.ExecuteActivity(ctx, "echo", in).Get(ctx, &out); err != nil {
			return "", err
		}
		return out, ofActivity(workflow.ExecuteActivity(ctx, "fail", out).Get(ctx, nil))
	}, workflow.RegisterOptions{Name: "canary-workflow"})
	w.RegisterActivityWithOptions(func(ctx context.Context, in string) (string, error) {
		activity.RecordHeartbeat(ctx, in)
		return in, nil
	}, activity.RegisterOptions{Name: "echo"})
	w.RegisterActivityWithOptions(func(_ context.Context, in string) error {
		return temporal.NewApplicationErrorWithCause(in, "kind", errors.New(in), in)
	}, activity.RegisterOptions{Name: "fail"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	first, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "canary", TaskQueue: "secrets",
		Memo: map[string]any{"memo": secret}, StaticSummary: secret, StaticDetails: secret}, "canary-workflow", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SignalWorkflow(t.Context(), "canary", "", "signal", secret); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var failed *temporal.ApplicationError
	if err := first.Get(ctx, nil); !errors.As(err, &failed) ||
		!strings.Contains(err.Error(), secret) {
		t.Errorf("who has the key gets %v", err)
	}

	var history []byte
	without := s.Client(t, client.Options{})
	for _, run := range []string{first.GetRunID(), ""} {
		for i := without.GetWorkflowHistory(t.Context(), "canary", run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); i.HasNext(); {
			e, err := i.Next()
			if err != nil {
				t.Fatal(err)
			}
			text, err := proto.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			history = append(history, text...)
		}
	}
	w.Stop()
	s.Stop(t)
	files, err := filepath.Glob(s.File + "*")
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string][]byte{"history": history}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		stored["database"] = append(stored["database"], text...)
	}
	for what, text := range stored {
		if !strings.Contains(string(text), "canary-workflow") {
			t.Errorf("%s, %d bytes: it does not have the workflow", what, len(text))
		}
		for _, absent := range []string{secret, key} {
			if form := encryptiontest.Form(text, absent); form != "" {
				t.Errorf("%s has a secret (%s)", what, form)
			}
		}
	}
}

// ofZone returns the keys that a worker of a zone has.
func ofZone(t *testing.T, site *encryption.Keys, zone string) *encryption.Keys {
	t.Helper()
	text, err := site.ForZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	return newKeys(t, text)
}

// TestPayloadsOfOthers checks that a process with another key, or with none, is refused by name.
func TestPayloadsOfOthers(t *testing.T) {
	site := newKeys(t, encryption.New())
	payload, err := encrypting(site).DataConverter.ToPayload("id-1")
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, keys := range []*encryption.Keys{nil, newKeys(t, encryption.New()), ofZone(t, site, "rack1"), ofZone(t, site, "")} {
		if err := encrypting(keys).DataConverter.FromPayload(payload, &got); err == nil ||
			!strings.Contains(err.Error(), encryption.Remedy) {
			t.Errorf("%q, %v", got, err)
		}
	}
	plain, err := converter.GetDefaultDataConverter().ToPayload("id-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := encrypting(site).DataConverter.FromPayload(plain, &got); err == nil ||
		!strings.Contains(err.Error(), "is not encrypted") {
		t.Error(err)
	}
	payload.Data[len(payload.Data)-1] ^= 1
	if err := encrypting(site).DataConverter.FromPayload(payload, &got); err == nil {
		t.Errorf("a damaged payload: %q", got)
	}
}

// TestPayloadsOfZones checks which payloads have the key of a zone: what its workers are asked and answer, and no other.
// What one zone answers is taken for nothing else.
func TestPayloadsOfZones(t *testing.T) {
	site := newKeys(t, encryption.New())
	settings := Settings{Keys: site, Prefix: "a-zone-of-b"}
	at := func(queue string) converter.SerializationContext {
		return converter.ActivitySerializationContext{TaskQueue: queue}
	}
	contexts := map[string]converter.SerializationContext{ // by the zone, that of hosts is in clear here
		encryption.Control: converter.WorkflowSerializationContext{WorkflowID: settings.zones("rack1")[0]},
		"rack1":            at(settings.zones("rack1")[0]),
		"rack-2":           at(settings.zones("rack-2")[0]),
		"":                 at(settings.zones("")[0]),
	}
	hosts := map[string]converter.SerializationContext{"workflows": at(settings.control()),
		"a host": at(settings.queue("host", "0199")), "all workers": at(settings.here())}
	for what, context := range hosts {
		if got := newCodec(site).WithSerializationContext(context).(codec).zone; got != encryption.Control {
			t.Errorf("payloads of %s have the key of %q", what, got)
		}
	}
	for from, context := range contexts {
		o := encrypting(site)
		payload, err := converter.WithDataConverterSerializationContext(o.DataConverter, context).ToPayload("id-1")
		if err != nil {
			t.Fatal(err)
		}
		failure := converter.WithFailureConverterSerializationContext(o.FailureConverter, context).ErrorToFailure(errors.New("id-1"))
		for who, keys := range map[string]*encryption.Keys{encryption.Control: site, "rack1": ofZone(t, site, "rack1"),
			"rack-2": ofZone(t, site, "rack-2"), "": ofZone(t, site, "")} {
			for as, context := range contexts {
				o := encrypting(keys)
				var got string
				err := converter.WithDataConverterSerializationContext(o.DataConverter, context).FromPayload(payload, &got)
				text := converter.WithFailureConverterSerializationContext(o.FailureConverter, context).
					FailureToError(proto.CloneOf(failure)).Error()
				opens := as == from && (who == from || who == encryption.Control)
				if opens != (err == nil && got == "id-1") || opens != strings.Contains(text, "id-1") {
					t.Errorf("what is for %q, read with the key of %q as if for %q: %q, %v, %s", from, who, as, got, err, text)
				}
			}
		}
	}
}

// TestPayloadsAreBound checks that a payload, and the text of an error, are read only in the workflow, and as what an
// activity is asked or answers, for which they were written: whoever writes to the database of the server moves none
// into another run, batch or look with the same key.
func TestPayloadsAreBound(t *testing.T) {
	settings := Settings{Keys: newKeys(t, encryption.New())}
	o := encrypting(settings.Keys)
	workflow := func(id string) converter.SerializationContext {
		return converter.WorkflowSerializationContext{Namespace: "default", WorkflowID: id}
	}
	activity := func(queue, name, id string) converter.SerializationContext {
		return converter.ActivitySerializationContext{WorkflowID: id, ActivityType: name, TaskQueue: queue}
	}
	rack1 := settings.zones("rack1")[0]
	contexts := map[string]converter.SerializationContext{
		"a run":                workflow("slipway/lon1/1"),
		"another run":          workflow("slipway/lon1/2"),
		"another site":         workflow("slipway/lon2/1"),
		"a step":               activity("host", "Step", "slipway/lon1/1"),
		"a program":            activity("host", "Program", "slipway/lon1/1"),
		"a step elsewhere":     activity("host", "Step", "slipway/lon1/2"),
		"a batch":              activity(rack1, "Sessions", "slipway/lon1/1/batch/1"),
		"another batch":        activity(rack1, "Sessions", "slipway/lon1/1/batch/2"),
		"a look":               activity(rack1, "Look", "slipway/lon1/look/1"),
		"another look":         activity(rack1, "Look", "slipway/lon1/look/2"),
		"a workflow of a look": workflow("slipway/lon1/look/1"),
	}
	for from, context := range contexts {
		payload, err := converter.WithDataConverterSerializationContext(o.DataConverter, context).ToPayload("id-1")
		if err != nil {
			t.Fatal(err)
		}
		failure := converter.WithFailureConverterSerializationContext(o.FailureConverter, context).ErrorToFailure(errors.New("id-1"))
		for as, context := range contexts {
			var got string
			err := converter.WithDataConverterSerializationContext(o.DataConverter, context).FromPayload(payload, &got)
			text := converter.WithFailureConverterSerializationContext(o.FailureConverter, context).
				FailureToError(proto.CloneOf(failure)).Error()
			if (as == from) != (err == nil && got == "id-1") || (as == from) != strings.Contains(text, "id-1") {
				t.Errorf("what is of %s, read as %s: %q, %v, %s", from, as, got, err, text)
			}
		}
	}
}

// TestErrorOfARun checks on a real server that who waits for a run gets the text with which an activity ended it.
func TestErrorOfARun(t *testing.T) {
	s := temporaltest.Start(t)
	settings := Settings{Address: s.Address, Keys: newKeys(t, encryption.New()), Named: func(setting string) string { return setting }}
	c, err := NewClient(settings)
	if err != nil {
		t.Fatal(err)
	}
	w := worker.New(c.client, settings.control(), worker.Options{})
	w.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: RunName})
	w.RegisterActivityWithOptions(func(context.Context, opening) (opened, error) {
		return opened{}, temporal.NewNonRetryableApplicationError("the journal is of another site", "open", nil)
	}, activity.RegisterOptions{Name: "Open"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	run := journal.Run{ID: "1", Site: "lon1", Workflow: c.Workflow("lon1", "1")}
	if err := c.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_ = c.client.GetWorkflow(ctx, run.Workflow, "").Get(ctx, nil) // Ended returns how it ended
	if err := c.Ended(ctx, run); err == nil || !strings.Contains(err.Error(), "the journal is of another site") {
		t.Errorf("the run ended: %v", err)
	}
}

// TestWhoAsksForRunsNeedsTheKeyOfTheSite checks that the key of a zone is refused by name.
func TestWhoAsksForRunsNeedsTheKeyOfTheSite(t *testing.T) {
	site := newKeys(t, encryption.New())
	s := Settings{Address: "127.0.0.1:1", Keys: ofZone(t, site, "rack1"),
		Named: func(setting string) string { return setting }}
	if _, err := NewClient(s); err == nil || !strings.Contains(err.Error(), "encryption_key: has keys of zones alone") {
		t.Error(err)
	}
	s.Keys = site
	if _, err := NewClient(s); err != nil {
		t.Error(err)
	}
}
