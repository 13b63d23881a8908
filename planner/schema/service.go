package schema

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Service declares the type service.
func Service() resource.Schema {
	return resource.Schema{
		Type:         "service",
		Summary:      "A service of systemd or OpenRC, or one with commands of its own: whether it runs, and whether it is started at boot. It restarts when it is notified.",
		NeedsMachine: true,
		Restorable:   true,
		Parameters: []resource.Parameter{
			{Name: "name", Kind: resource.String, Check: checkServiceName,
				Description: "The service's name; with systemd, any unit with its suffix, `.service` where there is none. Default: the title."},
			{Name: "ensure", Kind: resource.String, Scalars: true, Values: []string{"running", "stopped"},
				Same:        map[string]string{"true": "running", "false": "stopped"},
				Description: "`running` or `stopped`; true and false mean the same. Default: left as it is."},
			{Name: "enable", Kind: resource.String, Scalars: true, Values: []string{"true", "false", "mask"},
				Description: "Whether it is started at boot: true, false, or \"mask\" so that nothing can start it (systemd only). A unit that cannot be enabled (static) is left as it is. Default: left as it is."},
			{Name: "provider", Kind: resource.String, Values: []string{"systemd", "openrc", "base"},
				Description: "The service manager. Default: the one that runs the node. `base` is a service that none knows, and needs `start`, `stop` and `status`."},
			{Name: "start", Kind: resource.StringList, Shell: true, Check: checkWords,
				Description: "Command that starts the service. A string is run by /bin/sh, a list of two or more is a program and its arguments. It must leave the service behind in the background. Default: the service manager's."},
			{Name: "stop", Kind: resource.StringList, Shell: true, Check: checkWords,
				Description: "Command that stops the service, written as `start`. Default: the service manager's."},
			{Name: "status", Kind: resource.StringList, Shell: true, Check: checkWords,
				Description: "Command that ends with status 0 while the service runs, and with another one while it does not, written as `start`. It runs at plan time too. Default: the service manager knows."},
			{Name: "restart", Kind: resource.String, Shell: true,
				Description: "A shell command that restarts the service. Default: the service manager's restart, or `stop` and `start` where one of these is given."},
			{Name: "hasrestart", Kind: resource.Bool, Unused: true,
				Description: "Accepted for Puppet's sake, and changes nothing: systemd and OpenRC restart every service."},
			{Name: "hasstatus", Kind: resource.Bool, Unused: true,
				Description: "Accepted for Puppet's sake, and changes nothing: systemd and OpenRC know the status of every service."},
		},
		Check:  checkService,
		Target: serviceTarget,
	}
}

func checkServiceName(v any) error {
	if name, _ := v.(string); !IsServiceName(name) {
		return fmt.Errorf("%q is not a service's name: letters, digits and : _ . @ - only", name)
	}
	return nil
}

func checkService(r resource.Resource) []invalid.Error {
	errs := errorOf("name", checkServiceName(r.Parameters.StringOr("name", r.Title)))
	masked := r.Parameters.String("enable") == "mask"
	if masked && r.Parameters.String("ensure") == "running" {
		errs = append(errs, invalid.Error{Attribute: "enable", Message: `"mask" keeps the service from being started; use ensure = "stopped" with it`})
	}
	if masked && r.Parameters.String("provider") == "openrc" {
		errs = append(errs, invalid.Error{Attribute: "enable", Message: `OpenRC cannot mask a service; use false`})
	}
	base := r.Parameters.String("provider") == "base"
	for _, name := range []string{"start", "stop", "status"} {
		switch given := r.Parameters.Has(name); {
		case given && r.Sensitive():
			errs = append(errs, invalid.Error{Attribute: name, Message: "does not go with sensitive = true, because the node records it for undo; let the command read a secret from a file"})
		case base && !given:
			errs = append(errs, invalid.Error{
				Attribute: name, Code: invalid.MissingParameter, Message: `is required with provider = "base"`,
			})
		}
	}
	if base && r.Parameters.Has("enable") {
		errs = append(errs, invalid.Error{Attribute: "enable", Message: `does not go with provider = "base": no service manager knows the service; leave it out`})
	}
	return errs
}

// serviceTarget is the service, whose name needs no suffix.
func serviceTarget(r resource.Resource) (name, aim string) {
	return strings.TrimSuffix(r.Parameters.StringOr("name", r.Title), ".service"), ""
}
