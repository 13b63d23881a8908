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
// workflows, activities, task queues and signals. All workers have the key of what has no zone, and use that one.
func Encrypt(o *client.Options, keys *encryption.Keys) {
	o.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec{keys})
	o.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: o.DataConverter, EncodeCommonAttributes: true})
}

// codec encrypts and decrypts payloads.
type codec struct{ keys *encryption.Keys }

var _ converter.PayloadCodec = codec{}

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
			text, err = c.keys.Encrypt("", bound, text)
		}
		if err != nil {
			return nil, fmt.Errorf("payload of Temporal: %w", err)
		}
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted)}, Data: text}
	}
	return out, nil
}

// Decode decrypts what Encode encrypted. Every other payload is an error: nobody but a process with the key may give
// orders to a worker.
func (c codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if encoding := p.GetMetadata()[converter.MetadataEncoding]; string(encoding) != encrypted {
			return nil, fmt.Errorf("payload of Temporal: it is not encrypted (encoding %q): a process without the key sent it",
				encoding)
		}
		text, err := c.keys.Decrypt(bound, p.GetData())
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
