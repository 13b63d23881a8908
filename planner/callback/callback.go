// Package callback declares the callbacks that run on the controller (litp.md 46, 114): commands, HTTP requests and
// built-in functions. It has their schemas, the table of functions and the syntax of their parameters, and is pure.
// Package planner/callback/controller executes callbacks.
package callback

import (
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The types of callbacks.
const (
	Command  = "command"
	HTTP     = "http"
	Function = "function"
)

// The defaults of callbacks.
const (
	DefaultTimeout  = 5 * time.Minute
	DefaultInterval = time.Second
)

const (
	longestTimeout  = 24 * 60 * 60 // seconds
	longestInterval = 60 * 60      // seconds
	mostRetries     = 1000
	// longestText bounds a body or standard input, in bytes.
	longestText = 1 << 20
)

// schemas has the schema of each type. To add a type, add a line here and its worker in planner/callback/controller.
var schemas = map[string]func() resource.Schema{
	Command:  command,
	HTTP:     request,
	Function: function,
}

// Schemas returns the schema of each type of callback by name. The caller owns the result.
func Schemas() map[string]resource.Schema {
	out := make(map[string]resource.Schema, len(schemas))
	for name, schema := range schemas {
		out[name] = schema()
	}
	return out
}

// Settings are the parameters that all callbacks have.
type Settings struct {
	Timeout  time.Duration // of one try; for a function that waits, of the whole wait
	Retries  int           // number of further tries after a failure
	Interval time.Duration // between tries
}

// SettingsOf returns the settings of a callback with valid parameters.
func SettingsOf(p resource.Parameters) Settings {
	seconds := func(name string, absent time.Duration) time.Duration {
		return time.Duration(p.IntOr(name, int64(absent/time.Second))) * time.Second
	}
	return Settings{
		Timeout:  seconds("timeout", DefaultTimeout),
		Retries:  int(p.Int("retries")),
		Interval: seconds("interval", DefaultInterval),
	}
}

// withSettings adds the parameters that all callbacks have.
func withSettings(parameters ...resource.Parameter) []resource.Parameter {
	whole := func(name, description string, least, most int64) resource.Parameter {
		return resource.Parameter{
			Name: name, Kind: resource.Integer, Description: description,
			Check: func(v any) error {
				if n, _ := v.(int64); n < least || n > most { // the schema guarantees an int64
					return fmt.Errorf("%d is not from %d to %d", n, least, most)
				}
				return nil
			},
		}
	}
	return append(parameters,
		whole("timeout",
			"Seconds that one try may take, 1 to 86400; a function that waits, the whole wait. Default: 300.", 1,
			longestTimeout),
		whole("retries", "How often the callback is tried again after it failed, 0 to 1000. Default: 0.", 0,
			mostRetries),
		whole("interval", "Seconds between tries, 0 to 3600. Default: 1.", 0, longestInterval),
	)
}
