package resource_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// distance is the optimal string alignment distance, as its definition says.
func distance(x, y []rune) int {
	table := make([][]int, len(x)+1)
	for i := range table {
		table[i] = make([]int, len(y)+1)
		for j := range table[i] {
			switch {
			case i == 0 || j == 0:
				table[i][j] = i + j
				continue
			case x[i-1] == y[j-1]:
				table[i][j] = table[i-1][j-1]
			default:
				table[i][j] = 1 + min(table[i-1][j-1], table[i-1][j], table[i][j-1])
			}
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				table[i][j] = min(table[i][j], table[i-2][j-2]+1)
			}
		}
	}
	return table[len(x)][len(y)]
}

func TestNearestIsTheDistance(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 7))
	word := func() string {
		letters := []rune("abé")
		out := make([]rune, random.IntN(9))
		for i := range out {
			out[i] = letters[random.IntN(len(letters))]
		}
		return string(out)
	}
	found := 0
	for range 100_000 {
		x, y := word(), word()
		d, most := distance([]rune(x), []rune(y)), min(2, len([]rune(x))-1)
		want := ""
		if d <= most {
			want = y
			found++
		}
		if got := resource.Nearest(x, []string{y}); got != want {
			t.Fatalf("Nearest(%q, %q) = %q; the distance is %d", x, y, got, d)
		}
	}
	if found < 1000 {
		t.Errorf("only %d words were near", found)
	}
}

// many are very many candidates.
func many(n int) []string {
	candidates := make([]string, n)
	for i := range candidates {
		candidates[i] = fmt.Sprintf("candidate-%06d-%s", i, strings.Repeat("x", 60))
	}
	return candidates
}

func TestNearestOfMany(t *testing.T) {
	candidates := many(1000)
	for _, i := range []int{0, 500, 999} {
		if got := resource.Nearest(fmt.Sprintf("cnadidtae-%06d", i), candidates); got != "" {
			t.Errorf("got %q", got)
		}
		if got := resource.Nearest(fmt.Sprintf("cnadidate-%06d-%s", i, strings.Repeat("x", 60)),
			candidates); got != candidates[i] {
			t.Errorf("got %q", got)
		}
	}
	if got := resource.Nearest(strings.Repeat("x", 1000), []string{strings.Repeat("x", 1000)}); got != "" {
		t.Error("very long words are compared")
	}
}

// BenchmarkNearest asks for one error among 100,000 candidates; a validation asks for at most [resource.MostHints].
func BenchmarkNearest(b *testing.B) {
	candidates := many(100_000)
	word := "cnadidate-000777-" + strings.Repeat("x", 60)
	b.ReportAllocs()
	for b.Loop() {
		if got := resource.Nearest(word, candidates); got != candidates[777] {
			b.Fatalf("got %q", got)
		}
	}
}
