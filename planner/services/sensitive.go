package services

// WithoutSensitive returns the inventory without the values of sensitive attributes. A plan takes those that services
// lack from what is wanted, as it does with services that come from the journal. s does not change.
func (s Inventory) WithoutSensitive() Inventory {
	records := make(map[string]Record, len(s.Records))
	for name, r := range s.Records {
		redacted := func(set map[string]any, digest string) map[string]any {
			d, err := s.Definitions[digest].parse()
			if set == nil || err != nil {
				return nil
			}
			return withoutSensitive(d.entity.Structure, set, "", map[string]bool{})
		}
		r.Candidate = redacted(r.Candidate, r.Definitions.Candidate)
		r.Active = redacted(r.Active, r.Definitions.Active)
		r.Rollback = redacted(r.Rollback, r.Definitions.Rollback)
		records[name] = r
	}
	if len(records) > 0 {
		s.Records = records
	}
	return s
}
