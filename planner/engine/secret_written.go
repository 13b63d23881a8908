package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Secrets are what a deployment's secrets_wo has, or a file of the companion. They are resolved when a manifest is
// sent, and are nowhere else.
type Secrets struct {
	Version string
	Known   bool // false at refresh and destroy: Terraform does not give them
	Content map[string]string
	Null    []string // names that have no content
	Later   []string // names whose content only the apply knows
}

// SecretsWO is the attribute of a deployment that has its secrets.
const SecretsWO = "secrets_wo"

// Missing returns an error for each secret to which the configuration of a site refers and that has no content here.
// from is where the user gives secrets.
func (s Secrets) Missing(of site.Site, from string) (errs Messages) {
	look := func(what, name string, c resource.Configuration) {
		for typ, titles := range c {
			for title, p := range titles {
				for _, secret := range p.Secrets() {
					secret, _, _ = strings.Cut(secret, "@")
					if _, ok := s.Content[secret]; ok || slices.Contains(s.Later, secret) {
						continue
					}
					wrong := "which is null in " + from + "; give it a value"
					if !slices.Contains(s.Null, secret) {
						wrong = "which " + from + " does not have" + resource.Choices(secret,
							slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(s.Later), maps.Keys(s.Content)))))
					}
					errs = append(errs, &Message{Attribute: SecretsWO, Summary: "A secret is missing",
						Detail: fmt.Sprintf("%s %q: %s refers to the secret %q, %s", what, name, resource.MakeID(typ, title), secret,
							wrong)})
				}
			}
		}
	}
	for _, service := range of.Services {
		look("service", service.Name, service.Configuration)
	}
	for _, o := range of.Overrides {
		look("override", o.Name, o.Configuration)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// secretive is an executor that sends nodes the contents of the secrets that their items refer to.
type secretive struct {
	rollout.Executor
	secrets Secrets
}

// Zoned implements [rollout.Zoned].
func (e secretive) Zoned() bool {
	zoned, may := e.Executor.(rollout.Zoned)
	return may && zoned.Zoned()
}

// Converge sends what the items refer to beside them. Nothing is sent when a secret is missing; a check that has none
// at all sends none, and the node compares with what it recorded.
func (e secretive) Converge(ctx context.Context, node site.Node, m converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	if !e.secrets.Known && m.Mode == converge.Check {
		return e.Executor.Converge(ctx, node, m, each)
	}
	contents := map[string]string{}
	for _, item := range m.Items {
		if item.Remove {
			continue
		}
		var missing []string
		for _, secret := range item.Parameters.Secrets() {
			name, version, _ := strings.Cut(secret, "@")
			content, ok := e.secrets.Content[name]
			if contents[secret] = content; !ok || version != e.secrets.Version {
				missing = append(missing, secret)
			}
		}
		if len(missing) > 0 {
			return converge.Summary{}, &converge.SessionError{Code: converge.CodeSecret, Message: fmt.Sprintf(
				"%s needs the secret %s, which secrets_wo does not have; add it, or change the version", item.ID(),
				strings.Join(missing, ", "))}
		}
	}
	m.Secrets = contents
	return e.Executor.Converge(ctx, node, m, each)
}
