package schema

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A resource of the types below is one or two whole files of a node, together with what reads them. The files are
// resources of the type file, so that they are checked, written and undone as those are.

// wholeFile returns a file of r with a content, or without one the file that r leaves absent.
func wholeFile(r resource.Resource, at, content string) resource.Resource {
	f := resource.Resource{Type: fileType, Title: at, Parameters: resource.Parameters{"ensure": "absent"}}
	if !WantsAbsent(r) {
		f.Parameters = resource.Parameters{"content": content}
	}
	if r.Sensitive() {
		f.Parameters[resource.Sensitive] = true
		if !WantsAbsent(r) {
			f.Parameters["mode"] = "0600"
		}
	}
	return f
}

// publicFile is wholeFile for a file that programs of other users read, whatever else r has.
func publicFile(r resource.Resource, at, content string) resource.Resource {
	f := wholeFile(r, at, content)
	if f.Parameters.Has("mode") {
		f.Parameters["mode"] = "0644"
	}
	return f
}

// ensureParameter says whether what a resource is about is there.
func ensureParameter(what string) resource.Parameter {
	return resource.Parameter{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"},
		Description: "Whether " + what + " is there. Default: present."}
}

// ensureAlike is [resource.Schema.Alike] of types of which only ensure can be written in several ways: it has a
// default, and some values stand for others.
func ensureAlike(otherwise string, same map[string]string) func(resource.Resource) resource.Parameters {
	return func(r resource.Resource) resource.Parameters {
		ensure, given := r.Parameters["ensure"]
		if !given {
			ensure = otherwise
		}
		text, _ := ensure.(string)
		if other, has := same[text]; has {
			ensure = other
		}
		return resource.Parameters{"ensure": ensure}
	}
}

// targetOf is the target of types that are known by the path of their first file. Which of the files they have, and
// whether they are absent, is part of the aim.
func targetOf(files func(resource.Resource) []resource.Resource) func(resource.Resource) (object, aim string) {
	return func(r resource.Resource) (object, aim string) {
		all := files(r)
		aim = aimOf(!WantsAbsent(r))
		for _, f := range all[1:] {
			aim = strings.TrimSpace(aim + " " + f.Title)
		}
		return all[0].Title, aim
	}
}

// HostnamePath has the name of a node at boot.
const HostnamePath = "/etc/hostname"

// Hostname declares the type hostname.
func Hostname() resource.Schema {
	return resource.Schema{
		Type: "hostname",
		Summary: "The name of a node: /etc/hostname, and the name that the kernel has. The title is the name, such as web1 or web1.example.com. " +
			"A line for it in /etc/hosts is a resource of its own, of the type `host`.",
		Restorable: true, NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "hostname", Kind: resource.String, Check: checkNodeName,
				Description: "The name, at most 64 characters. Default: the title."},
		},
		Check:  checkTitleOf("hostname", checkNodeName),
		Target: targetOf(HostnameFiles),
	}
}

// NodeName returns the name that r gives to its node.
func NodeName(r resource.Resource) string { return r.Parameters.StringOr("hostname", r.Title) }

// HostnameFiles returns the file of r.
func HostnameFiles(r resource.Resource) []resource.Resource {
	return []resource.Resource{wholeFile(r, HostnamePath, NodeName(r)+"\n")}
}

func checkNodeName(value any) error {
	name, _ := value.(string)
	valid := len(name) <= 64 // the kernel has no more room
	for part := range strings.SplitSeq(name, ".") {
		valid = valid && len(part) <= 63 && spelled(part, "", "-") && !strings.HasSuffix(part, "-")
	}
	if !valid {
		return fmt.Errorf("%q is not the name of a node: letters, digits, - and dots, at most 64", name)
	}
	return nil
}

// SystemdUnit declares the type systemd_unit.
func SystemdUnit() resource.Schema {
	return resource.Schema{
		Type: "systemd_unit",
		Summary: "A unit file of systemd in /etc/systemd/system, or a drop-in of a unit; systemd reads its files again when one has changed. " +
			"Services of the unit come after it, and restart where they `subscribe` to it.",
		Restorable: true,
		Parameters: []resource.Parameter{
			ensureParameter("the file"),
			{Name: "unit", Kind: resource.String, Check: checkUnit,
				Description: "The unit with its suffix, such as `app.service` or `app@.service`. Default: the title."},
			{Name: "filename", Kind: resource.String, Check: checkDropIn,
				Description: "Name of a drop-in of the unit, such as `limits.conf`. Default: it is the unit's own file."},
			{Name: "content", Kind: resource.String, Secret: true, Check: checkContent,
				Description: "The whole content. Required unless the file is to be absent. `Environment=` in it is shown to every user of the node by systemd: put a secret into an EnvironmentFile."},
		},
		Check: func(r resource.Resource) []invalid.Error {
			return append(errorOf("unit", checkUnit(UnitName(r))), neededUnlessAbsent(r, "content")...)
		},
		Alike:  ensureAlike("present", nil),
		Target: targetOf(UnitFiles),
	}
}

// UnitName returns the unit that r is about.
func UnitName(r resource.Resource) string { return r.Parameters.StringOr("unit", r.Title) }

// UnitFiles returns the file of r.
func UnitFiles(r resource.Resource) []resource.Resource {
	at := "/etc/systemd/system/" + UnitName(r)
	if r.Parameters.Has("filename") {
		at += ".d/" + r.Parameters.String("filename")
	}
	return []resource.Resource{wholeFile(r, at, r.Parameters.String("content"))}
}

func checkUnit(value any) error {
	name, _ := value.(string)
	if !IsServiceName(name) || strings.TrimSuffix(name, path.Ext(name)) == "" || len(path.Ext(name)) < 2 {
		return fmt.Errorf("%q is not a unit with its suffix, such as app.service", name)
	}
	return nil
}

func checkDropIn(value any) error {
	if name, _ := value.(string); !spelled(name, "_", "_.-") || !strings.HasSuffix(name, ".conf") {
		return fmt.Errorf("%q is not the name of a file such as limits.conf", name)
	}
	return nil
}

// KernelModule declares the type kernel_module.
func KernelModule() resource.Schema {
	return resource.Schema{
		Type: "kernel_module",
		Summary: "A module of the kernel: whether it is loaded, and a file in /etc/modules-load.d that loads it at boot, or one in /etc/modprobe.d " +
			"that forbids to load it. The title is its name. Kernel parameters come after it.",
		Restorable: true, NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"},
				Description: "present: loaded, now and at boot. absent: not loaded, and not by anything else; one that is built into the kernel, or in use, is an error. Default: present."},
			{Name: "options", Kind: resource.StringList, Check: checkModuleOptions,
				Description: "Parameters of the module, NAME=VALUE, for the next time that it is loaded. Default: those that others give it."},
		},
		Check: func(r resource.Resource) []invalid.Error {
			errs := errorOf("title", checkModule(r.Title))
			if WantsAbsent(r) && r.Parameters.Has("options") {
				errs = append(errs, invalid.Error{Attribute: "options", Message: `does not go with ensure = "absent"`})
			}
			return errs
		},
		Alike:  ensureAlike("present", nil),
		Target: targetOf(ModuleFiles),
	}
}

// ModuleName returns the name of r's module as the kernel has it.
func ModuleName(r resource.Resource) string { return strings.ReplaceAll(r.Title, "-", "_") }

// ModuleFiles returns the files of r: what loads it, or forbids to load it, and its options.
func ModuleFiles(r resource.Resource) []resource.Resource {
	name := ModuleName(r)
	rules := resource.Resource{Type: fileType, Title: "/etc/modprobe.d/slipway-" + name + ".conf"}
	load := wholeFile(r, "/etc/modules-load.d/slipway-"+name+".conf", name+"\n")
	switch {
	case WantsAbsent(r):
		rules.Parameters = resource.Parameters{"content": "blacklist " + name + "\ninstall " + name + " /bin/false\n"}
	case r.Parameters.Has("options"):
		rules.Parameters = resource.Parameters{
			"content": "options " + name + " " + strings.Join(r.Parameters.Strings("options"), " ") + "\n"}
	default:
		rules.Parameters = resource.Parameters{"ensure": "absent"}
	}
	return []resource.Resource{load, rules}
}

func checkModule(value any) error {
	if name, _ := value.(string); !spelled(name, "_", "_-") {
		return fmt.Errorf("%q is not the name of a kernel module, such as br_netfilter", name)
	}
	return nil
}

func checkModuleOptions(value any) error {
	options, _ := value.([]string)
	for _, o := range options {
		if name, _, ok := strings.Cut(o, "="); !ok || !spelled(name, "_", "_-.") || strings.ContainsFunc(o, func(c rune) bool {
			return c <= ' ' || c == '#' || c == '\\' || c == 0x7f
		}) {
			return fmt.Errorf("%q is not of the form NAME=VALUE", o)
		}
	}
	if len(options) == 0 {
		return errors.New("must not be empty")
	}
	return nil
}

// checkTitleOf checks the title where it stands for a parameter.
func checkTitleOf(parameter string, check func(any) error) func(resource.Resource) []invalid.Error {
	return func(r resource.Resource) []invalid.Error {
		return errorOf(parameter, check(r.Parameters.StringOr(parameter, r.Title)))
	}
}
