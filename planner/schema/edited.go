package schema

import "github.com/slipway/terraform-provider-slipway/planner/resource"

// editors are the types that manage a file, or a part of one, other than the type file, with the paths of these.
var editors = map[string]func(resource.Resource) []string{
	"apt_repository":     pathsOf(AptFiles),
	"archive":            archivePaths,
	"file_line":          func(r resource.Resource) []string { return []string{r.Parameters.String("path")} },
	"host":               func(resource.Resource) []string { return []string{"/etc/hosts"} },
	"hostname":           pathsOf(HostnameFiles),
	"ini_setting":        func(r resource.Resource) []string { return []string{r.Parameters.String("path")} },
	"kernel_module":      pathsOf(ModuleFiles),
	"mount":              func(resource.Resource) []string { return []string{"/etc/fstab"} },
	"ssh_authorized_key": func(r resource.Resource) []string { return []string{KeysFile(r)} },
	"systemd_unit":       pathsOf(UnitFiles),
	"timezone":           func(resource.Resource) []string { return []string{TimezonePath} },
	"yum_repository":     pathsOf(YumFiles),
}

// pathsOf returns what gives the paths of the files of a type.
func pathsOf(files func(resource.Resource) []resource.Resource) func(resource.Resource) []string {
	return func(r resource.Resource) (paths []string) {
		for _, f := range files(r) {
			paths = append(paths, f.Title)
		}
		return paths
	}
}

// Edited returns the paths of files that a resource manages, or a part of which, without being of the type file.
func Edited(r resource.Resource) []string {
	if paths, edits := editors[r.Type]; edits {
		return paths(r)
	}
	return nil
}
