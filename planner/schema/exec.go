package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Exec declares the type exec.
func Exec() resource.Schema {
	const commands = " A command is a line for /bin/sh, or a list of words, a program and its arguments, " +
		"run without a shell: `[[\"test\", \"-f\", \"/x\"]]`; several are a list of these, so a list of strings is several lines. A program that does not exist is an " +
		"error, but for one before a pipe: the shell gives the status of the last program only."
	return resource.Schema{
		Type:         "exec",
		Summary:      "A command that runs when its guards say so, once when it has none, or when notified.",
		NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "command", Kind: resource.StringList, Shell: true, Check: checkWords,
				Description: "A string is run by /bin/sh; a list of two or more is a program and its arguments, run without a shell. A managed file that the command or a guard names by its full path comes first. Default: the title."},
			{Name: "creates", Kind: resource.StringList, Check: checkPaths,
				Description: "Absolute paths; the command runs only while none of them is there."},
			{Name: "onlyif", Kind: resource.StringList, Shell: true, Commands: true, Check: checkWords,
				Description: "The command runs only when all of these end with status 0. They run at plan time too." + commands},
			{Name: "unless", Kind: resource.StringList, Shell: true, Commands: true, Check: checkWords,
				Description: "The command runs only when none of these ends with status 0. They run at plan time too." + commands},
			{Name: "refreshonly", Kind: resource.Bool,
				Description: "Run only when another resource notifies this one. Default: false."},
			{Name: "timeout", Kind: resource.Integer, Check: checkTimeout,
				Description: "Seconds after which the command and all that it started are ended, up to 86400; 0 is no limit. Default: 300."},
			{Name: "tries", Kind: resource.Integer, Check: checkTries,
				Description: "How often the command is run, up to 1000, until it succeeds; `timeout` counts for each run. Default: 1."},
			{Name: "try_sleep", Kind: resource.Integer, Check: checkTimeout,
				Description: "Seconds between two runs, up to 86400. Default: 0."},
			{Name: "umask", Kind: resource.String, Check: checkUmask, Instead: quotedMode,
				Description: "Permissions that files made by the command do not get, as 3 or 4 octal digits, like \"0077\". Default: 0022."},
			{Name: "cwd", Kind: resource.String, Check: CheckAbsolute,
				Description: "Directory in which the command and its guards run. Default: /."},
			{Name: "user", Kind: resource.String, Check: checkAccount,
				Description: "User as whom the command and its guards run. Default: the session's."},
			{Name: "environment", Kind: resource.StringList, Secret: true, Check: checkEnvironment, Instead: nameValue,
				Description: "Variables as NAME=value. Besides them a command has PATH, LANG=C and HOME, with `user` also USER and LOGNAME of that user (Puppet sets neither), and nothing else of the session's environment. Guards that need a secret from it run in applies only, not at plan time."},
			{Name: "path", Kind: resource.StringList, Check: checkPaths,
				Description: "Directories in which programs are looked for. Default: " + PlainPath + "."},
			{Name: "returns", Kind: resource.StringList, Scalars: true, Check: checkReturns,
				Description: "Exit statuses that count as success, 0 to 255. Default: 0."},
			{Name: "logoutput", Kind: resource.Bool, Text: true, Check: checkLogOutput,
				Description: "true, false or \"on_failure\": accepted for Puppet's sake. What a command prints is always part of its result, except with sensitive = true."},
		},
	}
}

func checkWords(value any) error {
	words, _ := value.([]string)
	if len(words) == 0 || words[0] == "" || slices.ContainsFunc(words,
		func(w string) bool { return strings.ContainsRune(w, 0) }) {
		return errors.New("must not be empty")
	}
	return nil
}

func checkPaths(value any) error {
	list, _ := value.([]string)
	if len(list) == 0 {
		return errors.New("must not be empty")
	}
	for _, entry := range list {
		for p := range strings.SplitSeq(entry, ":") {
			if !strings.HasPrefix(p, "/") {
				return fmt.Errorf("%q must be an absolute path", p)
			}
		}
	}
	return nil
}

func checkTimeout(value any) error {
	n, ok := value.(int64)
	if !ok || n < 0 || n > 86400 {
		return fmt.Errorf("%d must be 0 to 86400 seconds", n)
	}
	return nil
}

func checkTries(value any) error {
	n, ok := value.(int64)
	if !ok || n < 1 || n > 1000 {
		return fmt.Errorf("%d must be 1 to 1000", n)
	}
	return nil
}

func checkLogOutput(value any) error {
	if text, is := value.(string); is && text != "on_failure" {
		return fmt.Errorf("%q must be true, false or \"on_failure\"", text)
	}
	return nil
}

func checkUmask(value any) error {
	text, _ := value.(string)
	if n, err := strconv.ParseUint(text, 8, 16); err != nil || n > 0o777 || len(text) < 3 || len(text) > 4 {
		return fmt.Errorf("%q must be 3 or 4 octal digits, at most 0777", text)
	}
	return nil
}

func nameValue(any) string { return "NAME=value" }

func checkEnvironment(value any) error {
	entries, _ := value.([]string)
	for i, entry := range entries {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsRune(entry, 0) {
			return fmt.Errorf("entry %d %w", i, resource.Rule("must have the form NAME=value"))
		}
	}
	return nil
}

func checkReturns(value any) error {
	texts, _ := value.([]string)
	for _, text := range texts {
		if n, err := strconv.Atoi(text); err != nil || n < 0 || n > 255 {
			return fmt.Errorf("%q must be an exit status, 0 to 255", text)
		}
	}
	return nil
}

// PlainPath is the PATH of commands.
const PlainPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
