package command

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

const overrideTakes = "override takes a configuration and layers (the keys configuration and configuration_options), or " + siteKinds

func newOverride() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "override FILE...",
		Short: "Show what overrides change: those of a site, or layers over a configuration",
		Long: "Show which override changes what.\n\n" +
			"  override FILE...                 the overrides of a site, as a first run has it on the nodes\n" +
			"  override CONFIGURATION LAYER...  layers, laid over a configuration as a plan does on every node\n\n" +
			siteHelp + "\n\n" +
			"CONFIGURATION is a YAML document with the key configuration. Each LAYER is one with the keys configuration and configuration_options (or options); the\n" +
			"first one is the weakest: site, group, role, node. The flags, but for --address and --output, replace the same options of all layers.\n\n" +
			"Exit status: 0 done, 2 a document is not valid or could not be read.",
		Args: files,
	}
	output := outputFlag(cmd, asMarkdown)
	flags := &siteFlags{}
	flags.add(cmd)
	var direct site.OverrideOptions
	var create bool
	ofLayers := pflag.NewFlagSet("layers", pflag.ContinueOnError)
	ofLayers.BoolVar(&create, "create", true, "whether layers may create resources")
	ofLayers.StringSliceVar(&direct.TypesFilter, "types-filter", nil, "types that are considered")
	ofLayers.StringSliceVar(&direct.TitlesFilter, "titles-filter", nil, "titles that are considered")
	ofLayers.StringSliceVar(&direct.TypesCreateException, "types-create-exception", nil,
		"types for which the opposite of create counts")
	ofLayers.StringSliceVar(&direct.TitlesCreateException, "titles-create-exception", nil,
		"titles for which the opposite of create counts")
	cmd.Flags().AddFlagSet(ofLayers)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		all, err := inputs(cmd, args, document.OfLayer, overrideTakes)
		if err != nil {
			return err
		}
		ofSite, others := splitInputs(all)
		result := &overrideResult{}
		var warnings invalid.Errors
		switch {
		// parsing it as a site gives the best errors
		case len(ofSite) > 0 || len(all) == 1 && all[0].kind == document.Unclear:
			if err := onlySite(ofSite, others, ofLayers); err != nil {
				return err
			}
			result, warnings, err = overridesOn(all, flags.address)
		case len(all) < 2:
			return inputError(errors.New("give a configuration and one or more layers"))
		default:
			if err := checkAddress(flags.address, false); err != nil {
				return err
			}
			if ofLayers.Changed("create") {
				direct.Create = &create
			}
			result.resources, err = applyLayers(all, direct)
		}
		if err != nil {
			return err
		}
		return result.write(cmd.OutOrStdout(), *output, warnings)
	}
	return cmd
}

// onlySite refuses documents and flags that are for layers only.
func onlySite(ofSite, others []input, ofLayers *pflag.FlagSet) error {
	var errs invalid.Errors
	for _, in := range others {
		if in.kind == document.OfLayer {
			errs = append(errs, in.wrong(fmt.Sprintf(
				"but %s %s: name either a configuration and layers, or what describes a site", ofSite[0].Name,
				ofSite[0].is)))
		}
	}
	if len(errs) > 0 {
		return inputError(errs)
	}
	var names []string
	ofLayers.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			names = append(names, "--"+f.Name)
		}
	})
	if len(names) > 0 {
		return inputError(fmt.Errorf("%s: only for layers over a configuration; the overrides of a site have options of their own", strings.Join(names, ", ")))
	}
	return nil
}

// applyLayers parses the documents and applies the layers to the configuration. The result is sorted by resource.
func applyLayers(all []input, direct site.OverrideOptions) ([]overriddenJSON, error) {
	var layers []*document.Layer
	var errs invalid.Errors
	for i, in := range all {
		read := document.ParseLayer
		if i == 0 {
			read = document.ParseConfiguration
		}
		l, err := read(in.Source)
		var found invalid.Errors
		if errors.As(err, &found) {
			errs = append(errs, found...)
		} else if err != nil {
			return nil, inputError(err)
		}
		layers = append(layers, l)
	}
	var nulls invalid.Errors
	if len(errs) == 0 && errors.As(document.Incomplete(layers[1:]...), &nulls) {
		errs = nulls
	}
	if len(errs) > 0 {
		return nil, inputError(errs)
	}
	overrides := make([]site.Override, len(layers)-1)
	for i, l := range layers[1:] {
		overrides[i] = l.Override
		overrides[i].Options = override.Settings(l.Override.Options, direct)
	}
	base := site.Service{Name: all[0].argument, Configuration: layers[0].Override.Configuration}
	schemas := schema.Types()
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
		errs = append(errs, at.Locate(p))
	}
	return nil, inputError(errs)
}

func changesOf(schemas map[string]resource.Schema, before, after []task.Task) []overriddenJSON {
	was := make(map[resource.ID]task.Task, len(before))
	for _, t := range before {
		was[t.Resource.ID()] = t
	}
	out := make([]overriddenJSON, 0, len(after))
	for _, t := range after {
		var old *task.Task
		if found, ok := was[t.Resource.ID()]; ok {
			old = &found
		}
		out = append(out, describeOverridden(schemas, old, t, false))
	}
	slices.SortFunc(out, func(a, b overriddenJSON) int { return cmp.Compare(a.Resource, b.Resource) })
	return out
}

// describeOverridden describes what overrides changed in a resource. old is nil when they created it; secret hides all
// values.
func describeOverridden(schemas map[string]resource.Schema, old *task.Task, t task.Task, secret bool) overriddenJSON {
	r, schema := t.Resource, schemas[t.Resource.Type]
	secret = secret || r.Sensitive() || old != nil && old.Resource.Sensitive()
	l := overriddenJSON{Resource: string(r.ID()), Type: r.Type, Title: r.Title, Change: "none", Overrides: []string{},
		Changed: []string{}, Parameters: shown(schema, t, secret)}
	if len(t.Override) == 0 {
		return l
	}
	l.Overrides, l.Change = t.Override, "created"
	var before resource.Parameters
	if old != nil {
		l.Change, l.Before, before = "changed", shown(schema, *old, secret), old.Resource.Parameters
	}
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		if !reflect.DeepEqual(before[name], r.Parameters[name]) {
			l.Changed = append(l.Changed, name)
		}
	}
	return l
}

const (
	hidden  = "(sensitive)"            // replaces a value that is not shown
	awaited = "(known during the run)" // replaces a value that a callback of the run returns, or that is made from facts
)

// shown returns the parameters of a resource without the values of sensitive ones, and with secrets by their names.
func shown(schema resource.Schema, t task.Task, secret bool) map[string]any {
	out := make(map[string]any, len(t.Resource.Parameters)+len(t.Pending))
	byName := func(_, _, text string) string { return resource.ShowSecrets(text) }
	maps.Copy(out, t.Resource.Parameters.ReplaceSecrets(byName))
	for _, name := range t.Pending {
		out[name] = awaited
	}
	if t.Awaited != nil {
		for _, name := range t.Awaited.Parameters {
			out[name] = awaited
		}
	}
	for name := range out {
		declared := slices.IndexFunc(schema.Parameters, func(p resource.Parameter) bool { return p.Name == name })
		if secret && !resource.IsMetaparameter(name) || declared >= 0 && schema.Parameters[declared].Sensitive {
			out[name] = hidden
		}
	}
	return out
}
