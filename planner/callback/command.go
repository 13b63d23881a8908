package callback

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// What a command returns from its standard output.
const (
	OutputText = "text" // one value, `stdout`
	OutputJSON = "json" // the members of a JSON object
	OutputNone = "none" // nothing
)

// Inherited are the variables of slipway's own environment that every program gets. Others may hold credentials of
// other Terraform providers, so a command must name them.
var Inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SystemRoot", "TEMP", "TMP"}

func command() resource.Schema {
	return resource.Schema{
		Type:    Command,
		Summary: "Runs a program on the machine that slipway runs on. The callback fails when the program ends with another status than 0.",
		Parameters: withSettings(
			resource.Parameter{
				Name: "argv", Kind: resource.StringList, Required: true, Scalars: true, Check: checkArguments,
				Description: "The program and its arguments, each an item of the list. No shell is involved unless you name one: [\"sh\", \"-c\", \"...\"].",
			},
			resource.Parameter{
				Name: "environment", Kind: resource.StringMap, Sensitive: true, Scalars: true, Check: checkEnvironment,
				Description: "Variables for the program, by name. Put secrets here or into stdin, not into argv, which other users of the machine can see.",
			},
			resource.Parameter{
				Name: "inherit", Kind: resource.StringList, Check: checkInherit,
				Description: "Names of variables of slipway's own environment that the program gets besides " +
					strings.Join(Inherited, ", ") + ".",
			},
			resource.Parameter{
				Name: "stdin", Kind: resource.String, Sensitive: true, Check: checkLength,
				Description: "Text for the program's standard input, at most 1 MiB. Default: nothing.",
			},
			resource.Parameter{
				Name: "cwd", Kind: resource.String, Check: checkAbsolute,
				Description: "Absolute path of the directory to run in. Default: the one that Terraform or the companion runs in.",
			},
			resource.Parameter{
				Name: "output", Kind: resource.String, Values: []string{OutputText, OutputJSON, OutputNone},
				Description: "What the standard output gives: text, the value stdout, without line breaks at its end; json, the members of a JSON object, each a value; none. Default: text. With text and json it may have at most 1 MiB. The run shows what the program prints while it runs, but for a standard output that gives values.",
			},
		),
	}
}

func checkArguments(v any) error {
	argv, _ := v.([]string)
	switch {
	case len(argv) == 0 || argv[0] == "":
		return errors.New("must begin with the name or path of a program")
	case slices.ContainsFunc(argv, hasNUL):
		return errors.New("an argument contains a NUL byte")
	}
	return nil
}

func checkEnvironment(v any) error {
	m, _ := v.(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if err := checkVariable(name); err != nil {
			return err
		}
		if hasNUL(m[name]) {
			return fmt.Errorf("the value of %s contains a NUL byte", name)
		}
	}
	return nil
}

func checkInherit(v any) error {
	names, _ := v.([]string)
	for _, name := range names {
		if err := checkVariable(name); err != nil {
			return err
		}
	}
	return nil
}

func checkVariable(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return fmt.Errorf("%q is not the name of an environment variable", name)
	}
	return nil
}

func checkLength(v any) error {
	if s, _ := v.(string); len(s) > longestText {
		return fmt.Errorf("has %d bytes; %d is the most", len(s), longestText)
	}
	return nil
}

func checkAbsolute(v any) error {
	if s, _ := v.(string); !filepath.IsAbs(s) || hasNUL(s) {
		return fmt.Errorf("%q is not an absolute path", s)
	}
	return nil
}

func hasNUL(s string) bool { return strings.ContainsRune(s, 0) }
