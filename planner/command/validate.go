package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func newValidate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check the documents of a site",
		Long: "Check the documents of a site, and report everything that is wrong with them, with file, line and column.\n\n" + siteHelp + "\n\n" +
			"Exit status: 0 valid, 1 not valid, 2 a file could not be read.",
		Args: files,
	}
	output := outputFlag(cmd, asMarkdown)
	flags := &siteFlags{}
	flags.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := parse(cmd, args, document.Options{Address: flags.address})
		var errs invalid.Errors
		if err != nil {
			if !errors.As(err, &errs) {
				return err
			}
		} else {
			if err := checkAddress(flags.address, s.Shown); err != nil {
				return err
			}
			errs = check(s)
		}
		failures, warnings := split(errs)
		if err := writeValidation(cmd, *output, s, failures, warnings); err != nil {
			return err
		}
		if len(failures) > 0 {
			return &statusError{statusFailed, fmt.Errorf("not valid: %s", resource.Count(len(failures), "error"))}
		}
		return nil
	}
	return cmd
}

func writeValidation(cmd *cobra.Command, f format, s *document.Site, failures, warnings invalid.Errors) error {
	all := append(append(invalid.Errors{}, failures...), warnings...)
	p := &printer{w: cmd.OutOrStdout()}
	switch f {
	case asJSON:
		return writeJSON(p.w, struct {
			Valid  bool          `json:"valid"`
			Errors []errorAtJSON `json:"problems"`
		}{len(failures) == 0, errorsJSON(all)})
	case asMarkdown:
		p.printf("# Validation\n\n")
		p.errorTable(all)
	default:
		for _, wrong := range all {
			p.printf("%s\n", wrong.Error())
		}
	}
	if s == nil || len(failures) > 0 {
		return p.err
	}
	if len(all) > 0 && f == asMarkdown {
		p.printf("\n")
	}
	groups := "no groups, so the default strategy counts"
	if s.Site.Groups != nil {
		groups = resource.Count(len(s.Site.Groups), "group")
	}
	p.printf("valid: site %s, %s, %s, %s, %s\n", s.Site.Name, resource.Count(len(s.Site.Nodes), "node"), groups,
		resource.Count(len(s.Site.Services), "service"), resource.Count(len(s.Site.Overrides), "override"))
	if s.Catalog != nil {
		p.printf("catalog: %s\n", entitiesOf(s.Catalog)+withLifecycles(len(s.Lifecycles)))
	}
	if !s.Inventory {
		p.printf("no document holds nodes, so what is selected was not checked\n")
	}
	return p.err
}

func withLifecycles(n int) string {
	if n == 0 {
		return ""
	}
	return ", " + resource.Count(n, "lifecycle")
}

// entitiesOf counts the entities of a catalog, and the abstract ones among them.
func entitiesOf(c *catalog.Catalog) string {
	abstract := 0
	for _, e := range c.Entities {
		if e.Abstract {
			abstract++
		}
	}
	kinds := fmt.Sprintf("%d entities", len(c.Entities))
	if len(c.Entities) == 1 {
		kinds = "1 entity"
	}
	if abstract > 0 {
		kinds += fmt.Sprintf(", %d of them abstract", abstract)
	}
	return kinds
}
