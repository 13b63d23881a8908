package temporal

import (
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
	o.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec{keys, encryption.Control})
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

// codec encrypts and decrypts payloads with the key of a zone, or of [encryption.Control].
type codec struct {
	keys *encryption.Keys
	zone string
}

var (
	_ converter.PayloadCodec                             = codec{}
	_ converter.PayloadCodecWithSerializationContext     = codec{}
	_ converter.FailureConverterWithSerializationContext = failures{}
)

// WithSerializationContext returns the codec of what an activity is asked and answers, or of a workflow. It implements
// [converter.PayloadCodecWithSerializationContext].
func (c codec) WithSerializationContext(of converter.SerializationContext) converter.PayloadCodec {
	c.zone = encryption.Control
	if a, is := of.(converter.ActivitySerializationContext); is {
		if zone, is := zoneOf(a.TaskQueue); is {
			c.zone = zone
		}
	}
	return c
}

const (
	encrypted = "binary/encrypted" // the encoding of payloads that a codec encrypted
	bound     = "payload of Temporal"
)

// Encode encrypts payloads with their metadata.
func (c codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		text, err := proto.Marshal(p)
		if err == nil {
			text, err = c.keys.Encrypt(c.zone, bound, text)
		}
		if err != nil {
			return nil, fmt.Errorf("payload of Temporal: %w", err)
		}
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted)}, Data: text}
	}
	return out, nil
}

// Decode decrypts what Encode encrypted. Every other payload is an error, also one with the key of another zone: nobody
// but a process with the key may give orders to a worker, and a worker of a zone gives none to who hosts runs.
func (c codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if encoding := p.GetMetadata()[converter.MetadataEncoding]; string(encoding) != encrypted {
			return nil, fmt.Errorf("payload of Temporal: it is not encrypted (encoding %q): a process without the key sent it",
				encoding)
		}
		text, err := c.keys.Decrypt(c.zone, bound, p.GetData())
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
