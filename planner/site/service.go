package site

import "github.com/slipway/terraform-provider-slipway/planner/invalid"

// validateServices reports bad names and selectors and services that are neither one thing nor the other, and warns of
// services that no node gets.
func validateServices(services []Service, inv *NodeIndex) invalid.Errors {
	errs := validateNames("service", NamesOf(services, func(s Service) string { return s.Name }), checkTitle)
	for _, s := range services {
		errs = append(errs, s.validateForm()...)
		more := s.Selectors.validate("service", s.Name, inv, len(errs))
		errs = append(errs, more...)
		if len(more.Errors()) == 0 && len(inv.Members(s.Selectors)) == 0 {
			errs = append(errs, invalid.Error{
				Object: "service", Name: s.Name, Attribute: "selectors", Code: invalid.NoNodes, Warning: true,
				Message: "no node is selected, so the service is placed nowhere: " + inv.emptyReason(s.Selectors),
			})
		}
	}
	return errs
}

// validateForm makes sure that a service is either configuration or an instance of an entity.
func (s Service) validateForm() invalid.Errors {
	wrong := func(attribute, message string) invalid.Errors {
		return invalid.Errors{{Object: "service", Name: s.Name, Attribute: attribute, Code: invalid.BadStructure,
			Message: message}}
	}
	switch {
	case s.Entity == nil && s.Configuration == nil:
		return wrong("", "has neither an entity nor configuration; give one of them")
	case s.Entity != nil && s.Configuration != nil:
		return wrong("configuration", "does not go with an entity, whose tasks are the configuration; leave one of them out")
	case s.Entity == nil && s.Attributes != nil:
		return wrong("attributes", "are those of an entity; give the entity too, or leave them out")
	}
	return nil
}
