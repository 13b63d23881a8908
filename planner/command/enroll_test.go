package command

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// companion is the command slipway of scripts.
func companion() {
	cmd := New("test", nil, "")
	cmd.SetArgs(os.Args[1:])
	err := cmd.ExecuteContext(context.Background())
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\n[status %d]\n", err, ExitStatus(err))
	}
	os.Exit(ExitStatus(err))
}

// TestEnroll runs the scenarios of testdata/enroll, in which slipway is the companion.
func TestEnroll(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/enroll", UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != ""})
}
