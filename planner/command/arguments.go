package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// strict turns wrong arguments of a command, and of all commands below it, into errors of status 2. A command that only
// has subcommands prints its help without arguments and refuses unknown ones; cobra does so for the root only.
func strict(cmd *cobra.Command) {
	if !cmd.Runnable() {
		cmd.Args, cmd.RunE = oneOfItsCommands, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return inputError(check(cmd, args)) }
	}
	for _, below := range cmd.Commands() {
		strict(below)
	}
}

// oneOfItsCommands is the Args of a command that only has subcommands. Its arguments are those that name no subcommand.
func oneOfItsCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("%s %s: no such command%s; there are %s", cmd.CommandPath(), args[0],
		resource.DidYouMean(args[0], names), strings.Join(names, ", "))
}

// noArguments is the Args of a command that takes no arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// atMostOneRun is the Args of a command that takes at most one id of a run.
func atMostOneRun(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one run, got %q too", cmd.CommandPath(), args[1])
	}
	return nil
}

// exactly is the Args of a command that takes n arguments; what says which.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s: name %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// files is the Args of a command that takes one or more files.
func files(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s: name at least one file, or - for standard input", cmd.CommandPath())
	}
	return nil
}

// limitFlag adds --limit, a number from 1, for lists with the newest first.
func limitFlag(cmd *cobra.Command, usual int, help string) *int {
	limit := cmd.Flags().IntP("limit", "n", usual, help)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *limit < 1 {
			return inputError(fmt.Errorf("--limit %d: must be at least 1", *limit))
		}
		return nil
	}
	return limit
}

// versionFlag adds --version, a number from 1, which chooses a version of a service; 0 is the newest.
func versionFlag(cmd *cobra.Command, help string) *int {
	version := cmd.Flags().Int("version", 0, help)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("version") && *version < 1 {
			return inputError(fmt.Errorf("--version %d: versions begin with 1", *version))
		}
		return nil
	}
	return version
}

// wrongFlag turns a wrong flag into an error of status 2. An unknown subcommand is reported first: no flag is valid for
// it.
func wrongFlag(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		err = oneOfItsCommands(cmd, args)
	}
	return inputError(err)
}

// helpTopic is the Args of the help command. For an unknown topic it fails, where cobra prints the help of the root.
func helpTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 && found.HasSubCommands():
		return oneOfItsCommands(found, rest)
	case len(rest) > 0:
		return fmt.Errorf("%s: has no commands, so there is no help for %q", found.CommandPath(), rest[0])
	}
	return nil
}

// addHelp adds the commands of cobra itself, so that strict applies to them, too.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Args = helpTopic
		}
	}
}

// interruptible makes a command, and all commands below it, return at once when they are interrupted, with an error of
// status 2. It is for commands that only read and print and have nothing to clean up.
func interruptible(cmd *cobra.Command) *cobra.Command {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			ended := make(chan error, 1)
			go func() { ended <- run(cmd, args) }()
			select {
			case err := <-ended:
				return err
			case <-cmd.Context().Done():
				return inputError(errors.New(cmd.CommandPath() + ": interrupted"))
			}
		}
	}
	for _, below := range cmd.Commands() {
		interruptible(below)
	}
	return cmd
}
