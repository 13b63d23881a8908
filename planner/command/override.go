package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

func newOverride() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "override CONFIGURATION LAYER...",
		Short: "Lay overrides over a configuration, and tell what each changes",
		Long: "Lay overrides over a configuration, as a plan does on every node, and tell which override changed what. CONFIGURATION is a YAML document with\n" +
			"the key configuration. Each LAYER is one with the keys configuration and configuration_options (or options); the first one is the\n" +
			"weakest: site, group, role, node. - is standard input. The flags take the place of the same options of all layers.\n\n" +
			"Exit status: 0 done, 2 a document is not valid or could not be read.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return bad(errors.New("give a configuration and one or more layers"))
			}
			return nil
		},
	}
	output := outputFlag(cmd)
	var direct site.OverrideOptions
	var create bool
	cmd.Flags().BoolVar(&create, "create", true, "whether layers may create resources")
	cmd.Flags().StringSliceVar(&direct.TypesFilter, "types-filter", nil, "types that are considered")
	cmd.Flags().StringSliceVar(&direct.TitlesFilter, "titles-filter", nil, "titles that are considered")
	cmd.Flags().StringSliceVar(&direct.TypesCreateException, "types-create-exception", nil, "types for which the opposite of create counts")
	cmd.Flags().StringSliceVar(&direct.TitlesCreateException, "titles-create-exception", nil, "titles for which the opposite of create counts")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("create") {
			direct.Create = &create
		}
		changes, err := lay(cmd, args, direct)
		if err != nil {
			return err
		}
		if *output == asJSON {
			return writeJSON(cmd.OutOrStdout(), struct {
				Resources []laidJSON `json:"resources"`
			}{changes})
		}
		p := &printer{w: cmd.OutOrStdout()}
		writeChanges(p, changes)
		return p.err
	}
	return cmd
}

// laidJSON is a resource as the command prints it with --output json: what came of it, and what it was.
type laidJSON struct {
	Resource   string         `json:"resource"`
	Type       string         `json:"type"`
	Title      string         `json:"title"`
	Change     string         `json:"change"`    // created, changed or none
	Overrides  []string       `json:"overrides"` // that changed or created it, the strongest last
	Parameters map[string]any `json:"parameters"`
	Before     map[string]any `json:"before,omitempty"` // where it was changed
	Changed    []string       `json:"changed"`          // the parameters that are other ones, of a created resource all
}

// lay reads the documents and lays the layers over the configuration. The result is sorted by resource.
func lay(cmd *cobra.Command, names []string, direct site.OverrideOptions) ([]laidJSON, error) {
	var layers []*document.Layer
	var problems document.Problems
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, bad(fmt.Errorf("%s is named twice", name))
		}
		s, err := source(cmd, name)
		if err != nil {
			return nil, bad(err)
		}
		read := document.ParseLayer
		if i == 0 {
			read = document.ParseConfiguration
		}
		l, err := read(s)
		var found document.Problems
		if errors.As(err, &found) {
			problems = append(problems, found...)
		} else if err != nil {
			return nil, bad(err)
		}
		layers = append(layers, l)
	}
	if len(problems) > 0 {
		return nil, bad(problems)
	}
	overrides := make([]site.Override, len(layers)-1)
	for i, l := range layers[1:] {
		overrides[i] = l.Override
		overrides[i].Options = override.Settings(l.Override.Options, direct)
	}
	base := site.Service{Name: names[0], Configuration: layers[0].Override.Configuration}
	schemas := converge.Schemas()
	before, found := planner.Lay(schemas, base, nil)
	if len(found) == 0 {
		var after []task.Task
		if after, found = planner.Lay(schemas, base, overrides); len(found) == 0 {
			return changesOf(schemas, before, after), nil
		}
	}
	for _, p := range found {
		at := layers[0]
		if p.Object == "override" {
			for _, l := range layers[1:] {
				if l.Override.Name == p.Name {
					at = l
				}
			}
		}
		problems = append(problems, at.Locate(p))
	}
	return nil, bad(problems)
}

func changesOf(schemas map[string]resource.Schema, before, after []task.Task) []laidJSON {
	was := make(map[resource.ID]resource.Resource, len(before))
	for _, t := range before {
		was[t.Resource.ID()] = t.Resource
	}
	out := make([]laidJSON, 0, len(after))
	for _, t := range after {
		r := t.Resource
		l := laidJSON{Resource: string(r.ID()), Type: r.Type, Title: r.Title, Change: "none", Overrides: []string{}, Changed: []string{}, Parameters: shown(schemas[r.Type], r)}
		if len(t.Override) > 0 {
			l.Overrides, l.Change = t.Override, "created"
			old, existed := was[r.ID()]
			for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
				if !reflect.DeepEqual(old.Parameters[name], r.Parameters[name]) {
					l.Changed = append(l.Changed, name)
				}
			}
			if existed {
				l.Change, l.Before = "changed", shown(schemas[r.Type], old)
			}
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b laidJSON) int { return cmp.Compare(a.Resource, b.Resource) })
	return out
}

// hidden stands for a value that is not shown.
const hidden = "(sensitive)"

// shown returns the parameters of a resource without the values of sensitive ones.
func shown(schema resource.Schema, r resource.Resource) map[string]any {
	out := make(map[string]any, len(r.Parameters))
	maps.Copy(out, r.Parameters)
	for name := range out {
		declared := slices.IndexFunc(schema.Parameters, func(p resource.Parameter) bool { return p.Name == name })
		if r.Sensitive() && !resource.IsMetaparameter(name) || declared >= 0 && schema.Parameters[declared].Sensitive {
			out[name] = hidden
		}
	}
	return out
}

func writeChanges(p *printer, all []laidJSON) {
	var rows [][]string
	for _, l := range all {
		rows = append(rows, []string{l.Resource, l.Change, strings.Join(l.Overrides, ", ")})
	}
	p.rows("RESOURCE\tCHANGE\tBY", rows)
	for _, l := range all {
		if l.Change == "none" {
			continue
		}
		p.printf("\n%s\n", l.Resource)
		for _, name := range slices.Sorted(maps.Keys(l.Parameters)) {
			value, had := l.Before[name]
			switch {
			case !slices.Contains(l.Changed, name):
				p.printf("    %s: %s\n", name, text(value))
			case had:
				p.printf("  ~ %s: %s -> %s\n", name, text(value), text(l.Parameters[name]))
			default:
				p.printf("  + %s: %s\n", name, text(l.Parameters[name]))
			}
		}
	}
}

// text writes a value on one line. Values come from documents, so JSON can write them.
func text(v any) string {
	if v == hidden {
		return hidden
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
