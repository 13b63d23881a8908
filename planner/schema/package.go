package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Package declares the type package.
func Package() resource.Schema {
	return resource.Schema{
		Type:         "package",
		Summary:      "A package of the node's package manager: apt, dnf or apk; or of gem, pip or npm.",
		NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "name", Kind: resource.String, Check: checkPackageName,
				Description: "The package's name, with an architecture where one is meant (`libc6:amd64`), or the scope of npm (`@vue/cli`). Default: the title."},
			{Name: "ensure", Kind: resource.String, Check: checkPackageEnsure,
				Description: "`installed` (or `present`), `latest` (the newest version that the node's package index has; the index itself is not refreshed for it), `absent`, `purged` (apt: with configuration files) or a version as the package manager writes it. Default: `installed`. A package that is half installed does not count as installed. Only the package itself is looked at, as in Puppet: a dependency that others left half configured is no drift of it. What an installation by slipway left is completed when that was interrupted. A hold stays unless the package has to change; then it is lifted until the resource is removed."},
			{Name: "provider", Kind: resource.String, Values: []string{"apt", "dnf", "apk", "gem", "pip", "npm"},
				Same:        map[string]string{"pip3": "pip"},
				Description: "The package manager. Default: the one that the node has. `gem`, `pip` and `npm` are those of Ruby, Python and Node.js: they install for the whole node, `latest` asks the network, what comes along with a package stays when that goes, and their program is to be there first (`require`)."},
			{Name: "install_options", Kind: resource.StringList, Check: checkInstallOptions,
				Description: "Arguments that the package manager gets besides when it installs the package, each an item of the list: `[\"--no-install-recommends\"]`, `[\"-t\", \"bookworm-backports\"]`. Packages with other options are installed by another call."},
			{Name: "mark", Kind: resource.String, Values: []string{"hold", "none", "manual"},
				Description: "apt only: `hold` keeps everything but slipway from changing the package, `none` lets it; `manual` keeps one that came along with others when these go, as `apt-mark manual` does. Default: left as it is."},
		},
		Object: func(r resource.Resource) (name, variant string) {
			name, _ = packageTarget(r)
			name, variant, _ = strings.Cut(name, ":")
			return name, variant
		},
		Check: func(r resource.Resource) []invalid.Error {
			return packageErrors(r)
		},
		Alike:  ensureAlike("installed", map[string]string{"present": "installed"}),
		Target: packageTarget,
	}
}

func packageErrors(r resource.Resource) []invalid.Error {
	name, provider := PackageName(r), r.Parameters.String("provider")
	errs := errorOf("name", checkPackageName(name))
	add := func(attribute, format string, args ...any) {
		errs = append(errs, invalid.Error{Attribute: attribute, Message: fmt.Sprintf(format, args...)})
	}
	if strings.HasPrefix(name, "@") && provider != "npm" {
		add("name", `%q is a name of npm; give provider = "npm" with it`, name)
	}
	if isLanguage(provider) && strings.Contains(name, ":") {
		add("name", "%q has an architecture, and packages of %s have none; leave it out", name, provider)
	}
	switch ensure := r.Parameters.String("ensure"); {
	case !r.Parameters.Has("mark"):
	case ensure == "absent" || ensure == "purged":
		add("mark", "does not go with ensure = %q; it is for a package that is there", ensure)
	case provider != "" && provider != "apt":
		add("mark", "does not go with provider = %q: only apt can hold a package; leave it out", provider)
	}
	return errs
}

// isLanguage reports whether a provider is one of a programming language, beside the node's own.
func isLanguage(provider string) bool {
	return provider == "gem" || provider == "pip" || provider == "npm"
}

func checkInstallOptions(v any) error {
	options, _ := v.([]string)
	for i, o := range options {
		switch {
		case o == "" || strings.ContainsAny(o, "\x00\n"):
			return fmt.Errorf("entry %d must not be empty and must be one line", i)
		case o == "--":
			return errors.New(`"--" ends the options; leave it out`)
		case i == 0 && o[0] != '-':
			return fmt.Errorf("%q is not an option: the first entry begins with -; another package is a resource of its own", o)
		}
	}
	return nil
}

// checkPackageName also keeps out what a package manager would take for an option, a pattern or a second request
// (`mc-`, `mc=1`).
func checkPackageName(v any) error {
	name, _ := v.(string)
	if scope, rest, scoped := strings.Cut(name, "/"); scoped && spelled(scope, "@", "._-") && spelled(rest, "", "._-") &&
		scope[0] == '@' && len(scope) > 1 {
		return nil
	}
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
	ensure, name := r.Parameters.String("ensure"), PackageName(r)
	if provider := r.Parameters.String("provider"); isLanguage(provider) {
		name = provider + " " + name
	}
	return name, aimOf(ensure != "absent" && ensure != "purged")
}
