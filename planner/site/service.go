package site

// validateServices reports bad names and selectors, and warns of services that no node gets.
func validateServices(services []Service, nodes []Node) Problems {
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.Name
	}
	problems := validateNames("service", names, mistakeInTitle)
	for _, s := range services {
		mistakes := s.Selectors.Validate("service", s.Name, nodes)
		problems = append(problems, mistakes...)
		if len(mistakes.Errors()) == 0 && len(s.Selectors.Members(nodes)) == 0 {
			problems = append(problems, Problem{
				Object: "service", Name: s.Name, Attribute: "selectors", Code: NoNodes, Warning: true,
				Message: "no node is selected, so the service is placed nowhere; check names, tags, labels and racks",
			})
		}
	}
	return problems
}
