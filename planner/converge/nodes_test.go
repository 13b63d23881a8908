package converge

import (
	"math/rand/v2"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

type recorder = systemtest.Recorder

// folder is a session on a sandbox with what a test puts into it.
func folder(t testing.TB, files map[string]string) *types.Session {
	t.Helper()
	return &types.Session{System: systemtest.Folder(t, files)}
}

// wholeMachine is a session on a sandbox that passes for a whole machine, with commands that do what run says.
func wholeMachine(t testing.TB, files map[string]string, run func(system.Command) (system.Output, error)) *types.Session {
	t.Helper()
	return &types.Session{System: systemtest.Machine(t, files, run)}
}

func systemdNode(t *testing.T, r *recorder) *types.Session {
	t.Helper()
	return wholeMachine(t, map[string]string{"/run/systemd/system/": ""}, r.Run)
}

// aptNode is a node with apt whose database the test can change.
func aptNode(t *testing.T, database string, r *recorder) *types.Session {
	t.Helper()
	return wholeMachine(t, systemtest.Apt(database), r.Run)
}

// nowInstalled returns an effect that rewrites the database.
func nowInstalled(t *testing.T, s **types.Session, database, auto string) func() {
	return func() { systemtest.Install(t, (*s).Root, database, auto) }
}

// kernel is a session on a node whose mounts are kept account of.
type kernel struct {
	*systemtest.Kernel
	sys *types.Session
}

func newKernel(t *testing.T, fstab string, live ...string) *kernel {
	k := systemtest.NewKernel(t, fstab, live...)
	return &kernel{Kernel: k, sys: &types.Session{System: k.System}}
}

// res returns a resource as the engine would give it to a type: valid and normalised.
func res(t testing.TB, typ types.Type, title string, parameters resource.Parameters) resource.Resource {
	t.Helper()
	schema := typ.Schema()
	r := resource.Resource{Type: schema.Type, Title: title, Parameters: parameters}
	if errs := schema.Validate(r); len(errs) > 0 {
		t.Fatalf("%s: %v", r.ID(), errs)
	}
	return schema.Normalize(r)
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
