package site

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// ConfigurationPath is the attribute path of a configuration resource, or of one of its parameters, as users write it:
// `configuration.file["/etc/motd"].mode`. An empty title or parameter ends the path.
func ConfigurationPath(typ, title, parameter string) string {
	path := "configuration." + typ
	if title != "" {
		path += fmt.Sprintf("[%q]", title)
	}
	if parameter != "" {
		path += "." + parameter
	}
	return path
}

// ParameterError returns the error for a parameter error in a resource of a service or override.
func ParameterError(object, name, typ, title string, e invalid.Error) invalid.Error {
	p := invalid.Error{Object: object, Name: name, Attribute: ConfigurationPath(typ, title, e.Attribute),
		Code: cmp.Or(e.Code, invalid.BadParameter), Message: e.Message}
	if e.Attribute == "title" {
		p.Attribute, p.Message = ConfigurationPath(typ, title, ""), "the title "+e.Message
		if title == "" {
			p.Code = invalid.EmptyTitle
		}
	}
	return p
}

// ansibleModules are the types that do what modules of Ansible do.
var ansibleModules = map[string]string{
	"apk": "package", "apt": "package", "dnf": "package", "gem": "package", "npm": "package",
	"pip": "package", "yum": "package",
	"authorized_key": "ssh_authorized_key",
	"command":        "exec", "shell": "exec",
	"copy": "file", "template": "file",
	"get_url": "archive", "unarchive": "archive",
	"git":        "vcsrepo",
	"ini_file":   "ini_setting",
	"lineinfile": "file_line",
	"systemd":    "service", "systemd_service": "service",
}

// UnknownTypeError returns the error for a type without a schema; an empty type has a code of its own.
func UnknownTypeError(object, name, attribute, typ string, schemas map[string]resource.Schema) invalid.Error {
	p := invalid.Error{Object: object, Name: name, Attribute: attribute, Code: invalid.UnknownType}
	if typ == "" {
		p.Code, p.Message = invalid.EmptyType, "the type must not be empty"
		return p
	}
	known := slices.Sorted(maps.Keys(schemas))
	p.Message = fmt.Sprintf("there is no configuration resource type %q", typ)
	if lower := strings.ToLower(typ); slices.Contains(known, lower) {
		p.Message += fmt.Sprintf("; write %q", lower)
	} else if same := ansibleModules[typ]; slices.Contains(known, same) {
		p.Message += fmt.Sprintf("; did you mean %q?", same)
	} else if near := didYouMean(typ, known, 0); near != "" {
		p.Message += near
	} else {
		p.Message += "; use one of " + strings.Join(known, ", ")
	}
	return p
}

// ValidateConfiguration reports what the types of the configuration at a path do not accept. Where it changes resources
// of others, as that of an override does, nothing is required.
func ValidateConfiguration(c resource.Configuration, at string, changes bool,
	schemas map[string]resource.Schema) invalid.Errors {
	validate := func(s resource.Schema, titles map[string]resource.Parameters) (errs invalid.Errors) {
		for _, title := range slices.Sorted(maps.Keys(titles)) {
			place := strings.TrimPrefix(ConfigurationPath(s.Type, title, ""), "configuration.")
			errs = append(errs, validateResource(s, invalid.PathTo(at, place), title, titles[title], changes)...)
		}
		return errs
	}
	return validateTypes(c, at, schemas, validate)
}

// ValidateDefaults is ValidateConfiguration for the defaults of an override: parameters for every title of a type.
func ValidateDefaults(defaults map[string]map[string]any, at string,
	schemas map[string]resource.Schema) invalid.Errors {
	return validateTypes(defaults, at, schemas, func(s resource.Schema, p map[string]any) invalid.Errors {
		return validateResource(s, invalid.PathTo(at, s.Type), "any", p, true)
	})
}

func validateTypes[T any](types map[string]T, at string, schemas map[string]resource.Schema,
	validate func(resource.Schema, T) invalid.Errors) (errs invalid.Errors) {
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		if s, known := schemas[typ]; known {
			errs = append(errs, validate(s, types[typ])...)
		} else {
			errs = append(errs, UnknownTypeError("", "", invalid.PathTo(at, typ), typ, schemas))
		}
	}
	return errs
}

// validateResource reports what the type of a configuration resource does not accept.
func validateResource(s resource.Schema, at, title string, p resource.Parameters, changes bool) (errs invalid.Errors) {
	if changes {
		s.Check = nil // it judges the whole resource
	}
	for _, e := range s.Validate(resource.Resource{Type: s.Type, Title: title, Parameters: p}) {
		if e.Code == invalid.MissingParameter && changes {
			continue
		}
		wrong := ParameterError("", "", s.Type, title, e)
		if wrong.Attribute = at; e.Attribute != "title" {
			wrong.Attribute = invalid.PathTo(at, e.Attribute)
		}
		errs = append(errs, wrong)
	}
	slices.SortStableFunc(errs, func(a, b invalid.Error) int { return strings.Compare(a.Attribute, b.Attribute) })
	return errs
}
