package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const convertTakes = "convert takes an Airship DeploymentStrategy, documents or folders of Fuel plugins, and overrides " +
	"(the keys configuration and configuration_options)"

func newConvert() *cobra.Command {
	return &cobra.Command{
		Use:   "convert FILE...",
		Short: "Write Airship strategies, Fuel plugins and overrides as Terraform configuration",
		Long: "Write Airship strategies, Fuel plugins and overrides as Terraform configuration: one that is whole but for its nodes, which are its variable nodes, and for files of plugins given without their folder.\n\n" +
			"FILE is an Airship DeploymentStrategy, a document of a Fuel plugin (tasks.yaml, deployment_tasks.yaml, metadata.yaml ...) or its folder, or an override\n" +
			"with the keys configuration and configuration_options, of which a later one wins. Run it in the folder of the configuration: files of a folder are named relative to that. What the configuration lacks\n" +
			"is a warning on standard error.\n\n" +
			"Exit status: 0 done, 2 a document is not valid or could not be read.",
		Args: files,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := readConverted(cmd, args)
			if err != nil {
				return err
			}
			text, err := c.configuration()
			if err != nil {
				return inputError(err)
			}
			return printedAlone(cmd, text, c.warnings)
		},
	}
}

// converted is what is written as Terraform configuration.
type converted struct {
	site.Site
	scripts  map[string]string // plugin -> the folder with the files of its tasks
	warnings invalid.Errors
}

// readConverted reads documents of all kinds that can be converted into one site. Errors have status 2.
func readConverted(cmd *cobra.Command, args []string) (*converted, error) {
	c := &converted{scripts: make(map[string]string)}
	q := &orderInputs{}
	var strategies []document.Source
	var ofPlugins []input
	for _, arg := range args {
		names, err := inFolders([]string{arg})
		if err != nil {
			return nil, inputError(err)
		}
		all, err := sources(cmd, names)
		if err != nil {
			return nil, err
		}
		var inFolder []input
		for i, source := range all {
			kind, is := document.KindOf(source)
			in := input{source, names[i], kind, is}
			switch {
			case kind == document.OfPlugin && names[i] != arg:
				inFolder = append(inFolder, in)
			case kind == document.OfPlugin:
				ofPlugins = append(ofPlugins, in)
			case kind == document.OfSite && strings.HasPrefix(is, "is a document of the schema"):
				strategies = append(strategies, source)
			case kind == document.OfLayer || kind == document.Unclear: // reading it as a layer gives the error
				layer, err := document.ParseLayer(source)
				if err == nil {
					err = document.Incomplete(layer)
				}
				if err != nil {
					return nil, inputError(err)
				}
				if layer.Override.Name == source.Name {
					layer.Override.Name = strings.TrimSuffix(filepath.Base(source.Name), filepath.Ext(source.Name))
				}
				c.Overrides = append(c.Overrides, layer.Override)
			default:
				in.is = strings.TrimSpace("cannot be converted: it " + in.is)
				return nil, inputError(in.wrong(convertTakes))
			}
		}
		found, err := parsePlugins(inFolder, false)
		if err != nil {
			return nil, err
		}
		q.documents = append(q.documents, found...)
		scripts := filepath.Join(arg, engine.ScriptsFolder)
		if info, err := os.Stat(scripts); len(found) == 1 && err == nil && info.IsDir() {
			if strings.ContainsAny(filepath.ToSlash(scripts), `*?[{\`) {
				return nil, inputError(fmt.Errorf("%s: Terraform's fileset takes *, ?, [, { and \\ in the path of a folder as a "+
					"pattern, and would find no file; rename the folder", arg))
			}
			c.scripts[found[0].Plugin.FullName()] = filepath.ToSlash(scripts)
		}
	}
	found, err := parsePlugins(ofPlugins, false)
	if err != nil {
		return nil, err
	}
	q.documents = append(q.documents, found...)
	if len(strategies) > 0 {
		if q.site, err = document.ParseSite(strategies, document.Options{}); err != nil {
			return nil, inputError(err)
		}
		c.Groups, c.warnings = q.site.Site.Groups, q.site.Warnings
	}
	for _, d := range q.documents {
		c.Plugins = append(c.Plugins, d.Plugin)
	}
	_, errs := orderOf(c.Plugins)
	errs = append(errs, site.ValidateDependencies(c.Groups)...)
	warnings, err := onlyWarnings(q.locate(errs))
	c.warnings = append(append(append(c.warnings, q.ignored()...), warnings...), q.locate(c.withoutFiles())...)
	return c, err
}

// withoutFiles warns of plugins that are given without their folder of files, and whose tasks name some: these cannot
// be planned as they are written.
func (c *converted) withoutFiles() (warnings invalid.Errors) {
	for _, p := range c.Plugins {
		lacking := lackingFiles(p)
		if _, has := c.scripts[p.FullName()]; !has && len(lacking) > 0 {
			warnings = append(warnings, lackingWarning(p, lacking, "the configuration cannot be planned", "convert the folder"))
		}
	}
	return warnings
}

// lackingFiles returns what the tasks of a plugin name and its files do not have, sorted.
func lackingFiles(p site.Plugin) (out []schema.Lacking) {
	for i, t := range p.Tasks {
		out = append(out, schema.LackingOf(plugin.Ordered{Plugin: p, Index: i, Task: t}.Resource())...)
	}
	for i, t := range p.GraphTasks {
		out = append(out, schema.LackingOf(plugin.NodeTask{Plugin: p, Index: i, Task: t}.Resource())...)
	}
	slices.SortFunc(out, func(a, b schema.Lacking) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Path, b.Path))
	})
	return out
}

// lackingWarning is the warning about what [lackingFiles] returns.
func lackingWarning(p site.Plugin, lacking []schema.Lacking, so, do string) invalid.Error {
	names := make([]string, len(lacking))
	for i, l := range lacking {
		names[i] = fmt.Sprintf("%s %q", l.Kind, l.Path)
	}
	return invalid.Error{Object: "plugin", Name: p.Name, Attribute: "files", Code: invalid.MissingField, Warning: true,
		Message: fmt.Sprintf("have no %s, which tasks need, so %s; put what they need below %s/ of the plugin's folder, and %s",
			strings.Join(slices.Compact(names), ", "), so, engine.ScriptsFolder, do)}
}

// configuration returns the site as Terraform configuration, with a variable for its nodes.
func (c *converted) configuration() (string, error) {
	file := hclwrite.NewEmptyFile()
	body := file.Body()
	requireProvider(body)
	body.AppendNewline()
	nodes := body.AppendNewBlock("variable", []string{"nodes"}).Body()
	nodes.SetAttributeTraversal("type", traversal("any"))
	nodes.SetAttributeValue("description", cty.StringVal("The nodes of the site: resources slipway_node, or objects with their attributes."))

	var groups, overrides, plugins []hclwrite.Tokens
	used := make(map[string]bool)
	for _, g := range c.Groups {
		tokens, err := appendResource(body, "slipway_group", labelOf(g.Name, used), document.PlainOf(g))
		if err != nil {
			return "", fmt.Errorf("group %q: %w", g.Name, err)
		}
		groups = append(groups, tokens)
	}
	clear(used)
	for _, o := range c.Overrides {
		tokens, err := appendResource(body, "slipway_override", labelOf(o.Name, used), document.PlainOf(o))
		if err != nil {
			return "", fmt.Errorf("override %q: %w", o.Name, err)
		}
		overrides = append(overrides, tokens)
	}
	for _, p := range c.Plugins {
		value, err := valueOf(document.PlainPlugin(p))
		if err != nil {
			return "", fmt.Errorf("plugin %q: %w", p.Name, err)
		}
		tokens := tokensOf(value)
		if folder, ok := c.scripts[p.FullName()]; ok {
			tokens = hclwrite.TokensForFunctionCall("merge", tokens, filesOf(folder))
		}
		plugins = append(plugins, tokens)
	}
	body.AppendNewline()
	deployment := body.AppendNewBlock("resource", []string{"slipway_deployment", "site"}).Body()
	deployment.SetAttributeValue("site", cty.StringVal("site"))
	deployment.SetAttributeTraversal("nodes", traversal("var", "nodes"))
	for _, list := range []struct {
		name   string
		tokens []hclwrite.Tokens
		given  bool
	}{{"groups", groups, c.Groups != nil}, {"overrides", overrides, len(overrides) > 0},
		{"plugins", plugins, len(plugins) > 0}} {
		if list.given {
			deployment.SetAttributeRaw(list.name, hclwrite.TokensForTuple(list.tokens))
		}
	}
	return string(hclwrite.Format(file.Bytes())), nil
}

// requireProvider writes that a configuration needs slipway.
func requireProvider(body *hclwrite.Body) {
	provider := body.AppendNewBlock("terraform", nil).Body().AppendNewBlock("required_providers", nil).Body()
	provider.SetAttributeValue("slipway", cty.ObjectVal(map[string]cty.Value{"source": cty.StringVal("slipway/slipway")}))
}

// filesOf returns `{ files = {...} }` with all files below a folder. Terraform resolves relative paths from the folder in
// which it is called; here they start at that of the configuration, which may be a module.
func filesOf(folder string) hclwrite.Tokens {
	path := hclwrite.TokensForValue(cty.StringVal(folder + "/")).Bytes()
	if !filepath.IsAbs(folder) {
		path = slices.Insert(path, 1, []byte("${path.module}/")...)
	}
	path = path[:len(path)-len(`/"`)]
	const each = `x = { files = { for f in fileset(%[1]s", "**") : f => filebase64(%[1]s/${f}") } }`
	file, _ := hclwrite.ParseConfig(fmt.Appendf(nil, each, path), "", hcl.InitialPos)
	return file.Body().GetAttribute("x").Expr().BuildTokens(nil)
}

// tokensOf returns the tokens of a value. After `{` the word for begins an expression, so as a key it is in quotes; no
// other word is read as more than a key there.
func tokensOf(value cty.Value) hclwrite.Tokens {
	tokens := hclwrite.TokensForValue(value)
	for i, t := range tokens {
		if t.Type == hclsyntax.TokenIdent && string(t.Bytes) == "for" {
			tokens = slices.Replace(tokens, i, i+1, hclwrite.TokensForValue(cty.StringVal("for"))...)
		}
	}
	return tokens
}

func traversal(root string, attributes ...string) hcl.Traversal {
	out := hcl.Traversal{hcl.TraverseRoot{Name: root}}
	for _, name := range attributes {
		out = append(out, hcl.TraverseAttr{Name: name})
	}
	return out
}

// appendResource writes a plain value as a resource, and returns the reference to it.
func appendResource(body *hclwrite.Body, typ, label string, plain any) (hclwrite.Tokens, error) {
	value, err := valueOf(plain)
	if err != nil {
		return nil, err
	}
	body.AppendNewline()
	block := body.AppendNewBlock("resource", []string{typ, label}).Body()
	for _, key := range slices.Sorted(maps.Keys(value.AsValueMap())) {
		if member := value.GetAttr(key); !member.RawEquals(cty.EmptyObjectVal) {
			block.SetAttributeRaw(key, tokensOf(member))
		}
	}
	return hclwrite.TokensForTraversal(traversal(typ, label)), nil
}

// valueOf returns a plain value as one of Terraform, without members that are null.
func valueOf(plain any) (cty.Value, error) {
	data, err := json.Marshal(plain)
	if err != nil {
		return cty.NilVal, err
	}
	typ, err := ctyjson.ImpliedType(data)
	if err != nil {
		return cty.NilVal, err
	}
	value, err := ctyjson.Unmarshal(data, typ)
	if err != nil {
		return cty.NilVal, err
	}
	return cty.Transform(value, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.IsNull() || !v.Type().IsObjectType() {
			return v, nil
		}
		members := v.AsValueMap()
		maps.DeleteFunc(members, func(_ string, member cty.Value) bool { return member.IsNull() })
		return cty.ObjectVal(members), nil
	})
}

// labelOf returns a name as the label of a Terraform resource that is not used yet.
func labelOf(name string, used map[string]bool) string {
	label := notInLabels.ReplaceAllString(name, "_")
	for !hclsyntax.ValidIdentifier(label) || used[label] {
		label = "_" + label
	}
	used[label] = true
	return label
}

var notInLabels = regexp.MustCompile(`[^A-Za-z0-9_-]`)
