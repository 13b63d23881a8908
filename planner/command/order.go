package command

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const orderTakes = "order takes documents of plugins (a list of tasks, or the keys tasks and graph_tasks) and " +
	siteKinds

func newOrder() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "order FILE...",
		Short: "Show in which order the tasks of plugins run",
		Long: "Show in which order the tasks of plugins run: by stage and number, then by the name of the plugin, then as in its document; and the tasks\n" +
			"that name those before and after them. The plugins of a site are shown on those of its nodes that are in a group, as a run executes them.\n\n" + siteHelp + "\n\n" +
			"FILE may also be the YAML document of a plugin, a document of a Fuel plugin (tasks.yaml, deployment_tasks.yaml, metadata.yaml ...), or its folder. Beside a\n" +
			"site such plugins count as if they were its own, with the files in deployment_scripts of their folders. A plugin without a name has that of its file, or of its folder when it is one of Fuel. What Fuel does with\n" +
			"its documents and slipway does not is a warning, and so is a task that no document brings. Without a site, tasks are shown\n" +
			"with their roles, or, with --nodes, on the nodes that they run on; a task that has no node is left out, with a warning.\n\n" +
			"Exit status: 0 done, 2 a document is not valid or could not be read.",
		Args: files,
	}
	output := outputFlag(cmd, asMarkdown)
	flags := &siteFlags{}
	flags.add(cmd)
	var inventory []string
	var part graphPart
	cmd.Flags().StringVar(&part.from, "from", "", "show only the graph tasks from this `TASK` onwards")
	cmd.Flags().StringVar(&part.to, "to", "", "show only the graph tasks up to this `TASK`")
	cmd.Flags().StringSliceVar(&inventory, "nodes", nil,
		"`FILE` with the nodes for documents of plugins: a site document, or what terraform show -json prints of a plan; may be given several times")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := stdinOnce(args, inventory...); err != nil {
			return err
		}
		q, err := readOrder(cmd, args, inventory, flags.address)
		if err != nil {
			return err
		}
		o, warnings, err := q.order()
		if err == nil {
			err = o.only(part)
		}
		if err != nil {
			return err
		}
		return o.write(cmd.OutOrStdout(), *output, warnings)
	}
	return cmd
}

// orderInputs is what the command orders.
type orderInputs struct {
	documents []*document.Plugin
	site      *document.Site // nil when no file describes one
	nodes     *document.Site // of --nodes; nil without it
}

func readOrder(cmd *cobra.Command, names, inventory []string, address string) (*orderInputs, error) {
	names, err := inFolders(names)
	if err != nil {
		return nil, inputError(err)
	}
	all, err := inputs(cmd, names, document.OfPlugin, orderTakes)
	if err != nil {
		return nil, err
	}
	ofSite, others := splitInputs(all)
	q := &orderInputs{}
	if q.documents, err = parsePlugins(others, len(ofSite) > 0); err != nil {
		return nil, err
	}
	if len(inventory) == 0 {
		q.site, err = parseInputs(ofSite, address)
		return q, err
	}
	if len(ofSite) > 0 {
		return nil, inputError(fmt.Errorf(
			"--nodes %s: gives documents of plugins their nodes, but %s %s; name all files that describe the site as FILE, without --nodes",
			strings.Join(inventory, ","), ofSite[0].Name, ofSite[0].is))
	}
	if q.nodes, err = parse(cmd, inventory, document.Options{Address: address}); err != nil {
		return nil, err
	}
	if !q.nodes.Inventory {
		return nil, inputError(fmt.Errorf("no document holds nodes; name one with the key \"nodes\" beside %s",
			strings.Join(inventory, ", ")))
	}
	return q, checkAddress(address, q.nodes.Shown)
}

// inFolders replaces folders of plugins by the documents in them.
func inFolders(names []string) (files []string, err error) {
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			files = append(files, name)
			continue
		}
		before := len(files)
		for _, file := range document.PluginFiles() {
			if _, err := os.Stat(filepath.Join(name, file)); err == nil {
				files = append(files, filepath.Join(name, file))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s: is a folder without any document of a plugin, such as %s", name,
				strings.Join(document.TaskFiles, " or "))
		}
	}
	return files, nil
}

// parsePlugins parses the documents of plugins, withFiles with the files that are in the folder of a Fuel plugin. What
// is not valid or cannot be read is an error of status 2.
func parsePlugins(all []input, withFiles bool) ([]*document.Plugin, error) {
	type files struct {
		sources  []document.Source
		fallback string
		folder   string // of a Fuel plugin
	}
	var groups []*files
	byFolder := make(map[string]*files)
	for _, in := range all {
		fallback, folder, err := pluginOf(in.argument)
		if err != nil {
			return nil, inputError(err)
		}
		g, ok := byFolder[folder]
		if !ok || folder == "" {
			g = &files{fallback: fallback, folder: folder}
			groups = append(groups, g)
			byFolder[folder] = g
		}
		g.sources = append(g.sources, in.Source)
	}
	var out []*document.Plugin
	var errs invalid.Errors
	for _, g := range groups {
		d, err := document.ParsePlugin(g.sources, g.fallback)
		if err == nil && withFiles && g.folder != "" && len(d.Plugin.Files) == 0 {
			if d.Plugin.Files, err = engine.PluginFiles(g.folder); err != nil {
				err = fmt.Errorf("%s: %w", g.folder, err)
			}
		}
		var found invalid.Errors
		switch {
		case errors.As(err, &found):
			errs = append(errs, found...)
		case err != nil:
			return nil, inputError(err)
		default:
			out = append(out, d)
		}
	}
	if len(errs) > 0 {
		return nil, inputError(errs)
	}
	return out, nil
}

// pluginOf returns the name that a file gives to its plugin. The files of a Fuel plugin share the folder that they are
// in.
func pluginOf(file string) (name, folder string, err error) {
	switch {
	case file == "-":
		return "stdin", "", nil
	case !slices.Contains(document.PluginFiles(), filepath.Base(file)):
		return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), "", nil
	}
	absolute, err := filepath.Abs(file)
	folder = filepath.Dir(absolute)
	return filepath.Base(folder), folder, err
}

// inPlugins finds the position of an error in the documents of plugins. It is false when the error is not in one of
// them.
func inPlugins(documents []*document.Plugin, p invalid.Error) (invalid.Error, bool) {
	if p.Object != "plugin" {
		return invalid.Error{}, false
	}
	at := slices.IndexFunc(documents, func(d *document.Plugin) bool { return d.Plugin.Name == p.Name })
	if p.Code == invalid.Duplicate { // the second one
		for i, d := range documents {
			if d.Plugin.Name == p.Name {
				at = i
			}
		}
	}
	if at < 0 {
		return invalid.Error{}, false
	}
	return documents[at].Locate(p), true
}

// locate finds the positions of errors.
func (q *orderInputs) locate(found invalid.Errors) invalid.Errors {
	var out invalid.Errors
	for _, p := range found {
		located := invalid.Errors{{Code: p.Code, Attribute: p.Name, Message: p.Message, Warning: p.Warning}}
		if q.site != nil {
			located = locate(q.site, invalid.Errors{p})
		}
		if in, ok := inPlugins(q.documents, p); ok && len(located) > 0 {
			located[0] = in
		}
		out = append(out, located...)
	}
	return out
}

// order orders the tasks and returns warnings. Errors have status 2.
func (q *orderInputs) order() (*ordered, invalid.Errors, error) {
	var plugins []site.Plugin
	if q.site != nil {
		plugins = slices.Clone(q.site.Site.Plugins)
	}
	for _, d := range q.documents {
		plugins = append(plugins, d.Plugin)
	}
	if q.site != nil {
		return q.onSite(plugins)
	}
	o, errs := orderOf(plugins)
	switch {
	case len(errs.Errors()) > 0:
	case q.nodes != nil:
		errs = append(errs, o.assign(q.nodes.Site.Nodes, plugin.Sequence.On)...)
	default:
		for _, s := range o.stages {
			errs = append(errs, s.Unsupported()...)
		}
	}
	warnings, err := onlyWarnings(q.locate(errs))
	return o, append(q.ignored(), warnings...), err
}

// ignored returns the warnings about what slipway does not do of the documents of plugins.
func (q *orderInputs) ignored() (warnings invalid.Errors) {
	for _, d := range q.documents {
		warnings = append(warnings, d.Warnings...)
	}
	return warnings
}

// onSite orders the tasks as a run on the site does, with these plugins.
func (q *orderInputs) onSite(plugins []site.Plugin) (*ordered, invalid.Errors, error) {
	s := *q.site
	s.Site.Plugins = slices.Clone(plugins)
	var without invalid.Errors
	for i := len(plugins) - len(q.documents); i < len(plugins); i++ { // those that are tried out
		if p := &s.Site.Plugins[i]; len(p.Files) == 0 {
			if lacking := lackingFiles(*p); len(lacking) > 0 {
				without = append(without, lackingWarning(*p, lacking, "the site cannot be planned with it", "give the folder"))
				p.Files = placeholders(lacking)
			}
		}
	}
	made, warnings, err := firstRun(&s, q.locate)
	if err != nil {
		return nil, nil, err
	}
	o, errs := orderOf(plugins)
	if _, err := onlyWarnings(q.locate(errs)); err != nil {
		return nil, nil, err
	}
	warnings = slices.Concat(q.ignored(), q.locate(without), warnings)
	o.site, o.plugins = s.Site.Name, len(plugins)
	if made != nil {
		_ = o.assign(ownedNodes(s.Site.Nodes, made), plugin.Sequence.OnNodes) // the plan has these warnings already
	}
	return o, warnings, nil
}

// placeholders returns empty files that stand for what is lacking: the order of tasks does not depend on their content.
func placeholders(lacking []schema.Lacking) map[string]string {
	out := make(map[string]string)
	for _, l := range lacking {
		if name := path.Clean(l.Path); filepath.IsLocal(name) { // others are errors of their own
			out[name] = ""
		}
	}
	for name := range out { // a file below a folder stands for the folder, too
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			delete(out, dir)
		}
	}
	return out
}

// ownedNodes returns the nodes that are in a group: a run touches no others.
func ownedNodes(nodes []site.Node, made *engine.Planned) []site.Node {
	owned := make(map[string]bool, len(nodes))
	for _, g := range made.Plan.Groups {
		for _, name := range g.Owned {
			owned[name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n site.Node) bool { return !owned[n.Name] })
}

// ordered is the result of the command.
type ordered struct {
	site    string // its name; empty when no file describes one
	plugins int    // of the site
	stages  []plugin.Sequence
	graph   *plugin.Graph
	tasks   []site.GraphTask
	placed  bool
	steps   [][]plugin.Member
}

func orderOf(plugins []site.Plugin) (*ordered, invalid.Errors) {
	stages, errs := plugin.Order(plugins)
	if len(errs) > 0 {
		return nil, errs
	}
	graph, errs := plugin.NewGraph(plugins)
	o := &ordered{stages: stages, graph: graph}
	if graph != nil {
		o.tasks = graph.Tasks()
	}
	return o, errs
}

// graphPart selects graph tasks; empty selects everything.
type graphPart struct{ from, to string }

// only keeps the selected graph tasks.
func (o *ordered) only(part graphPart) error {
	if part == (graphPart{}) {
		return nil
	}
	tasks, err := o.graph.Part(part.from, part.to)
	if err != nil {
		return inputError(fmt.Errorf("--from, --to: %w", err))
	}
	o.stages, o.tasks, o.steps = nil, tasks, nil
	return nil
}

// assign assigns the tasks to nodes and returns warnings about those without a node.
func (o *ordered) assign(nodes []site.Node, on func(plugin.Sequence, []site.Node) (plugin.Sequence,
	invalid.Errors)) invalid.Errors {
	var errs invalid.Errors
	o.placed = true
	for i, s := range o.stages {
		placed, warnings := on(s, nodes)
		o.stages[i] = placed
		errs = append(errs, warnings...)
	}
	o.steps = o.graph.Waves(o.graph.Members(nodes))
	return errs
}
