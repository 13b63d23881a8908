package callback

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The built-in functions.
const (
	WaitTCP    = "wait_tcp"
	WaitHTTP   = "wait_http"
	Sleep      = "sleep"
	ResolveDNS = "resolve_dns"
)

// Builtin declares a built-in function.
type Builtin struct {
	Name      string
	Summary   string // one sentence for the documentation
	Arguments []Argument
	Values    []string // names of the returned values
	// check checks arguments together; nil if each can be checked alone.
	check func(arguments map[string]string, s Settings) *invalid.Error
}

// Argument declares an argument of a function. Arguments are text.
type Argument struct {
	Name        string
	Required    bool
	Description string
	Check       func(string) error
}

// LongestTry bounds one try of a function that waits.
const LongestTry = 10 * time.Second

// Builtins returns the table of functions, in the order of the documentation. It must not be changed.
func Builtins() []Builtin { return builtins }

// builtins is the table of functions. To add one, add a line here and its implementation in
// planner/callback/controller.
var builtins = []Builtin{
	{
		Name: WaitTCP, Summary: "Waits until a TCP port accepts a connection.",
		Arguments: []Argument{
			{"host", true, "Name or address of the host, up to 255 bytes.", checkHost},
			{"port", true, "The port, 1 to 65535.", checkWhole(1, 65535)},
		},
	},
	{
		Name: WaitHTTP, Summary: "Waits until a GET request is answered with an expected status.",
		Arguments: []Argument{
			{"url", true, "Where to, http or https; redirects are followed, at most ten times.", CheckURL},
			{"status", false, "The status that is waited for: 200, 2xx or 200-204. Default: 2xx.",
				func(s string) error { _, err := ParseStatuses([]string{s}); return err }},
		},
	},
	{
		Name: Sleep, Summary: "Waits for a while.",
		Arguments: []Argument{{"seconds", true, "How long, a whole number from 0 to 86400 that is less than `timeout`.",
			checkWhole(0, longestTimeout)}},
		check: func(arguments map[string]string, s Settings) *invalid.Error {
			if n, err := strconv.Atoi(arguments["seconds"]); err != nil || time.Duration(n)*time.Second < s.Timeout {
				return nil // the argument's own check reports what is not a number
			}
			return &invalid.Error{Attribute: "arguments.seconds",
				Message: fmt.Sprintf("is not less than the timeout of %d seconds; raise timeout",
					s.Timeout/time.Second)}
		},
	},
	{
		Name: ResolveDNS, Summary: "Waits until a name has addresses, and returns them sorted, with the first one as address.",
		Arguments: []Argument{{"name", true, "The name to look up, up to 255 bytes.", checkHost}},
		Values:    []string{"address", "addresses"},
	},
}

func function() resource.Schema {
	names := make([]string, len(builtins))
	for i, b := range builtins {
		names[i] = b.Name
	}
	return resource.Schema{
		Type:    Function,
		Summary: "Calls a function that is built into slipway.",
		Parameters: withSettings(
			resource.Parameter{Name: "function", Kind: resource.String, Required: true, Values: names,
				Description: "The function: " + strings.Join(names, ", ") + "."},
			resource.Parameter{Name: "arguments", Kind: resource.StringMap, Scalars: true,
				Description: "Arguments of the function, by name: text, numbers or booleans. See the table below."},
		),
		Check: checkCall,
	}
}

// checkCall checks the arguments of a function with a valid name.
func checkCall(r resource.Resource) []invalid.Error {
	i := slices.IndexFunc(builtins, func(b Builtin) bool { return b.Name == r.Parameters.String("function") })
	if i < 0 {
		return nil
	}
	b, given := builtins[i], r.Parameters.StringMap("arguments")
	var errs []invalid.Error
	known := make([]string, len(b.Arguments))
	for j, a := range b.Arguments {
		known[j] = a.Name
		value, ok := given[a.Name]
		path := "arguments." + a.Name
		if !ok {
			if a.Required {
				errs = append(errs, invalid.Error{Attribute: path, Code: invalid.MissingParameter,
					Message: "is required by the function " + b.Name})
			}
			continue
		}
		if err := a.Check(value); err != nil {
			errs = append(errs, invalid.Error{Attribute: path, Message: err.Error()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		hint := "it has " + strings.Join(known, ", ")
		if near := resource.Nearest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		errs = append(errs, invalid.Error{
			Attribute: "arguments." + name, Code: invalid.UnknownParameter, Message: fmt.Sprintf(
				"the function %s has no such argument; %s", b.Name, hint),
		})
	}
	if b.check != nil && len(errs) == 0 {
		if e := b.check(given, SettingsOf(r.Parameters)); e != nil {
			errs = append(errs, *e)
		}
	}
	return errs
}

func checkHost(s string) error {
	if s == "" || len(s) > 255 || strings.ContainsFunc(s,
		func(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f }) {
		return fmt.Errorf("%q is not the name or address of a host", s)
	}
	return nil
}

func checkWhole(least, most int) func(string) error {
	return func(s string) error {
		if n, err := strconv.Atoi(s); err != nil || n < least || n > most {
			return fmt.Errorf("%q is not a whole number from %d to %d", s, least, most)
		}
		return nil
	}
}
