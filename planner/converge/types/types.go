package types

// configuration is the table of all configuration resource types; planner/schema says what may be written of them.
var configuration = map[string]Type{
	"cron":               cronType{},
	"exec":               execType{},
	"file":               fileType{},
	"file_line":          lineType{},
	"group":              groupType{},
	"host":               hostType{},
	"ini_setting":        iniType{},
	"mount":              mountType{},
	"package":            packageType{},
	"service":            serviceType{},
	"ssh_authorized_key": authorizedKeyType{},
	"sysctl":             sysctlType{},
	"timezone":           timezoneType{},
	"user":               userType{},
}
