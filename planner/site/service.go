package site

// validateServices reports bad names and selectors and services that are neither one thing nor the other, and warns of
// services that no node gets.
func validateServices(services []Service, inv *NodeIndex) Problems {
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.Name
	}
	problems := validateNames("service", names, checkTitle)
	for _, s := range services {
		problems = append(problems, s.validateForm()...)
		more := s.Selectors.validate("service", s.Name, inv, len(problems))
		problems = append(problems, more...)
		if len(more.Errors()) == 0 && len(inv.Members(s.Selectors)) == 0 {
			problems = append(problems, Problem{
				Object: "service", Name: s.Name, Attribute: "selectors", Code: NoNodes, Warning: true,
				Message: "no node is selected, so the service is placed nowhere: " + inv.emptyReason(s.Selectors),
			})
		}
	}
	return problems
}

// validateForm makes sure that a service is either configuration or an instance of an entity.
func (s Service) validateForm() Problems {
	problem := func(attribute, message string) Problems {
		return Problems{{Object: "service", Name: s.Name, Attribute: attribute, Code: BadStructure, Message: message}}
	}
	switch {
	case s.Entity == nil && s.Configuration == nil:
		return problem("", "has neither an entity nor configuration; give one of them")
	case s.Entity != nil && s.Configuration != nil:
		return problem("configuration", "does not go with an entity, whose tasks are the configuration; leave one of them out")
	case s.Entity == nil && s.Attributes != nil:
		return problem("attributes", "are those of an entity; give the entity too, or leave them out")
	}
	return nil
}
