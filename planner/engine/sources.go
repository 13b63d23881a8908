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
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// The content of a file of the controller (source_file) is known to plans and digests by its SHA-256 alone. It is read
// when a run starts, and goes to a node that lacks it in the session that needs it.

// source is a file of the controller and the SHA-256 that it is to have.
type source struct{ path, sum string }

// sourcesOf returns the sources that a resource needs, as far as they are known.
func sourcesOf(r resource.Resource) (out []source) {
	p := r.Parameters
	path, sum := p.String(resource.SourceFile), p.String(schema.SourceSHA256)
	if path != "" && sum != "" && !schema.WantsAbsent(r) {
		out = append(out, source{path, sum})
	}
	return out
}

// sources returns those of all that the plan applies, with the first resource that has each.
func (p *Planned) sources() map[source]resource.ID {
	out := map[source]resource.ID{}
	for _, phase := range p.Plan.Phases {
		for _, t := range phase.Tasks {
			if t.Kind != task.Config || t.Action == task.Remove || t.Action == task.Refresh {
				continue
			}
			for _, s := range sourcesOf(t.Resource) {
				if id := t.Resource.ID(); out[s] == "" || id < out[s] {
					out[s] = id
				}
			}
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

// HandedSources refuses files of the controller where workers execute the run: they do not have them.
func (p *Planned) HandedSources() (m Messages) {
	if len(p.sources()) > 0 {
		m = append(m, &Message{Attribute: "services", Summary: "A file of the controller does not reach the workers",
			Detail: about(p.sources(), func(source) error { return errors.New("is not sent with engine.temporal") }) +
				"\n\nGive the content with content or content_base64, or let the nodes fetch the file."})
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
		return fmt.Errorf("its content has the SHA-256 %s, and source_sha256 is %s", is, s.sum)
	})
	if wrong != "" {
		m = append(m, &Message{Attribute: "services", Summary: "A file of the controller is not what the plan is for",
			Detail: wrong + "\n\nNo node was touched. Restore the content that is meant, or plan again with the SHA-256 of " +
				"the new one."})
	}
	return m
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
		for _, s := range sourcesOf(item.Resource) {
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
