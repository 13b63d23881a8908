package template

import (
	"errors"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// FuzzTemplate looks for templates that panic, hang, or fail with anything but [invalid.Errors].
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"plain", "${self.name}", "%{ for s in self.servers ~}${s}%{ endfor ~}", "%{ if self.port > 1 }a%{ else }b%{ endif }",
		`${jsonencode(self)}`, `${[for k, v in self.extra : "${k}=${v}"]}`, `${self.files[*].path}`, `${{for s in self.servers : s => 1...}}`,
		`${format("%5d", 1e9)}`, `${yamldecode("a: &x [1]\nb: *x")}`, `${cidrsubnets("10.0.0.0/8", 1, 2)}`, `${try(self.nope, 1)}`, `${1e99999} ${-1/3}`,
		`${replace(self.name, "/(.)/", "$1$1")}`, `${toset([self.password])}`, `${setproduct(self.servers, [1])}`, "${<<X\na\nX\n}",
	} {
		f.Add(seed)
	}
	scope := sampleScope()
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := Parse(text)
		if err == nil {
			_, err = parsed.Evaluate(scope)
		}
		var wrong invalid.Errors
		if err != nil && (!errors.As(err, &wrong) || len(wrong) == 0) {
			t.Fatalf("not errors: %#v", err)
		}
	})
}
