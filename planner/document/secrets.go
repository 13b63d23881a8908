package document

// ParseSecrets reads the contents of secrets, by their names: one mapping of texts. No error, which is of type
// [invalid.Errors], quotes anything but a name.
func ParseSecrets(source Source) (map[string]string, error) {
	r := &reader{file: source.Name}
	contents := make(map[string]string)
	if n, ok := r.only(source.Data, ""); ok {
		if fs, ok := r.mapping(n, ""); ok {
			for _, f := range fs.list {
				contents[f.name] = r.textWith(f.value, f.name, "secret")
			}
		}
	}
	for i, e := range r.errs {
		r.errs[i].Message = `must be one mapping of names to texts; write lines NAME: "content", in quotes`
		if e.Attribute != "" {
			r.errs[i].Message = "must be a text; write it in quotes"
		}
	}
	return contents, r.result()
}
