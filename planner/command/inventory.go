package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/enroll"
)

// asAnsible is an Ansible inventory in YAML.
const asAnsible format = "ansible"

func newInventory() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inventory FILE...",
		Short: "Write the nodes of a site as an Ansible inventory",
		Long: "Write the nodes of a site as an Ansible inventory in YAML: tags are groups, labels are variables of hosts. What an inventory has no word for is a warning on\n" +
			"standard error, and so is each secret: none is written. `enroll` reads it as the same nodes.\n\n" +
			siteHelp + "\n\nExit status: 0 done, 2 a file is not valid or could not be read.",
		Args: files,
	}
	var flags siteFlags
	flags.add(cmd)
	output := asAnsible
	(&formatFlag{value: &output, allowed: []format{asAnsible}}).add(cmd, "output", "o", "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := parse(cmd, args, document.Options{Address: flags.address})
		if err != nil {
			return err
		}
		if err := checkAddress(flags.address, s.Shown); err != nil {
			return err
		}
		if !s.Inventory {
			return inputError(fmt.Errorf("%s: no document has nodes; name one with the key \"nodes\", too", args[0]))
		}
		if _, err := onlyWarnings(check(s)); err != nil {
			return err
		}
		text, warnings := enroll.Inventory(s.Site.Nodes)
		return printedAlone(cmd, string(text), locate(s, warnings))
	}
	return cmd
}
