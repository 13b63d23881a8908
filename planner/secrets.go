package planner

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// RefusedSecrets returns an error for each parameter of what the run applies that refuses the content of a secret of
// the deployment. contents are those that are known, by name. No error has a content.
func (p *Plan) RefusedSecrets(contents map[string]string) (errs invalid.Errors) {
	types, seen := schema.Types(), make(map[invalid.Error]bool) // many nodes have the same resource
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			r, known := t.Resource, make(map[string]string)
			for _, secret := range r.Parameters.Secrets() {
				name, _, _ := strings.Cut(secret, "@")
				if content, ok := contents[name]; ok {
					known[secret] = content
				}
			}
			if len(known) == 0 || t.Action == task.Remove {
				continue
			}
			typ := types[r.Type]
			if len(t.Pending) > 0 || t.Awaited != nil {
				typ.Check = nil // it would miss parameters that are not known yet
			}
			r.Parameters, _ = r.Parameters.Resolve(known)
			object, name := bringerOf(t)
			for _, e := range typ.Validate(r) {
				if e.Code == invalid.MissingParameter {
					continue // as above: else there is no plan
				}
				e.Message += describeSecrets(t.Resource.Parameters, e.Attribute)
				if e = site.ParameterError(object, name, r.Type, r.Title, e); !seen[e] {
					seen[e] = true
					errs = append(errs, e)
				}
			}
		}
	}
	errs.Sort()
	return errs
}

// describeSecrets names the secrets of a parameter that an error is about; those of all of them, where it has none.
func describeSecrets(p resource.Parameters, attribute string) string {
	name, _, _ := strings.Cut(attribute, "[")
	secrets := resource.Parameters{name: p[name]}.Secrets()
	if len(secrets) == 0 {
		secrets = p.Secrets()
	}
	for i, secret := range secrets {
		secret, _, _ = strings.Cut(secret, "@")
		secrets[i] = fmt.Sprintf("%q", secret)
	}
	what := "; it has the secret "
	if len(secrets) > 1 {
		what = "; it has the secrets "
	}
	return what + strings.Join(secrets, ", ")
}
