package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// The content of a file of the controller (source_file) is known to plans and digests by its SHA-256 alone. It is read
// when a run starts, and goes to a node that lacks it in the session that needs it. Where workers execute the run, they
// find it in the journal.

// source is a file of the controller and the SHA-256 that it is to have.
type source struct{ path, sum string }

// sourceOf returns the source that a resource needs, if it needs one and that is known.
func sourceOf(r resource.Resource) (s source, needed bool) {
	s = source{r.Parameters.String(resource.SourceFile), r.Parameters.String(schema.SourceSHA256)}
	return s, s.path != "" && s.sum != "" && !schema.WantsAbsent(r)
}

// sourceTasks returns the tasks that the plan applies with a source.
func (p *Planned) sourceTasks() (tasks []task.Task) {
	if p.Plan == nil {
		return nil
	}
	for _, phase := range p.Plan.Phases {
		for _, t := range phase.Tasks {
			if _, needed := sourceOf(t.Resource); needed && t.Action != task.Remove && t.Action != task.Refresh {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// formerSourceTasks returns the tasks with a source that services that change had before, as a rollback needs them.
func (p *Planned) formerSourceTasks(inventory services.Inventory) (tasks []task.Task) {
	changing := p.Services.Changing()
	before, errs := services.Unchanged(inventory, p.Site)
	if len(changing) == 0 || len(errs.Errors()) > 0 {
		return nil
	}
	rest := before.Site()
	rest.Values = p.Site.Values
	desired, _ := p.cache.desired(rest) // nil for what cannot be planned any more, which no rollback deploys
	for _, all := range desired {
		for _, t := range all {
			changes := slices.ContainsFunc(t.Owners(), func(service string) bool { return changing[service] })
			if _, needed := sourceOf(t.Resource); needed && changes {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// sources returns those of all that the plan applies, with the first resource that has each.
func (p *Planned) sources() map[source]resource.ID {
	out := map[source]resource.ID{}
	for _, t := range p.sourceTasks() {
		s, _ := sourceOf(t.Resource)
		if id := t.Resource.ID(); out[s] == "" || id < out[s] {
			out[s] = id
		}
	}
	return out
}

// about returns a line for each source of which wrong finds something, sorted.
func about(sources map[source]resource.ID, wrong func(source) error) string {
	var lines []string
	for s, id := range sources {
		if err := wrong(s); err != nil {
			lines = append(lines, fmt.Sprintf("%s: source_file %q: %v", id, s.path, err))
		}
	}
	slices.Sort(lines)
	return strings.Join(FirstLines(lines), "\n")
}

// Sources reports what is wrong with the files of the controller whose content the run sends to nodes, as far as it
// shows before the run. A file that is missing is a warning, because another Terraform resource may write it in the
// apply, before the deployment.
func (p *Planned) Sources() (m Messages) {
	sources := p.sources()
	if large := about(sources, tooLarge); large != "" {
		m = append(m, &Message{Attribute: "services", Summary: "A file of the controller is too large", Detail: large +
			"\n\nPut it where the nodes fetch it themselves, such as a package."})
	}
	missing := about(sources, func(s source) error {
		_, err := os.Stat(s.path)
		return withoutPath(err)
	})
	if missing != "" {
		m = append(m, &Message{Warning: true, Attribute: "services", Summary: "A file of the controller cannot be read",
			Detail: missing + "\n\nCorrect the path, or write the file. Nothing needs to be done where another resource of " +
				"this configuration writes it before the deployment."})
	}
	return m
}

// verifySources refuses a run of which a file of the controller is not what the plan is for.
func (p *Planned) verifySources() (m Messages) {
	wrong := about(p.sources(), func(s source) error {
		if err := tooLarge(s); err != nil {
			return err
		}
		is, err := sumOf(s.path)
		if err != nil || is == s.sum {
			return err
		}
		return s.differs(is)
	})
	if wrong != "" {
		m = append(m, &Message{Attribute: "services", Summary: "A file of the controller is not what the plan is for",
			Detail: wrong + "\n\nNo node was touched. Restore the content that is meant, or plan again with the SHA-256 of " +
				"the new one."})
	}
	return m
}

// sourcesLeft is the name of what says in the journal that it has all sources of a run.
const sourcesLeft = "files"

// leaveSources leaves the sources of a run in the journal, for the workers of the zones of the nodes that get them,
// unless that was done before; so it does those for a rollback that are still there.
func (p *Planned) leaveSources(ctx context.Context, store *journal.Store, run string, prior *Prior) error {
	tasks := p.sourceTasks()
	if p.Plan != nil && prior != nil {
		there := map[source]bool{}
		for _, t := range p.formerSourceTasks(prior.State.Services) {
			s, _ := sourceOf(t.Resource)
			if _, known := there[s]; !known {
				sum, err := sumOf(s.path)
				there[s] = err == nil && sum == s.sum
			}
			if there[s] {
				tasks = append(tasks, t)
			}
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	if left, err := store.Named(ctx, run, encryption.Control, sourcesLeft); err != nil || len(left) > 0 {
		return err
	}
	zones := map[string]string{}
	for _, n := range p.Site.Nodes {
		zones[n.Name] = n.Zone
	}
	type content struct{ zone, sum string }
	done := map[content]bool{}
	for _, t := range tasks {
		s, _ := sourceOf(t.Resource)
		if c := (content{zones[t.Node], s.sum}); !done[c] {
			done[c] = true
			if err := s.leave(ctx, store, run, c.zone); err != nil {
				return fmt.Errorf("%s: source_file %q: %w", t.Resource.ID(), s.path, err)
			}
		}
	}
	_, err := store.Name(ctx, run, journal.Named{Name: sourcesLeft, Blob: journal.Blob{Zone: encryption.Control}})
	return err
}

// leave leaves a source in the journal for a zone.
func (s source) leave(ctx context.Context, store *journal.Store, run, zone string) error {
	f, err := openSource(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	err = store.PutFile(ctx, run, zone, s.sum, io.TeeReader(io.LimitReader(f, schema.MostSource+1), h))
	if is := hex.EncodeToString(h.Sum(nil)); err == nil && is != s.sum {
		err = s.differs(is)
	}
	return withoutPath(err)
}

// differs is the error of a source whose content has another SHA-256.
func (s source) differs(is string) error {
	return fmt.Errorf("its content has the SHA-256 %s, and source_sha256 is %s", is, s.sum)
}

// tooLarge refuses a file that is larger than a controller sends.
func tooLarge(s source) error {
	if info, err := os.Stat(s.path); err == nil && info.Size() > schema.MostSource {
		return fmt.Errorf("has %d bytes, and may have at most %d (100 MiB)", info.Size(), schema.MostSource)
	}
	return nil
}

// sumOf returns the SHA-256 of a file, in hexadecimal.
func sumOf(path string) (string, error) {
	f, err := openSource(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", withoutPath(err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// openSource opens a regular file: reading anything else may wait for ever.
func openSource(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	if err != nil {
		return nil, withoutPath(err)
	}
	f, err := os.Open(path)
	return f, withoutPath(err)
}

// withoutPath returns an error of package os without the path, which the message has already.
func withoutPath(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// supplying is an executor that gives manifests the contents of the files of the controller that their items need.
type supplying struct{ rollout.Executor }

// Converge implements [rollout.Executor].
func (e supplying) Converge(ctx context.Context, node site.Node, m converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	paths := map[string][]string{}
	for _, item := range m.Items {
		if s, needed := sourceOf(item.Resource); needed {
			paths[s.sum] = append(paths[s.sum], s.path)
		}
	}
	if m.Mode == converge.Apply && len(paths) > 0 {
		m.Contents = contentsOf(paths)
	}
	return e.Executor.Converge(ctx, node, m, each)
}

// contentsOf returns the contents of files by their SHA-256. What is read, who gets it checks.
func contentsOf(paths map[string][]string) types.Contents {
	paths = maps.Clone(paths)
	return func(ctx context.Context, sums []string, use func(sum string, content io.Reader) error) error {
		for _, sum := range sums {
			if err := oneContent(paths[sum], func(content io.Reader) error { return use(sum, content) }); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	}
}

// oneContent opens the first of the files that can be opened.
func oneContent(paths []string, use func(io.Reader) error) error {
	err := errors.New("no file of the controller has this content")
	for _, path := range paths {
		var f *os.File
		if f, err = openSource(path); err == nil {
			defer f.Close()
			return use(f)
		}
		err = fmt.Errorf("source_file %q: %w", path, err)
	}
	return err
}
