package types

// configuration is the table of all configuration resource types; planner/schema says what may be written of them.
var configuration = map[string]Type{
	"apt_repository":     filesType{name: "apt_repository"},
	"archive":            archiveType{},
	"cron":               cronType{},
	"exec":               execType{},
	"file":               fileType{},
	"file_line":          lineType{},
	"group":              groupType{},
	"host":               hostType{},
	"hostname":           filesType{name: "hostname"},
	"ini_setting":        iniType{},
	"kernel_module":      filesType{name: "kernel_module"},
	"mount":              mountType{},
	"package":            packageType{},
	"service":            serviceType{},
	"ssh_authorized_key": authorizedKeyType{},
	"sysctl":             sysctlType{},
	"systemd_unit":       filesType{name: "systemd_unit"},
	"timezone":           timezoneType{},
	"user":               userType{},
	"vcsrepo":            vcsType{},
	"yum_repository":     filesType{name: "yum_repository"},
}
