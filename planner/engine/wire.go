package engine

import (
	"encoding/json"
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// WireVersion is that of requests and outcomes. Another process of the same version reads them.
const WireVersion = 2

// request is all that another process needs to execute a run. It has secrets, but no credentials of nodes.
type request struct {
	Version        int
	Site           wireSite
	Prior          *Prior
	CheckAll       bool
	Connection     site.Connection
	Secrets        Secrets
	Owner          string
	TakeOver       string
	Parallelism    int
	ParallelGroups int
	Protection     planner.Protection
	Digest         string
	Replaced       []site.Node
	Model          []byte // of who asked for the run
}

// wireSite is a site in a request. Services of one entity share its definition.
type wireSite struct {
	site.Site
	Services []wireService
	Entities map[string]string // digest -> definition
}

type wireService struct {
	site.Service
	Entity string // digest
}

func toWire(s site.Site) (wireSite, error) {
	out := wireSite{Site: s, Entities: map[string]string{}}
	out.Site.Services = nil
	digests := map[*catalog.Entity]string{}
	for _, service := range s.Services {
		w := wireService{Service: service}
		w.Service.Entity = nil
		if e := service.Entity; e != nil {
			if digests[e] == "" {
				definition, err := e.Definition()
				if err != nil {
					return out, err
				}
				digests[e] = resource.SHA256(definition)
				out.Entities[digests[e]] = definition
			}
			w.Entity = digests[e]
		}
		out.Services = append(out.Services, w)
	}
	return out, nil
}

func (w wireSite) site() (site.Site, error) {
	out := w.Site
	entities := map[string]*catalog.Entity{}
	for digest, definition := range w.Entities {
		e, errs := catalog.ParseDefinition(definition)
		if len(errs) > 0 {
			return out, fmt.Errorf("the definition of an entity: %w", errs[0])
		}
		entities[digest] = e
	}
	for _, service := range w.Services {
		s := service.Service
		if service.Entity != "" {
			if s.Entity = entities[service.Entity]; s.Entity == nil {
				return out, fmt.Errorf("service %q: the definition of its entity is missing", s.Name)
			}
		}
		out.Services = append(out.Services, s)
	}
	return out, nil
}

func requestOf(prior *Prior, s site.Site, how Run) (request, error) {
	s.Nodes = WithoutCredentials(s.Nodes)
	w, err := toWire(s)
	r := request{Version: WireVersion, Site: w, CheckAll: how.CheckAll, Connection: how.Connection, Secrets: how.Secrets,
		Owner: how.Owner, TakeOver: how.TakeOver, Parallelism: how.Parallelism, ParallelGroups: how.ParallelGroups,
		Protection: how.Protection, Digest: how.Digest, Replaced: WithoutCredentials(how.Replaced), Model: how.Model}
	if prior != nil {
		bare := *prior
		bare.Nodes, bare.State.Departed = WithoutCredentials(prior.Nodes), nil
		bare.State.Given = bare.State.WithoutSecrets().Given
		r.Prior = &bare
	}
	return r, err
}

// desired is the digest of what the request asks for, whatever is applied: of a tear-down, whose site and which nodes.
func (r request) desired(operation string) (string, error) {
	if operation == Delete {
		return resource.DigestJSON([]any{operation, r.Site.Name, r.Owner, r.Prior.State.WithGiven(r.Prior.Nodes)})
	}
	all := []any{r.Site, r.Secrets.Version, r.Parallelism, r.ParallelGroups, r.Protection}
	if r.Owner != "" { // the outcome is that of one state
		all = append(all, r.Owner)
	}
	return resource.DigestJSON(all)
}

// run returns what the request asks for.
func (r request) run() (s site.Site, how Run, err error) {
	if r.Version != WireVersion {
		return s, how, fmt.Errorf("has version %d, and this worker executes version %d: use a worker of the same version "+
			"of slipway as who asked for the run", r.Version, WireVersion)
	}
	s, err = r.Site.site()
	how = Run{Settings: Settings{CheckAll: r.CheckAll, Connection: r.Connection, Secrets: r.Secrets, Owner: r.Owner,
		TakeOver: r.TakeOver, Cache: &Cache{}}, Parallelism: r.Parallelism, ParallelGroups: r.ParallelGroups,
		Protection: r.Protection, Digest: r.Digest, Replaced: r.Replaced}
	return s, how, err
}

// wireOutcome is an Outcome as the journal keeps it.
type wireOutcome struct {
	Version       int
	Status        Status
	State         State
	Kept          map[string]string
	Groups, Nodes map[string]string
	Unreachable   []string
	Done          []string
	Report        string
	Lost          []string
	Messages      []wireMessage
}

// wireMessage is one of Messages: one field is set.
type wireMessage struct {
	Message *Message
	Invalid *invalid.Error
	Text    string
}

func encodeOutcome(out Outcome) ([]byte, error) {
	w := wireOutcome{WireVersion, out.Status, out.State, out.Kept, out.Groups, out.Nodes, out.Unreachable, out.Done,
		out.Report, out.Lost, nil}
	for _, m := range out.Messages {
		switch m := m.(type) {
		case *Message:
			w.Messages = append(w.Messages, wireMessage{Message: m})
		case invalid.Error:
			w.Messages = append(w.Messages, wireMessage{Invalid: &m})
		default:
			w.Messages = append(w.Messages, wireMessage{Text: m.Error()})
		}
	}
	return json.Marshal(w)
}

// decodeWire reads a request or an outcome and returns its version. One of another version, which may have other
// fields, is not read.
func decodeWire(text []byte, into any) (version int, err error) {
	var of struct{ Version int }
	if err = json.Unmarshal(text, &of); err == nil && of.Version == WireVersion {
		err = resource.Decode(text, into)
	}
	return of.Version, err
}

// decodeOutcome returns an outcome without its services, see [Outcome.Of].
func decodeOutcome(text []byte) (Outcome, error) {
	var w wireOutcome
	version, err := decodeWire(text, &w)
	if err == nil && version != WireVersion {
		err = fmt.Errorf("it has version %d, and this slipway reads version %d", version, WireVersion)
	}
	out := Outcome{Status: w.Status, State: w.State, Kept: w.Kept, Groups: w.Groups, Nodes: w.Nodes,
		Unreachable: w.Unreachable, Done: w.Done, Report: w.Report, Lost: w.Lost}
	for _, m := range w.Messages {
		switch {
		case m.Message != nil:
			out.Messages = append(out.Messages, m.Message)
		case m.Invalid != nil:
			out.Messages = append(out.Messages, *m.Invalid)
		default:
			out.fail("The run reports an error", "%s", m.Text)
		}
	}
	return out, err
}

// Of completes an outcome that the journal kept: s is the site that the run was for.
func (o Outcome) Of(s site.Site) Outcome {
	o.Services, _ = services.Unchanged(o.State.Services, s) // the next plan reports what cannot be read
	return o
}
