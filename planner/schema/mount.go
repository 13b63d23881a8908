package schema

import (
	"errors"
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Mount declares the type mount.
func Mount() resource.Schema {
	return resource.Schema{
		Type: "mount",
		Summary: "A mount point: its line of /etc/fstab and whether it is mounted; the title is its path. " +
			"It does not make its directory: that is a `file`, which comes before it, and whose `owner`, `group` and `mode` what is mounted takes, too. Files below it come after it. It is mounted again when it is notified.",
		NeedsMachine: true,
		Restorable:   true,
		Parameters: []resource.Parameter{
			{
				Name: "ensure", Kind: resource.String, Values: []string{"mounted", "present", "defined", "unmounted", "absent"},
				Description: "mounted: in fstab and mounted. unmounted: in fstab and not mounted. present, or defined: in fstab, mounted or not. absent: neither. Default: mounted.",
			},
			{Name: "device", Kind: resource.String, Check: checkMountField,
				Description: "What is mounted: a device, UUID=..., LABEL=..., or a remote directory. Required unless the mount point is to be absent."},
			{Name: "fstype", Kind: resource.String, Check: checkMountField,
				Description: "Type of the file system. Default: the one in fstab, or auto. `swap` is an area for swapping, which has no mount point: `device` says which, the title is any text, mounted and unmounted say whether the kernel uses it, and of the options pri=N and discard are given to swapon."},
			{Name: "options", Kind: resource.String, Check: checkMountField,
				Description: "Options, with commas between them. Default: those in fstab, or defaults."},
			{Name: "dump", Kind: resource.Integer, Check: checkMountNumber,
				Description: "Field 5 of fstab, 0 to 9. Default: the one in fstab, or 0."},
			{Name: "pass", Kind: resource.Integer, Check: checkMountNumber,
				Description: "Field 6 of fstab, the order of checks at boot, 0 to 9. Default: the one in fstab, or 0 (no check)."},
			{Name: "remounts", Kind: resource.Bool,
				Description: "Whether what is mounted takes new options by a remount. With false it is unmounted and mounted. Default: true."},
			{Name: "atboot", Kind: resource.String, Scalars: true, Unused: true, Check: checkAtBoot,
				Description: "Accepted for Puppet's sake where it is true or \"yes\", and changes nothing: what is in fstab is mounted at boot, unless its options have noauto."},
		},
		Check: func(r resource.Resource) []invalid.Error {
			if IsSwap(r) && r.Parameters.Has("device") {
				return nil
			}
			if IsSwap(r) {
				return []invalid.Error{{Attribute: "device", Code: invalid.MissingParameter, Message: `is required with fstype = "swap", which has no mount point`}}
			}
			var errs []invalid.Error
			if err := checkShortest(r.Title); err != nil {
				errs = append(errs, invalid.Error{Attribute: "title", Message: err.Error() + "; it is the mount point"})
			}
			return append(errs, neededUnlessAbsent(r, "device")...)
		},
		Alike: ensureAlike("mounted", map[string]string{"defined": "present"}),
		Target: func(r resource.Resource) (name, aim string) {
			if IsSwap(r) {
				return "swap " + r.Parameters.String("device"), ""
			}
			return r.Title, ""
		},
	}
}

// IsSwap reports whether a mount is an area for swapping.
func IsSwap(r resource.Resource) bool { return r.Parameters.String("fstype") == "swap" }

// FileAttributes are the parameters of a file that what is mounted on it takes, too.
var FileAttributes = []string{"owner", "group", "mode"}

// IsMountPoint reports whether a resource is the file for a mount point, and says something that counts for what is
// mounted there.
func IsMountPoint(r resource.Resource, point string) bool {
	return point != "" && r.Type == "file" && FilePath(r) == point && FileEnsure(r) == fileDirectory &&
		slices.ContainsFunc(FileAttributes, r.Parameters.Has)
}

func checkAtBoot(value any) error {
	if text, _ := value.(string); text != "true" && text != "yes" {
		return fmt.Errorf(`%q is what fstab says with an option; leave atboot out and give options = "noauto"`, text)
	}
	return nil
}

func checkMountField(value any) error {
	if text, _ := value.(string); text == "" {
		return errors.New("must not be empty; leave the parameter out instead")
	}
	return checkOneLine(value)
}

func checkMountNumber(value any) error {
	n, ok := value.(int64)
	if !ok || n < 0 || n > 9 {
		return fmt.Errorf("%d is out of bounds; use 0 to 9", n)
	}
	return nil
}
