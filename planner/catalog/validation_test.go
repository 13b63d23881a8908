package catalog

import "testing"

// Every validation type of lsm.md 2, with values that it takes and refuses.
func TestValidationTypes(t *testing.T) {
	type parameters = map[string]any
	const uuid1, uuid3, uuid4, uuid5 = "5e1a7b5c-7c1f-11ee-b962-0242ac120002", "6fa459ea-ee8a-3ca4-894e-db77e160355e", "16fd2706-8baf-433b-82eb-8c7fada847da", "886313e1-3b8a-5372-9b90-0c9aee199e5d"
	seen := make(map[string]bool)
	for _, c := range []struct {
		validation, typ string
		parameters      parameters
		good, bad       []any
	}{
		{"enum", "string", parameters{"names": map[string]any{"a": "red", "b": "green"}, "value": "colour"},
			[]any{"red"}, []any{"a", "blue"}},
		{"enum", "int", parameters{"names": map[string]any{"one": int64(1)}}, []any{int64(1)}, []any{int64(2)}},
		{"pydantic.conint", "int", parameters{"ge": int64(1000000), "le": int64(9999999999)},
			[]any{int64(1000000), int64(9999999999)}, []any{int64(999999), int64(10000000000)}},
		{"pydantic.conint", "int", parameters{"gt": int64(0), "lt": int64(10), "multiple_of": int64(3), "strict": true},
			[]any{int64(9)}, []any{int64(0), int64(10), int64(4)}},
		{"pydantic.confloat", "float", parameters{"gt": 0.5, "multiple_of": 0.25}, []any{0.75, int64(1)},
			[]any{0.5, 0.8}},
		{"pydantic.condecimal", "number", parameters{"max_digits": int64(5), "decimal_places": int64(2)},
			[]any{999.99, -999.99, 1.5, int64(999)}, []any{int64(1000), -1000.5, 1.234}},
		{"pydantic.condecimal", "number", parameters{"max_digits": int64(3)}, []any{int64(123), 0.05},
			[]any{int64(1234), 12.34}},
		{"pydantic.condecimal", "number", parameters{"max_digits": int64(2), "decimal_places": int64(2)},
			[]any{0.99, int64(0)}, []any{int64(1), 1.5}},
		{"pydantic.constr", "string", parameters{"regex": "^(qinq|dot1q|)$", "strict": true,
			"curtail_length": int64(3)}, []any{"qinq", ""}, []any{"dot1"}},
		{"pydantic.constr", "string", parameters{"regex": "[a-z]+", "min_length": int64(2), "max_length": int64(4)},
			[]any{"ab1"}, []any{"a", "1ab", "abcde"}},
		{"pydantic.constr", "string", parameters{"pattern": "[a-z]"}, []any{"1a1"}, []any{"1"}},
		{"pydantic.PositiveInt", "int", nil, []any{int64(1)}, []any{int64(0)}},
		{"pydantic.NegativeInt", "int", nil, []any{int64(-1)}, []any{int64(0)}},
		{"pydantic.NonNegativeInt", "int", nil, []any{int64(0)}, []any{int64(-1)}},
		{"pydantic.NonPositiveInt", "int", nil, []any{int64(0)}, []any{int64(1)}},
		{"pydantic.PositiveFloat", "float", nil, []any{0.1}, []any{int64(0)}},
		{"pydantic.NegativeFloat", "float", nil, []any{-0.1}, []any{int64(0)}},
		{"pydantic.NonNegativeFloat", "float", nil, []any{int64(0)}, []any{-0.1}},
		{"pydantic.NonPositiveFloat", "float", nil, []any{int64(0)}, []any{0.1}},
		{"pydantic.FiniteFloat", "float", nil, []any{0.1}, []any{"1"}},
		{"pydantic.StrictStr", "string", nil, []any{"1"}, []any{int64(1)}},
		{"pydantic.StrictInt", "int", nil, []any{int64(1)}, []any{"1"}},
		{"pydantic.StrictFloat", "float", nil, []any{1.5}, []any{"1.5"}},
		{"pydantic.StrictBool", "bool", nil, []any{true}, []any{int64(1)}},
		{"ipaddress.IPv4Address", "string", nil, []any{"10.0.0.1"}, []any{"10.0.0.0/24", "::1"}},
		{"ipaddress.IPv4Interface", "string", nil, []any{"10.0.0.1/24"}, []any{"fd00::1/64"}},
		{"ipaddress.IPv4Network?", "string?", nil, []any{"10.0.0.0/24", nil}, []any{"10.0.0.1/24"}},
		{"ipaddress.IPv6Address", "string", nil, []any{"fd00::1"}, []any{"10.0.0.1"}},
		{"ipaddress.IPv6Interface", "string", nil, []any{"fd00::1/64"}, []any{"10.0.0.1/24"}},
		{"ipaddress.IPv6Network[]", "string[]", nil, []any{[]any{"fd00::/64"}}, []any{[]any{"fd00::1/64"}}},
		{"pydantic.IPvAnyAddress", "string", nil, []any{"10.0.0.1", "fd00::1"}, []any{"10.0.0.1/24"}},
		{"pydantic.IPvAnyInterface", "string", nil, []any{"10.0.0.1/24", "fd00::1/64"}, []any{"x/24"}},
		{"pydantic.IPvAnyNetwork", "string", nil, []any{"10.0.0.0/24", "fd00::/64"}, []any{"fd00::1/64"}},
		{"uuid.UUID", "string", nil, []any{uuid1, uuid4, "{" + uuid4 + "}", "urn:uuid:" + uuid4},
			[]any{"16fd2706", uuid4 + "0"}},
		{"pydantic.UUID1", "string", nil, []any{uuid1}, []any{uuid4}},
		{"pydantic.UUID3", "string", nil, []any{uuid3}, []any{uuid4}},
		{"pydantic.UUID4", "string", nil, []any{uuid4}, []any{uuid5}},
		{"pydantic.UUID5", "string", nil, []any{uuid5}, []any{uuid1}},
		{"datetime.date", "string", nil, []any{"2024-02-29"}, []any{"2023-02-29", "29.2.2024"}},
		{"datetime.time", "string", nil, []any{"15:04", "15:04:05.5+02:00"}, []any{"25:00"}},
		{"datetime.datetime", "string", nil, []any{"2024-02-29T15:04:05Z", "2024-02-29 15:04"},
			[]any{"2024-02-29", "2024-02-30T15:04:05Z"}},
		{"datetime.timedelta", "string", nil, []any{"P1DT12H", "1 day, 02:03:04", "12:30:01.5"}, []any{"P", "a day"}},
		{"pydantic.EmailStr", "string", nil, []any{"a@example.com"}, []any{"a@"}},
		{"pydantic.AnyUrl", "string", nil, []any{"ftp://a/b"}, []any{"a/b"}},
		{"pydantic.AnyHttpUrl", "string", nil, []any{"http://a"}, []any{"ftp://a"}},
		{"pydantic.HttpUrl", "string", nil, []any{"https://a/b"}, []any{"a"}},
	} {
		base, _, _ := ParseType(c.validation)
		seen[base] = true
		rules, err := Validation(c.validation, c.parameters)
		if err != nil {
			t.Errorf("%s: %v", c.validation, err)
			continue
		}
		e := resolved(t, Structure{Attributes: []Attribute{typed("a", c.typ, rules...)}})
		for _, v := range c.good {
			if _, errs := e.Check(map[string]any{"a": v}); len(errs) > 0 {
				t.Errorf("%s: %v: %v", c.validation, v, errs)
			}
		}
		for _, v := range c.bad {
			if _, errs := e.Check(map[string]any{"a": v}); len(errs) == 0 {
				t.Errorf("%s: %v is accepted", c.validation, v)
			}
		}
	}
	for name := range validations() {
		if !seen[name] {
			t.Errorf("%s has no test", name)
		}
	}
	for name, given := range map[string]parameters{"pydantic.constr": {"regexp": "x"},
		"pydantic.PositiveInt": {"ge": int64(1)}, "os.Path": nil} {
		if _, err := Validation(name, given); err == nil {
			t.Errorf("%s: %v is accepted", name, given)
		}
	}
}
