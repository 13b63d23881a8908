package types

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// ageParameters are the parameters of a user about the age of its password and account; ageFields are their fields in
// User.Ageing and ageingOptions.
var (
	ageParameters = []string{"password_min_age", "password_max_age", "password_warn_days", "expiry"}
	ageFields     = []int{1, 2, 3, 5}
)

func ageField(parameter string) (field int, is bool) {
	if i := slices.Index(ageParameters, parameter); i >= 0 {
		return ageFields[i], true
	}
	return 0, false
}

func ageParameter(field int) string {
	if i := slices.Index(ageFields, field); i >= 0 {
		return ageParameters[i]
	}
	return ""
}

// wantedAge returns a field of /etc/shadow as a resource wants it.
func wantedAge(p resource.Parameters, parameter string) string {
	if parameter == "expiry" {
		day, _ := schema.ExpiryDay(p.String(parameter)) // the schema has checked it
		return day
	}
	if n := p.Int(parameter); n >= 0 {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// ageValue returns the parameter that stands for a field of /etc/shadow.
func ageValue(parameter, field string) any {
	n, err := strconv.ParseInt(field, 10, 32)
	switch {
	case parameter == "expiry" && (err != nil || n < 0):
		return "absent"
	case parameter == "expiry":
		return time.Unix(n*24*60*60, 0).UTC().Format(time.DateOnly)
	case err != nil:
		return int64(-1)
	}
	return n
}

// compareAge returns how the ages of a user differ.
func compareAge(u system.User, p resource.Parameters) (found []Difference) {
	for i, parameter := range ageParameters {
		if !p.Has(parameter) {
			continue
		}
		if is := u.Age(ageFields[i]); is != wantedAge(p, parameter) {
			shown := resource.Parameters{parameter: ageValue(parameter, is)}
			found = append(found, Difference{Parameter: parameter, Is: shown.String(parameter), Should: p.String(parameter)})
		}
	}
	return found
}

// setAge brings the ages of a user about that differ.
func setAge(ctx context.Context, s *Session, name string, p resource.Parameters) error {
	users, err := s.Users()
	if err != nil {
		return err
	}
	u := users[name]
	var args []string
	for _, d := range compareAge(u, p) {
		field, _ := ageField(d.Parameter)
		value := wantedAge(p, d.Parameter)
		if value == "" {
			value = "-1"
		}
		args = append(args, ageingOptions[field], value)
	}
	switch {
	case len(args) == 0:
		return nil
	case len(u.Ageing) == 0:
		return errors.New("expiry and ages of passwords need /etc/shadow, which this node does not have; leave them out")
	}
	return runShadow(ctx, s, "chage", append(args, name)...)
}

// freshAges returns the ages that useradd gives.
func freshAges(defaults, defs map[string]string) resource.Parameters {
	day, err := schema.ExpiryDay(defaults["EXPIRE"])
	if err != nil {
		day = ""
	}
	p := resource.Parameters{"expiry": ageValue("expiry", day)}
	for parameter, name := range map[string]string{
		"password_min_age": "PASS_MIN_DAYS", "password_max_age": "PASS_MAX_DAYS", "password_warn_days": "PASS_WARN_AGE",
	} {
		p[parameter] = ageValue(parameter, defs[name])
	}
	return p
}
