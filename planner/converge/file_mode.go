package converge

import (
	"io/fs"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// wantedMode returns the mode that a resource wants of what is to be a file or directory: kind and info are what is
// there now.
func wantedMode(text, ensure, kind string, info system.Info) (fs.FileMode, error) {
	m, err := schema.ParseMode(text)
	is := system.ChmodBits(info.Mode)
	if kind != ensure { // it is made
		is = 0o644
		if ensure == fileDirectory {
			is = 0o755
		}
	}
	return fs.FileMode(m.Of(is, ensure == fileDirectory)), err
}
