package values

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// BenchmarkOpaque is a read and a plan of an attribute that has a thousand nodes, opaque and as the framework has it. It
// reports processor time.
func BenchmarkOpaque(b *testing.B) {
	text := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	nodes := make([]tftypes.Value, 1000)
	types := make([]tftypes.Type, len(nodes))
	for i := range nodes {
		members := map[string]tftypes.Value{}
		for m := range 20 {
			members[fmt.Sprintf("member%d", m)] = text(fmt.Sprintf("value %d of node %d", m, i))
		}
		attributes := map[string]tftypes.Type{}
		for name := range members {
			attributes[name] = tftypes.String
		}
		nodes[i] = tftypes.NewValue(tftypes.Object{AttributeTypes: attributes}, members)
		types[i] = nodes[i].Type()
	}
	state, err := tfprotov6.NewDynamicValue(thingType, tftypes.NewValue(thingType, map[string]tftypes.Value{
		"needed": tftypes.NewValue(tftypes.Tuple{ElementTypes: types}, nodes), "computed": text("planned"), "secret": tftypes.NewValue(tftypes.String, nil),
		"extra": tftypes.NewValue(tftypes.DynamicPseudoType, nil), "open": tftypes.NewValue(tftypes.DynamicPseudoType, nil),
		"number": tftypes.NewValue(tftypes.Number, 7),
	}))
	if err != nil {
		b.Fatal(err)
	}
	front, err := NewServer(b.Context(), toy{opaque: true})
	if err != nil {
		b.Fatal(err)
	}
	for name, server := range map[string]tfprotov6.ProviderServer{"opaque": front, "open": providerserver.NewProtocol6(toy{})()} {
		b.Run(name, func(b *testing.B) {
			start := processorTime(b)
			for b.Loop() {
				if _, err := server.ReadResource(b.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_thing", CurrentState: &state}); err != nil {
					b.Fatal(err)
				}
				if _, err := server.PlanResourceChange(b.Context(), &tfprotov6.PlanResourceChangeRequest{
					TypeName: "toy_thing", PriorState: &state, Config: &state, ProposedNewState: &state}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processorTime(b)-start).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
