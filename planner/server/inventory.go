package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// siteService is a service with the site that it belongs to.
type siteService struct {
	Site string `json:"site"`
	services.Revision
}

func (s *server) services(ctx context.Context, q query) (any, error) {
	out, err := s.allServices(ctx, q)
	return map[string]any{"services": out}, err
}

func (s *server) allServices(ctx context.Context, q query) ([]siteService, error) {
	out := []siteService{}
	err := s.open(ctx, q.text["site"], func(site string, store *journal.Store) (bool, error) {
		known, err := store.Services(ctx, q.number["deleted"] == 0)
		for _, v := range known {
			if (q.text["entity"] == "" || v.Entity == q.text["entity"]) && (q.text["state"] == "" || v.State == q.text["state"]) {
				out = append(out, siteService{site, v})
			}
		}
		return false, err
	})
	return out, err
}

// withService visits the service of a name in each site that has one, until visit returns true.
func (s *server) withService(ctx context.Context, q query,
	visit func(string, *journal.Store, services.Revision) error) error {
	found := false
	err := s.open(ctx, q.text["site"], func(site string, store *journal.Store) (bool, error) {
		v, err := store.Service(ctx, q.text["name"])
		if errors.Is(err, journal.ErrNoService) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if found {
			return false, &statusError{http.StatusConflict,
				fmt.Sprintf("more than one site has a service %q; give site", q.text["name"])}
		}
		found = true
		return false, visit(site, store, v)
	})
	if err == nil && !found {
		err = notFound("there is no service %q", q.text["name"])
	}
	return err
}

func (s *server) service(ctx context.Context, q query) (answer any, err error) {
	err = s.withService(ctx, q, func(site string, _ *journal.Store, v services.Revision) error {
		answer = siteService{site, v}
		return nil
	})
	return answer, err
}

func (s *server) serviceLog(ctx context.Context, q query) (answer any, err error) {
	err = s.withService(ctx, q, func(_ string, store *journal.Store, v services.Revision) error {
		log, err := store.ServiceLog(ctx, v.Service, journal.Point{}, int(q.number["limit"]))
		answer = map[string]any{"versions": log}
		return err
	})
	return answer, err
}

// instance is a service in the shape of a service inventory (lsm.md 1): the field names are those of its clients.
type instance struct {
	ID              string          `json:"id"`
	Environment     string          `json:"environment"` // the site
	Entity          string          `json:"service_entity"`
	EntityVersion   int             `json:"service_entity_version"`
	Version         int             `json:"version"`
	DesiredVersion  int             `json:"desired_state_version"`
	State           string          `json:"state"`
	Candidate       map[string]any  `json:"candidate_attributes"`
	Active          map[string]any  `json:"active_attributes"`
	Rollback        map[string]any  `json:"rollback_attributes"`
	Config          map[string]bool `json:"config"`
	Deleted         bool            `json:"deleted"`
	Identity        *string         `json:"service_identity_attribute_value"`
	TransferContext string          `json:"transfer_context"`
	Updated         time.Time       `json:"last_updated"`
	Metadata        map[string]any  `json:"metadata"`
}

func instanceOf(site string, v services.Revision) instance {
	out := instance{ID: v.ID, Environment: site, Entity: v.Entity, EntityVersion: v.EntityVersion, Version: v.Version,
		DesiredVersion: v.DesiredVersion, State: v.State, Candidate: v.Candidate, Active: v.Active, Rollback: v.Rollback,
		Config: v.Config, Deleted: v.Deleted, TransferContext: v.TransferContext, Updated: v.Time,
		Metadata: map[string]any{"service": v.Service, "run": v.Run, "label": v.Label}}
	if v.Identity != "" {
		out.Identity = &v.Identity
	}
	if out.Config == nil {
		out.Config = map[string]bool{}
	}
	return out
}

// inventoryEvent is an event of a service in the shape of a service inventory (lsm.md 17).
type inventoryEvent struct {
	ID             int64     `json:"id"`
	InstanceID     string    `json:"service_instance_id"`
	Version        int       `json:"service_instance_version"`
	DesiredVersion int       `json:"service_desired_state_version"`
	Time           time.Time `json:"timestamp"`
	Type           string    `json:"event_type"`
	Source         string    `json:"source"`
	Destination    string    `json:"destination"`
	Message        string    `json:"message"`
	Ignored        bool      `json:"ignored_transition"`
	IsError        bool      `json:"is_error_transition"`
	Severity       int       `json:"severity"`
	Correlation    string    `json:"event_correlation_id"`
}

// instances returns the instances of an entity on all sites. The answer of an inventory is below `data`.
func (s *server) instances(ctx context.Context, q query) (any, error) {
	out, known := []instance{}, false
	err := s.open(ctx, "", func(site string, store *journal.Store) (bool, error) {
		all, err := store.Services(ctx, false)
		for _, v := range all {
			if v.Entity != q.text["entity"] {
				continue
			}
			known = true
			if !v.Deleted || q.number["include_deleted"] == 1 {
				out = append(out, instanceOf(site, v))
			}
		}
		return false, err
	})
	if err == nil && !known {
		err = notFound("there is no service of an entity %q", q.text["entity"])
	}
	return map[string]any{"data": out}, err
}

// withInstance visits the instance with an id.
func (s *server) withInstance(ctx context.Context, q query,
	visit func(string, *journal.Store, services.Revision) error) error {
	found := false
	err := s.open(ctx, "", func(site string, store *journal.Store) (bool, error) {
		all, err := store.Services(ctx, false)
		for _, v := range all {
			if v.Entity == q.text["entity"] && v.ID == q.text["id"] {
				found = true
				return true, visit(site, store, v)
			}
		}
		return false, err
	})
	if err == nil && !found {
		err = notFound("there is no instance %q of an entity %q", q.text["id"], q.text["entity"])
	}
	return err
}

func (s *server) instance(ctx context.Context, q query) (answer any, err error) {
	err = s.withInstance(ctx, q, func(site string, _ *journal.Store, v services.Revision) error {
		answer = map[string]any{"data": instanceOf(site, v)}
		return nil
	})
	return answer, err
}

// instanceLog returns the versions of an instance, newest first, each with its events.
func (s *server) instanceLog(ctx context.Context, q query) (answer any, err error) {
	type version struct {
		instance
		Events []inventoryEvent `json:"events"`
	}
	out := []version{}
	err = s.withInstance(ctx, q, func(site string, store *journal.Store, newest services.Revision) error {
		log, err := store.ServiceLog(ctx, newest.Service, journal.Point{Incarnation: newest.Incarnation,
			Version: newest.Version + 1}, int(q.number["limit"]))
		for _, r := range log {
			if r.ID != newest.ID {
				continue
			}
			v := version{instanceOf(site, r.Revision), []inventoryEvent{}}
			for _, e := range r.Events {
				v.Events = append(v.Events, inventoryEvent{e.Seq, r.ID, e.Version, e.DesiredVersion, e.Time, e.Type, e.Source,
					e.Destination, e.Message, e.Ignored, e.IsError, e.Severity, e.Correlation})
			}
			out = append(out, v)
		}
		return err
	})
	return map[string]any{"data": out}, err
}
