package schema

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// MostSeconds bounds the times of an action.
const MostSeconds = 366 * 24 * 60 * 60

const mostRetries = 1000

// tryParameters are those of an action that runs a command, again when it fails.
func tryParameters(retries int) []resource.Parameter {
	return []resource.Parameter{
		{Name: "cwd", Kind: resource.String, Check: checkReachable,
			Description: "Directory in which it runs, absolute or in files. Default: the folder with the files."},
		{Name: "files", Kind: resource.StringMap, Check: CheckFiles,
			Description: "Files by their relative path, contents in base64, 1 MiB together. They are put into a folder of root's own while it runs, mode 0700."},
		{Name: "interval", Kind: resource.Integer, Check: checkSeconds,
			Description: "Seconds between two tries, up to a year. Default: 1."},
		{Name: "retries", Kind: resource.Integer, Check: checkRetries,
			Description: fmt.Sprintf("How often it is tried again after it failed, up to %d. Default: %d.", mostRetries,
				retries)},
		{Name: "timeout", Kind: resource.Integer, Check: checkSeconds,
			Description: "Seconds after which a try, and all that it started, is ended, up to a year; 0 is no limit. Default: 300."},
	}
}

func checkSeconds(value any) error {
	if n, ok := value.(int64); !ok || n < 0 || n > MostSeconds {
		return fmt.Errorf("%d must be 0 to %d seconds", n, MostSeconds)
	}
	return nil
}

func checkRetries(value any) error {
	if n, ok := value.(int64); !ok || n < 0 || n > mostRetries {
		return fmt.Errorf("%d must be 0 to %d", n, mostRetries)
	}
	return nil
}
