package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// strict makes wrong arguments of a command, and of all below it, errors of status 2. A command that only holds others prints its help without
// arguments, and refuses one that is none of them, which cobra passes over below the root.
func strict(cmd *cobra.Command) {
	if !cmd.Runnable() {
		cmd.Args, cmd.RunE = oneOfItsCommands, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return bad(check(cmd, args)) }
	}
	for _, below := range cmd.Commands() {
		strict(below)
	}
}

// oneOfItsCommands is the check of a command that only holds others: cobra has found the one that the arguments name, if there is one.
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
	return fmt.Errorf("%s %s: no such command%s; there are %s", cmd.CommandPath(), args[0], resource.DidYouMean(args[0], names), strings.Join(names, ", "))
}

// nothing is the check of a command that takes no arguments.
func nothing(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// atMostOneRun is the check of a command that takes the id of a run, or none.
func atMostOneRun(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one run, got %q too", cmd.CommandPath(), args[1])
	}
	return nil
}

// limitFlag adds --limit, for lists that have the newest first.
func limitFlag(cmd *cobra.Command, usual int, help string) *int {
	return cmd.Flags().IntP("limit", "n", usual, help)
}

// checkLimit refuses a limit that leaves nothing.
func checkLimit(limit int) error {
	if limit < 1 {
		return bad(fmt.Errorf("--limit %d: must be at least 1", limit))
	}
	return nil
}

// wrongFlag makes a wrong flag an error of status 2. Of a command that does not exist no flag is right, so that is told first.
func wrongFlag(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		err = oneOfItsCommands(cmd, args)
	}
	return bad(err)
}

// helpTopic is the check of the help command: cobra's prints the help of the root for a topic that is none, as if all were well.
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

// addHelp adds the commands that cobra brings, so that they are as strict as the others.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Args = helpTopic
		}
	}
}

// interruptible makes a command, and all below it, end as soon as they are interrupted, whatever they are at. It is for those that read, reckon and
// print: they have nothing to put in order. What was asked has no answer then, so it is an error of status 2.
func interruptible(cmd *cobra.Command) *cobra.Command {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			ended := make(chan error, 1)
			go func() { ended <- run(cmd, args) }()
			select {
			case err := <-ended:
				return err
			case <-cmd.Context().Done():
				return bad(errors.New(cmd.CommandPath() + ": interrupted"))
			}
		}
	}
	for _, below := range cmd.Commands() {
		interruptible(below)
	}
	return cmd
}
