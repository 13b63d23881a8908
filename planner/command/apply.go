package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/callback/controller"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Environment returns the defaults of nodes' connections, as the environment gives them.
type Environment func() (site.Connection, error)

// stateHelp explains the state file in the help of the commands that use it.
const stateHelp = "What is applied is remembered in a state file beside the first FILE, SITE.slipway.json, or in that of --state. It holds no secrets.\n" +
	"Nodes are reached through their connect, over the variables SLIPWAY_USER, SLIPWAY_PRIVATE_KEY_FILE and so on, as with the provider.\n" +
	"With --temporal workers reach them, as with engine of the provider, and a run goes on when this command dies. It needs --journal, a PostgreSQL database, and\n" +
	"the variable SLIPWAY_KEY, those of the workers."

// runFlags are the flags of the commands that work on nodes.
type runFlags struct {
	version     string
	environment Environment
	executor    func() rollout.Executor
	siteFlags

	journal                     journalFlags
	state, takeOver, secrets    string
	parallelism, parallelGroups int
	yes                         bool
	temporal                    temporalFlags
	detach                      bool
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.siteFlags.add(cmd)
	cmd.Flags().StringVar(&f.state, "state", "", "state file; SITE.slipway.json beside the first FILE otherwise")
	f.journal.add(cmd.Flags())
	f.temporal.add(cmd.Flags())
	cmd.Flags().IntVar(&f.parallelism, "parallelism", rollout.DefaultParallelism, "how many nodes are worked on at once")
}

// confirmation adds --yes and --detach.
func (f *runFlags) confirmation(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.detach, "detach", false, "with --temporal: a run goes on when this command is interrupted")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
}

// deployment is a site with what is remembered of it.
type deployment struct {
	*runFlags
	cmd        *cobra.Command
	document   *document.Site
	warned     map[string]bool // the warnings that are printed
	out, notes *printer        // notes are warnings: they go to standard error where out is JSON alone
	site       site.Site
	file       string // the state file
	connection site.Connection
	engine     *engine.Engine
	cache      *engine.Cache
	active     string // a run that was handed over and has not ended
}

// read reads the site that the files describe. Errors are those of status 2, or of status for check.
func (f *runFlags) read(cmd *cobra.Command, args []string) (*deployment, error) {
	if err := stdinOnce(args, f.secrets); err != nil {
		return nil, err
	}
	if (slices.Contains(args, "-") || f.secrets == "-") && !f.yes && cmd.Flags().Lookup("yes") != nil {
		return nil, inputError(errors.New("standard input is read, so nobody can be asked; give --yes"))
	}
	s, warnings, err := withNodes(cmd, args, document.Options{Address: f.address})
	if err != nil {
		return nil, err
	}
	if s.Shown {
		return nil, inputError(errors.New("a plan or state of Terraform is applied by Terraform; give documents"))
	}
	if s.Site.Name == document.Unnamed {
		return nil, inputError(errors.New("no document names the site; write site: NAME into one"))
	}
	d := &deployment{runFlags: f, cmd: cmd, out: &printer{w: cmd.OutOrStdout()}, document: s,
		warned: map[string]bool{}, cache: &engine.Cache{}, site: s.Site, file: f.state}
	d.notes = d.out
	if output := cmd.Flags().Lookup("output"); output != nil && output.Value.String() == string(asJSON) {
		d.notes = &printer{w: cmd.ErrOrStderr()}
	}
	if f.environment != nil {
		if d.connection, err = f.environment(); err != nil {
			return nil, inputError(err)
		}
	}
	if d.file == "" {
		directory := "."
		if args[0] != "-" {
			directory = filepath.Dir(args[0])
		}
		d.file = filepath.Join(directory, s.Site.Name+".slipway.json")
	}
	journals, err := f.journal.location()
	if err != nil {
		return nil, err
	}
	d.engine = &engine.Engine{
		Journals: journals,
		Executor: f.executor,
		Caller:   controller.New(controller.Options{}), Now: time.Now,
	}
	if err := f.handOver(d.engine); err != nil {
		return nil, err
	}
	d.warn(warnings)
	return d, nil
}

// warn prints warnings of the documents, each once.
func (d *deployment) warn(warnings invalid.Errors) {
	for _, w := range warnings {
		if text := w.Error(); !d.warned[text] {
			d.warned[text] = true
			d.notes.printf("%s\n", text)
		}
	}
}

func (d *deployment) settings(c stateContent) engine.Settings {
	return engine.Settings{Connection: d.connection, Cache: d.cache, Owner: c.Lineage, TakeOver: d.takeOver}
}

// prior returns what a plan starts from: nil when no run has ended yet. Nodes of the documents that are where they were
// are reached as the documents say, since the state has no secrets.
func (d *deployment) prior(c stateContent) *engine.Prior {
	if c.Status == "" {
		return nil
	}
	now := make(map[string]site.Node, len(d.site.Nodes))
	for _, n := range d.site.Nodes {
		now[n.Name] = n
	}
	nodes := slices.Clone(c.Nodes)
	for i, n := range nodes {
		if is, here := now[n.Name]; here && is.Place() == n.Place() {
			nodes[i] = is
		}
	}
	return &engine.Prior{State: c.State, Nodes: nodes, Unreachable: c.Unreachable, Active: d.active}
}

// look checks the nodes and puts what it finds into prior.
func (d *deployment) look(ctx context.Context, prior *engine.Prior, c stateContent) (engine.Checked, error) {
	known, _, messages := d.engine.Adopt(ctx, d.site.Name, prior.State)
	if err := d.print(messages); err != nil {
		return engine.Checked{}, err
	}
	s, corrected := d.site, map[string]site.Node{}
	s.Nodes = slices.Clone(s.Nodes)
	for i, n := range s.Nodes {
		was := slices.IndexFunc(prior.Nodes, func(o site.Node) bool { return o.Name == n.Name })
		if was < 0 {
			continue
		}
		if old := prior.Nodes[was]; old.Place() != n.Place() || !reflect.DeepEqual(old.Connection, n.Connection) {
			corrected[n.Name], s.Nodes[i].Address, s.Nodes[i].Connection = n, old.Address, old.Connection
		}
	}
	found := d.engine.Check(ctx, known, s, engine.Inspection{
		Settings: d.settings(c), Parallelism: d.parallelism, Corrected: corrected})
	if err := d.print(found.Messages); err != nil {
		return found, err
	}
	// nodes that left are not looked at
	silent := slices.DeleteFunc(slices.Clone(prior.Unreachable), func(name string) bool {
		return slices.ContainsFunc(s.Nodes, func(n site.Node) bool { return n.Name == name })
	})
	prior.State, prior.Drift = found.State, engine.DriftOf(found.Drift)
	prior.Unreachable = slices.Sorted(slices.Values(append(silent, found.Unreachable...)))
	return found, nil
}

// print prints warnings; errors become one.
func (d *deployment) print(messages engine.Messages) error {
	var failed []string
	for _, m := range messages {
		if engine.IsWarning(m) {
			d.notes.printf("warning: %s\n", m)
			continue
		}
		failed = append(failed, m.Error())
	}
	if len(failed) > 0 {
		return &statusError{statusFailed, errors.New(strings.Join(failed, "\n"))}
	}
	return nil
}

// confirmed asks a person, unless --yes is given.
func (d *deployment) confirmed(question string) error {
	if d.yes {
		return nil
	}
	d.out.printf("\n%s Only yes is taken: ", question)
	if d.out.err != nil {
		return d.out.err
	}
	answer, err := bufio.NewReader(io.LimitReader(d.cmd.InOrStdin(), 100)).ReadString('\n')
	if strings.TrimSpace(answer) == "yes" && (err == nil || errors.Is(err, io.EOF)) {
		return nil
	}
	return &statusError{statusFailed, errors.New("not confirmed; nothing was touched")}
}

func newApply(f *runFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply FILE...",
		Short: "Bring the nodes of a site to what documents describe",
		Long: "Show the steps of a run that brings the nodes of a site to what the files describe, ask, and run them. What differs on the nodes from what was applied is\n" +
			"repaired. A site that Terraform manages, or that another state file has, is refused.\n\n" + siteHelp + "\n\n" +
			stateHelp + "\n\n" +
			"Exit status: 0 applied, or nothing to do; 1 the run failed or was not confirmed; 2 the files are not valid.",
		Args: files,
	}
	f.add(cmd)
	f.confirmation(cmd)
	limits := planner.Protection{Flag: true}
	cmd.Flags().IntVar(&f.parallelGroups, "parallel-groups", 1, "how many groups are worked on at once")
	cmd.Flags().StringVar(&f.takeOver, "take-over", "",
		"take a site over from this owner: the lineage of a state file that is lost, or terraform")
	cmd.Flags().StringVar(&f.secrets, strings.TrimPrefix(secretsFlag, "--"), "",
		"YAML file with the contents of the secrets that the documents name; - is standard input")
	cmd.Flags().StringVar(&limits.TornDown, "max-torn-down-nodes", "",
		"how many nodes may be torn down, as a number or a share such as 10%; 1 or 10% otherwise")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if limits.TornDown != "" && !planner.NumberOrShare.MatchString(limits.TornDown) {
			return inputError(fmt.Errorf("--max-torn-down-nodes %s: must be a number of nodes, or a share such as 10%%",
				limits.TornDown))
		}
		d, err := f.read(cmd, args)
		if err != nil {
			return err
		}
		secrets, err := readSecrets(cmd, f.secrets, d.document)
		if err != nil {
			return err
		}
		state, err := openState(d.file, d.site.Name, "apply")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, state.close()) }()
		return d.apply(cmd.Context(), state, limits, secrets)
	}
	return cmd
}

func (d *deployment) apply(ctx context.Context, state *stateFile, limits planner.Protection,
	secrets engine.Secrets) error {
	if !state.exists && d.takeOver != "" && d.takeOver != converge.Terraform {
		state.Lineage = d.takeOver // the state file of this lineage is lost
	}
	if err := d.takeOverRun(ctx, state); err != nil {
		return err
	}
	prior := d.prior(state.stateContent)
	if prior != nil && d.active == "" {
		if _, err := d.look(ctx, prior, state.stateContent); err != nil {
			return err
		}
	}
	settings := d.settings(state.stateContent)
	settings.Secrets = secrets
	planned, errs := engine.Plan(prior, d.site, settings)
	if planned != nil {
		errs = append(errs, planned.Plan.RefusedSecrets(secrets.Content)...)
	}
	warnings, err := onlyWarnings(locate(d.document, errs))
	if err != nil {
		return err
	}
	d.warn(append(warnings, d.document.Warnings...))
	if m := append(planned.Frozen(planned.Lines()), d.engine.Handed(planned, d.connection)...); m.Failed() {
		return inputError(m[0])
	}
	losses := planned.Losses()
	if failures := limits.Check(losses).Errors(); len(failures) > 0 {
		return inputError(fmt.Errorf("%w (--max-torn-down-nodes is protect.max_torn_down_nodes here)", failures))
	}
	ended := slices.Contains([]engine.Status{engine.Deployed, engine.Limited, engine.Paused, engine.Degraded},
		state.Status)
	if planned.Empty() && ended && state.exists && d.active == "" {
		d.out.printf("site %s: nothing to do\n", d.site.Name)
		return d.out.err
	}
	d.out.printf("site %s\n\n", d.site.Name)
	for _, step := range planned.Steps() {
		d.out.printf("%s\n", step)
	}
	if !losses.Empty() {
		d.out.printf("\nwarning: the plan %s\n%s\n", losses, strings.Join(losses.ByNode(), "\n"))
	}
	if prior == nil {
		d.out.printf("\nNo run of this state has ended yet: what the ledgers of the nodes have is found out before the run, " +
			"and checked.\n")
	}
	if err := d.confirmed("Apply these steps?"); err != nil {
		return err
	}
	isNew := !state.exists
	// The ledgers name the lineage: it is on disk before they do.
	if err := state.save(d.version); err != nil {
		return err
	}
	model, err := d.model(state.stateContent)
	if err != nil {
		return err
	}
	out := d.engine.Apply(ctx, prior, d.site, engine.Run{Settings: settings, Protection: limits,
		Digest: planned.Plan.Digest, Parallelism: d.parallelism, ParallelGroups: d.parallelGroups, Model: model})
	if out.Status == "" && isNew && out.Active == "" { // nothing was touched, as on a site of another state
		if err := state.remove(); err != nil {
			return err
		}
	}
	if out.Status != "" {
		d.take(&state.stateContent, d.site.Nodes, prior, out)
		if err := state.save(d.version); err != nil {
			return errors.Join(d.print(out.Messages), err)
		}
		d.out.printf("\n")
		for _, step := range out.Done {
			d.out.printf("done: %s\n", step)
		}
		d.out.printf("site %s: %s\n", d.site.Name, out.Status)
	}
	if err := d.print(out.Messages); err != nil {
		return err
	}
	return d.out.err
}

// take brings what a run of nodes left behind into the content of a state file. Nodes that are still to be torn down
// stay in it.
func (d *deployment) take(state *stateContent, nodes []site.Node, prior *engine.Prior, out engine.Outcome) {
	state.Status, state.State, state.Unreachable = out.Status, out.State, out.Unreachable
	state.Nodes = slices.Clone(nodes)
	if d.engine.Handing != nil {
		state.Run = out.Run
	}
	for name, was := range out.Kept {
		for _, n := range prior.Nodes {
			if n.Name == was {
				n.Name = name
				state.Nodes = append(state.Nodes, n)
			}
		}
	}
	slices.SortFunc(state.Nodes, func(a, b site.Node) int { return strings.Compare(a.Name, b.Name) })
}

// takeOverRun brings the last run that was handed over into the state file.
func (d *deployment) takeOverRun(ctx context.Context, state *stateFile) error {
	active, changed, err := d.adopt(ctx, &state.stateContent)
	if d.active = active; err != nil || !changed {
		return err
	}
	if state.Status == engine.Destroyed {
		err := state.remove()
		state.read, state.stateContent = stateContent{}, newContent(state.Lineage, state.Site)
		return err
	}
	return state.save(d.version)
}
