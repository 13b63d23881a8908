package schema

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Package declares the type package.
func Package() resource.Schema {
	return resource.Schema{
		Type:         "package",
		Summary:      "A package of the node's package manager: apt, dnf or apk.",
		NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "name", Kind: resource.String, Check: checkPackageName,
				Description: "The package's name, with an architecture where one is meant (`libc6:amd64`). Default: the title."},
			{Name: "ensure", Kind: resource.String, Check: checkPackageEnsure,
				Description: "`installed` (or `present`), `latest` (the newest version that the node's package index has; the index itself is not refreshed for it), `absent`, `purged` (apt: with configuration files) or a version as the package manager writes it. Default: `installed`. A package that is half installed does not count as installed. Only the package itself is looked at, as in Puppet: a dependency that others left half configured is no drift of it. What an installation by slipway left is completed when that was interrupted. A hold stays unless the package has to change; then it is lifted until the resource is removed."},
			{Name: "provider", Kind: resource.String, Values: []string{"apt", "dnf", "apk"},
				Description: "The package manager. Default: the one that the node has."},
		},
		Object: func(r resource.Resource) (name, variant string) {
			name, variant, _ = strings.Cut(PackageName(r), ":")
			return name, variant
		},
		Check: func(r resource.Resource) []invalid.Error {
			return errorOf("name", checkPackageName(PackageName(r)))
		},
		Target: packageTarget,
	}
}

// checkPackageName also keeps out what a package manager would take for an option, a pattern or a second request
// (`mc-`, `mc=1`).
func checkPackageName(v any) error {
	name, _ := v.(string)
	if !IsPackageName(name) || strings.HasSuffix(name, "-") {
		return fmt.Errorf("%q is not a package's name: letters, digits and . + _ - only, with the version in ensure", name)
	}
	return nil
}

func checkPackageEnsure(v any) error {
	text, _ := v.(string)
	switch text {
	case "installed", "present", "latest", "absent", "purged":
		return nil
	}
	if !IsPackageVersion(text) || !strings.ContainsAny(text, "0123456789") {
		return fmt.Errorf("%q is not installed, present, latest, absent, purged or a version", text)
	}
	return nil
}

// PackageName returns the name of r's package.
func PackageName(r resource.Resource) string { return r.Parameters.StringOr("name", r.Title) }

// packageTarget is the package, and whether it is to go instead of to come: when that turns around, what was done so
// far is undone first, so that what was there before is taken down anew.
func packageTarget(r resource.Resource) (name, aim string) {
	ensure := r.Parameters.String("ensure")
	return PackageName(r), aimOf(ensure != "absent" && ensure != "purged")
}
