package override

import (
	"maps"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Combine merges several layers, the weakest first, into one override (fuel.md B4). A layer merges with
// weaker ones per parameter (fuel.md B4); with `merge = "title"` it replaces a whole title, a whole option, and the
// whole defaults of a type. The options of all layers become those of the result; in [Set.Apply], in contrast,
// the options of an override concern only its own entries. Name and scope are those of the strongest layer. No layer
// is changed.
func Combine(layers []site.Override) site.Override {
	out := site.Override{Configuration: resource.Configuration{}}
	for _, l := range layers {
		whole := l.Merge == mergeTitle
		configuration, options := out.Configuration, out.Options
		out = l
		out.Configuration = combineConfigurations(configuration, l.Configuration, whole)
		out.Options = site.OverrideOptions{
			Create:                options.Create,
			TypesFilter:           combineNames(options.TypesFilter, l.Options.TypesFilter, whole),
			TitlesFilter:          combineNames(options.TitlesFilter, l.Options.TitlesFilter, whole),
			TypesCreateException:  combineNames(options.TypesCreateException, l.Options.TypesCreateException, whole),
			TitlesCreateException: combineNames(options.TitlesCreateException, l.Options.TitlesCreateException, whole),
			Defaults:              combineDefaults(options.Defaults, l.Options.Defaults, whole),
		}
		if l.Options.Create != nil {
			out.Options.Create = l.Options.Create
		}
	}
	return out
}

func combineConfigurations(weaker, stronger resource.Configuration, whole bool) resource.Configuration {
	out := make(resource.Configuration, len(weaker)+len(stronger))
	for _, c := range []resource.Configuration{weaker, stronger} {
		for typ, titles := range c {
			if out[typ] == nil {
				out[typ] = make(map[string]resource.Parameters, len(titles))
			}
			for title, p := range titles {
				out[typ][title] = lay(out[typ][title], p, whole)
			}
		}
	}
	return out
}

func combineDefaults(weaker, stronger map[string]map[string]any, whole bool) map[string]map[string]any {
	if len(weaker)+len(stronger) == 0 {
		return nil
	}
	out := make(map[string]map[string]any, len(weaker)+len(stronger))
	maps.Copy(out, weaker)
	for typ, p := range stronger {
		out[typ] = lay(out[typ], p, whole)
	}
	return out
}

// combineNames unites two lists, the weaker first. An empty list clears nothing, unless the stronger layer replaces as
// a whole.
func combineNames(weaker, stronger []string, whole bool) []string {
	if len(stronger) == 0 && (!whole || stronger == nil) {
		return weaker
	}
	var out []string
	seen := make(map[string]bool)
	if whole {
		weaker = nil
	}
	for _, list := range [][]string{weaker, stronger} {
		for _, name := range list {
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// Settings returns the options of an override from those in its data and those given directly. A direct list
// or direct defaults that are not empty, and a direct create, replace those in the data; nothing is merged (fuel.md
// B1, F-21).
func Settings(data, direct site.OverrideOptions) site.OverrideOptions {
	out := data
	if direct.Create != nil {
		out.Create = direct.Create
	}
	for _, list := range []struct {
		into   *[]string
		direct []string
	}{
		{&out.TypesFilter, direct.TypesFilter}, {&out.TitlesFilter, direct.TitlesFilter},
		{&out.TypesCreateException, direct.TypesCreateException},
		{&out.TitlesCreateException, direct.TitlesCreateException},
	} {
		if len(list.direct) > 0 {
			*list.into = list.direct
		}
	}
	if len(direct.Defaults) > 0 {
		out.Defaults = direct.Defaults
	}
	return out
}

// Overrides returns the overrides with the given indices, as they were given to [New].
func (s *Set) Overrides(indices []int) []site.Override {
	out := make([]site.Override, len(indices))
	for i, index := range indices {
		out[i] = s.overrides[index].Override
	}
	return out
}
