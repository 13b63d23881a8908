package converge

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// needs reports the programs of Catalog.Needs that are not there.
func (x *session) needs() *SessionError {
	missing, err := x.sys.MissingPrograms(x.catalog.Needs)
	if err != nil {
		return &SessionError{Code: CodeNeeds, Message: err.Error()}
	}
	if len(missing) == 0 {
		return nil
	}
	is, them := "program "+missing[0]+" is", "it"
	if len(missing) > 1 {
		is, them = "programs "+strings.Join(missing, ", ")+" are", "them"
	}
	return &SessionError{Code: CodeNeeds, Message: fmt.Sprintf("the %s not on the node (looked in %s); "+
		"tasks of this run call %s: install %s first", is, system.ProgramPath, them, them)}
}
