package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/enroll"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// What enroll writes.
const (
	asObjects   format = "objects"   // a deployment with its nodes as plain objects
	asResources format = "resources" // a deployment with a slipway_node for each, and import blocks
	asDocument  format = "document"  // a site document
)

func newEnroll() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "enroll FILE...",
		Short: "Write an Ansible inventory, an OpenSSH configuration or Airship nodes as nodes of slipway",
		Long: "Write the machines of an Ansible inventory, an OpenSSH configuration or Airship documents as nodes of a site: as Terraform configuration or as a site document.\n\n" +
			"FILE is an inventory in INI or YAML, or JSON as inventory scripts and `ansible-inventory --list` print it; a configuration of OpenSSH, such as ~/.ssh/config;\n" +
			"or a stream of Airship documents with BaremetalNode. - is standard input. Files of group_vars and host_vars beside an Ansible inventory are read, too. What is not taken\n" +
			"is a warning on standard error, and so is each secret: none is written.\n\n" +
			"Exit status: 0 done, 2 a file is not valid or could not be read.",
		Args: files,
	}
	var o enroll.Options
	var name string
	output := asObjects
	(&formatFlag{value: &output, allowed: []format{asObjects, asResources, asDocument}}).add(cmd, "output", "o",
		": nodes as objects, as slipway_node with import blocks, or a site document")
	cmd.Flags().StringVar(&name, "site", "site", "name of the site")
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "take these nodes only: names, or patterns with * and ?")
	cmd.Flags().StringVar(&o.Network, "network", "", "Airship: the network whose address a node is reached at; that of primary_network otherwise")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if m := site.CheckFileName(name); m != "" {
			return inputError(fmt.Errorf("--site: %s", m))
		}
		all, err := sources(cmd, args)
		if err != nil {
			return err
		}
		given := make([]enroll.Source, len(all))
		var inventories []string
		for i, s := range all {
			if given[i] = enroll.Source(s); enroll.IsInventory(given[i]) {
				inventories = append(inventories, args[i])
			}
		}
		beside, err := variablesBeside(cmd, inventories)
		if err != nil {
			return err
		}
		result, err := enroll.Read(given, beside, o)
		if err != nil {
			return inputError(err)
		}
		text, err := written(name, result.Nodes, output)
		if err != nil {
			return inputError(err)
		}
		return printedAlone(cmd, text, result.Warnings)
	}
	return cmd
}

// variablesBeside reads the files of group_vars and host_vars beside inventories, as Ansible finds them.
func variablesBeside(cmd *cobra.Command, inventories []string) ([]enroll.Variables, error) {
	var out []enroll.Variables
	var folders []string
	for _, name := range inventories {
		if folder := filepath.Dir(name); name != "-" && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	for _, folder := range folders {
		for _, kind := range []string{"group_vars", "host_vars"} {
			top := filepath.Join(folder, kind)
			err := filepath.WalkDir(top, func(file string, entry fs.DirEntry, err error) error {
				ext := filepath.Ext(file)
				hidden := strings.HasPrefix(filepath.Base(file), ".") && file != top
				switch {
				case errors.Is(err, fs.ErrNotExist) && file == top:
					return nil
				case err != nil:
					return err
				case hidden && entry.IsDir():
					return filepath.SkipDir
				case entry.IsDir() || hidden || !slices.Contains([]string{"", ".yml", ".yaml", ".json"}, ext):
					return nil
				}
				source, err := source(cmd, file)
				if err != nil {
					return err
				}
				below, err := filepath.Rel(top, file)
				if err != nil {
					return err
				}
				of, _, inFolder := strings.Cut(filepath.ToSlash(below), "/")
				if !inFolder {
					of = strings.TrimSuffix(of, ext)
				}
				out = append(out, enroll.Variables{Source: enroll.Source(source), Of: of, Group: kind == "group_vars"})
				return nil
			})
			if err != nil {
				return nil, inputError(err)
			}
		}
	}
	return out, nil
}

// written returns nodes in a form.
func written(name string, nodes []site.Node, f format) (string, error) {
	if f == asDocument {
		return siteDocument(name, nodes)
	}
	file := hclwrite.NewEmptyFile()
	body := file.Body()
	requireProvider(body)
	var members []hclwrite.Tokens
	list := hclwrite.TokensForTraversal(traversal("local", "nodes"))
	if f == asResources {
		used := make(map[string]bool)
		for _, n := range nodes {
			label := labelOf(n.Name, used)
			body.AppendNewline()
			block := body.AppendNewBlock("import", nil).Body()
			block.SetAttributeTraversal("to", traversal("slipway_node", label))
			block.SetAttributeValue("id", cty.StringVal(n.Name))
			tokens, err := appendResource(body, "slipway_node", label, plainNode(n))
			if err != nil {
				return "", fmt.Errorf("node %q: %w", n.Name, err)
			}
			members = append(members, tokens)
		}
		list = hclwrite.TokensForTuple(members)
	} else {
		objects := make(map[string]any, len(nodes))
		for _, n := range nodes {
			objects[n.Name] = plainNode(n)
		}
		value, err := valueOf(objects)
		if err != nil {
			return "", err
		}
		body.AppendNewline()
		body.AppendNewBlock("locals", nil).Body().SetAttributeRaw("nodes", tokensOf(value))
	}
	body.AppendNewline()
	deployment := body.AppendNewBlock("resource", []string{"slipway_deployment", "site"}).Body()
	deployment.SetAttributeValue("site", cty.StringVal(name))
	deployment.SetAttributeRaw("nodes", list)
	return string(hclwrite.Format(file.Bytes())), nil
}

// plainNode returns what a node has, without what is not set.
func plainNode(n site.Node) map[string]any {
	plain, _ := set(document.PlainOf(n)).(map[string]any)
	return plain
}

// set returns a plain value without members that are nil, 0 or an empty object; nil when nothing is left of an object.
func set(v any) any {
	switch v := v.(type) {
	case int:
		if v == 0 {
			return nil
		}
	case map[string]string:
		if len(v) == 0 {
			return nil
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = set(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			if member = set(member); member != nil {
				out[key] = member
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}

// nodeKeys is the order in which a document has what a node has; other keys come last, by name.
var nodeKeys = []string{"name", "address", "rack", "tags", "labels", "roles", "zone", "connect"}

// siteDocument returns a site document with nodes.
func siteDocument(name string, nodes []site.Node) (string, error) {
	objects := make([]any, len(nodes))
	for i, n := range nodes {
		objects[i] = plainNode(n)
	}
	root, list := new(yaml.Node), new(yaml.Node)
	if err := errors.Join(root.Encode(map[string]string{"site": name}), list.Encode(objects)); err != nil {
		return "", err
	}
	for _, n := range list.Content {
		orderKeys(n, nodeKeys)
		for _, member := range n.Content {
			if member.Kind != yaml.ScalarNode {
				member.Style = yaml.FlowStyle
			}
		}
	}
	root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "nodes"}, list)
	text, err := document.Encode(root)
	return string(text), err
}

// orderKeys sorts the keys of a mapping.
func orderKeys(n *yaml.Node, order []string) {
	type member struct{ key, value *yaml.Node }
	var members []member
	for i := 0; i+1 < len(n.Content); i += 2 {
		members = append(members, member{n.Content[i], n.Content[i+1]})
	}
	rank := func(m member) int {
		if i := slices.Index(order, m.key.Value); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(rank(a), rank(b)) })
	n.Content = n.Content[:0]
	for _, m := range members {
		n.Content = append(n.Content, m.key, m.value)
	}
}
