package site

// validateServices reports bad names and selectors, and warns of services that no node gets.
func validateServices(services []Service, inv *Inventory) Problems {
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.Name
	}
	problems := validateNames("service", names, mistakeInTitle)
	for _, s := range services {
		mistakes := s.Selectors.validate("service", s.Name, inv)
		problems = append(problems, mistakes...)
		if len(mistakes.Errors()) == 0 && len(inv.Members(s.Selectors)) == 0 {
			problems = append(problems, Problem{
				Object: "service", Name: s.Name, Attribute: "selectors", Code: NoNodes, Warning: true,
				Message: "no node is selected, so the service is placed nowhere; check names, tags, labels and racks",
			})
		}
	}
	return problems
}
