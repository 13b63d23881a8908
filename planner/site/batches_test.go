package site

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSplit(t *testing.T) {
	var ten []string
	for i := range 10 {
		ten = append(ten, fmt.Sprint("n", i))
	}
	for _, tt := range []struct {
		shares string
		nodes  int
		want   []int
	}{
		{"1 10% 50% 100%", 10, []int{1, 4, 5}}, // the second adds no node
		{"1 10% 50% 100%", 1, []int{1}},
		{"1 10% 50% 100%", 0, nil},
		{"15%", 10, []int{2, 8}}, // rounded up, and what it leaves
		{"3 20%", 10, []int{3, 7}},
		{"20", 10, []int{10}},
		{"100%", 3, []int{3}},
	} {
		var got []int
		batches, _ := (Rolling{Batches: strings.Fields(tt.shares)}).Split(ten[:tt.nodes])
		for _, batch := range batches {
			got = append(got, len(batch))
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s of %d nodes: %v, want %v", tt.shares, tt.nodes, got, tt.want)
		}
	}
	if got, _ := (Rolling{MaxParallel: 1}).Split(ten); got != nil {
		t.Errorf("without batches: %v", got)
	}
	if got, _ := (Rolling{Soak: time.Minute}).Split(ten); len(got) != 1 || len(got[0]) != 10 {
		t.Errorf("with a soak: %v", got)
	}
}

func TestValidateBatches(t *testing.T) {
	for _, tt := range []struct {
		rolling Rolling
		want    string // what the only error begins with; empty: there is none
	}{
		{Rolling{Batches: []string{"1", "10%", "50%", "100%"}, Soak: time.Minute, HealthCheck: &HealthCheck{Command: "x"}}, ""},
		{Rolling{Batches: []string{"2", "1"}}, `rolling.batches[1]: "1" adds no node`},
		{Rolling{Batches: []string{"10%", "10%"}}, `rolling.batches[1]: "10%" adds no node`},
		{Rolling{Batches: []string{"101%"}}, `rolling.batches[0]: "101%" is more than all nodes`},
		{Rolling{Batches: []string{"100%", "200"}}, `rolling.batches[1]: "200" comes after "100%"`},
		{Rolling{Batches: []string{"0"}}, `rolling.batches[0]: "0" is not a share`},
		{Rolling{Batches: []string{"010%"}}, `rolling.batches[0]: "010%" is not a share`},
		{Rolling{Batches: []string{" 1"}}, `rolling.batches[0]: " 1" is not a share`},
		{Rolling{Batches: []string{"1", "10%"}, Approve: []string{"10%", "100%"}}, ""},
		{Rolling{Batches: []string{"1", "10%"}, Approve: []string{"20%"}}, `rolling.approve[0]: there is no batch "20%"`},
		{Rolling{Soak: -1}, "rolling.soak: -1ns is negative"},
		{Rolling{OnFailure: OnFailureRollback}, "rolling.on_failure: the group has no batches that may fail"},
		{Rolling{OnFailure: "undo", Soak: 1}, `rolling.on_failure: "undo" is not allowed; write "stop" or "rollback"`},
		{Rolling{OnFailure: OnFailureRollback, Batches: []string{"1"}}, ""},
		{Rolling{HealthCheck: &HealthCheck{}}, "rolling.health_check.command: there is no command"},
		{Rolling{HealthCheck: &HealthCheck{Command: "x", Retries: -1}}, "rolling.health_check.retries: -1 is negative"},
		{Rolling{HealthCheck: &HealthCheck{Command: "x", Timeout: -1}}, "rolling.health_check.timeout: -1ns is negative"},
		{Rolling{HealthCheck: &HealthCheck{Command: "x", Interval: -1}}, "rolling.health_check.interval: -1ns is negative"},
	} {
		tt.rolling.MaxParallel = 1
		errs := Group{Name: "g", Rolling: &tt.rolling}.Validate()
		if tt.want == "" && len(errs) > 0 || tt.want != "" && (len(errs) != 1 ||
			!strings.HasPrefix(errs[0].Attribute+": "+errs[0].Message, tt.want)) {
			t.Errorf("%+v: %v, want %s", tt.rolling, errs, tt.want)
		}
	}
}

// A batch that adds no node is approved with the one before.
func TestPauses(t *testing.T) {
	for _, tt := range []struct {
		approve []string
		nodes   int
		want    []int
	}{
		{[]string{"1"}, 10, []int{1}},
		{[]string{"10%", "1"}, 10, []int{1}},
		{[]string{"50%", "100%"}, 10, []int{2, 3}},
		{[]string{"50%"}, 1, []int{1}},
		{[]string{"1", "10%", "50%"}, 0, nil},
		{nil, 10, nil},
	} {
		nodes := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}[:tt.nodes]
		_, got := Rolling{Batches: []string{"1", "10%", "50%"}, Approve: tt.approve}.Split(nodes)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v of %d: got %v, want %v", tt.approve, tt.nodes, got, tt.want)
		}
	}
}
