package template

import (
	"fmt"
	"strings"
	"testing"
)

// TestTooMuchWorkIsNoValue also where values are shared, which makes much of little, and where the error would be
// caught.
func TestTooMuchWorkIsNoValue(t *testing.T) {
	loop := "[for i in range(1024) : [for j in range(1024) : [for k in range(1024) : k]]]"
	double := `"x"`
	for i := 28; i > 0; i-- {
		if i == 28 {
			double = "true ? a28 : a28"
		}
		before := `"x"`
		if i > 1 {
			before = fmt.Sprintf("a%d", i-1)
		}
		double = fmt.Sprintf("[for a%d in [[%s, %s]] : %s][0]", i, before, before, double)
	}
	for name, text := range map[string]string{"try": "${try(" + loop + `, "x")}`, "can": "${can(" + loop + ")}",
		"doubling":                "${" + double + "}",
		"doubling in an operator": "${" + strings.Replace(double, "true ? a28 : a28", "-a28", 1) + "}"} {
		t.Run(name, func(t *testing.T) {
			parsed, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := parsed.Evaluate(sampleScope()); err == nil ||
				!strings.Contains(err.Error(), "does too much") {
				t.Errorf("gives %v, %v", got, err)
			}
		})
	}
}
