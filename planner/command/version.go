package command

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program, and those of what it exchanges and keeps",
		Long: "Print the version of the program, the commit and the Go that it was built from, and the versions of what it exchanges with other processes and keeps.\n" +
			"The guide \"Beyond one machine\" says which versions work together. --version prints the same.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s version %s\n%s", cmd.Root().Name(), cmd.Root().Version, versions())
			return err
		},
	}
}

// versionTemplate is what --version prints, as a template of cobra.
func versionTemplate() string { return "{{.Name}} version {{.Version}}\n" + versions() }

// versions returns what the program was built from, and the versions of what it exchanges and keeps, a line each.
func versions() string {
	var text strings.Builder
	lines := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(name string, value any) { _, _ = fmt.Fprintf(lines, "%s\t%v\n", name, value) } // to memory
	if commit := commit(); commit != "" {
		line("commit", commit)
	}
	line("Go", runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH)
	line("manifest", converge.Protocol)
	line("ledger", ledger.FormVersion)
	line("journal", journal.SchemaVersion)
	line("workflows", temporal.Version)
	line("requests", engine.WireVersion)
	line("state file", stateVersion)
	_ = lines.Flush()
	return text.String()
}

// commit returns the commit that the program was built from, empty where the build did not note it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	id := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			id = s.Value + id
		case s.Key == "vcs.modified" && s.Value == "true":
			id += " with changes"
		}
	}
	return id
}
