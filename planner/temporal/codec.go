package temporal

import (
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
)

// Encrypt makes all that a client and its workers leave on the server ciphertext: inputs, results, signals, snapshots,
// details of heartbeats, and the texts of errors. What the server needs to do its work stays in clear: ids and names of
// workflows, activities, task queues and signals. What a worker of a zone is asked and answers has the key of its zone,
// all else that of [encryption.Control], which no worker of a zone has.
func Encrypt(o *client.Options, keys *encryption.Keys) {
	o.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), newCodec(keys))
	o.FailureConverter = failuresOf(o.DataConverter)
}

// failures are the texts of errors as payloads.
type failures struct {
	converter.FailureConverter
	payloads converter.DataConverter
}

func failuresOf(payloads converter.DataConverter) failures {
	return failures{temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: payloads, EncodeCommonAttributes: true}), payloads}
}

// WithSerializationContext implements [converter.FailureConverterWithSerializationContext].
func (f failures) WithSerializationContext(of converter.SerializationContext) converter.FailureConverter {
	return failuresOf(converter.WithDataConverterSerializationContext(f.payloads, of))
}

// codec encrypts and decrypts payloads with the key of a zone, or of [encryption.Control]. Each is bound to its
// workflow, or to what an activity of its workflow is asked and answers: in the place of another one it is not read.
type codec struct {
	keys        *encryption.Keys
	zone, bound string
}

// newCodec returns a codec of what belongs to no workflow.
func newCodec(keys *encryption.Keys) codec {
	return codec{keys, encryption.Control, "payload of Temporal"}
}

var (
	_ converter.PayloadCodec                             = codec{}
	_ converter.PayloadCodecWithSerializationContext     = codec{}
	_ converter.FailureConverterWithSerializationContext = failures{}
)

// WithSerializationContext returns the codec of what an activity is asked and answers, or of a workflow. It implements
// [converter.PayloadCodecWithSerializationContext].
func (c codec) WithSerializationContext(of converter.SerializationContext) converter.PayloadCodec {
	c = newCodec(c.keys)
	switch of := of.(type) {
	case converter.WorkflowSerializationContext:
		c.bound += ", workflow " + of.WorkflowID
	case converter.ActivitySerializationContext:
		c.bound += ", activity " + of.ActivityType + " of the workflow " + of.WorkflowID
		if zone, is := zoneOf(of.TaskQueue); is {
			c.zone = zone
		}
	}
	return c
}

// encrypted is the encoding of payloads that a codec encrypted.
const encrypted = "binary/encrypted"

// Encode encrypts payloads with their metadata.
func (c codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		text, err := proto.Marshal(p)
		if err == nil {
			text, err = c.keys.Encrypt(c.zone, c.bound, text)
		}
		if err != nil {
			return nil, fmt.Errorf("payload of Temporal: %w", err)
		}
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted)}, Data: text}
	}
	return out, nil
}

// Decode decrypts what Encode encrypted. Every other payload is an error, also one with the key of another zone: nobody
// but a process with the key may give orders to a worker, and a worker of a zone gives none to who hosts runs. Nor is
// one of another workflow or activity: who writes to the server's database makes no orders of what others were asked.
func (c codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if encoding := p.GetMetadata()[converter.MetadataEncoding]; string(encoding) != encrypted {
			return nil, fmt.Errorf("payload of Temporal: it is not encrypted (encoding %q): a process without the key sent it",
				encoding)
		}
		text, err := c.keys.Decrypt(c.zone, c.bound, p.GetData())
		if err != nil {
			return nil, fmt.Errorf("payload of Temporal: %w", err)
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(text, out[i]); err != nil {
			return nil, fmt.Errorf("payload of Temporal: %w", err)
		}
	}
	return out, nil
}

// ofActivity returns the error of an activity as one of its workflow. As it came it stays encrypted as what the
// activity answered, and as that of a workflow it is not read.
func ofActivity(err error) error {
	var said *temporal.ApplicationError
	var panicked *temporal.PanicError
	switch {
	case errors.As(err, &said):
		return temporal.NewNonRetryableApplicationError(said.Message(), said.Type(), nil)
	case errors.As(err, &panicked):
		return temporal.NewNonRetryableApplicationError(cause(err).Error(), "panic", nil)
	}
	return err
}
