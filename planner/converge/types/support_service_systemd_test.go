package types

import (
	"testing"
)

// shown is one unit as `systemctl show` prints it.
func shown(id, load, active, sub, file string) string {
	return "Type=notify\nResult=success\nId=" + id + "\nLoadState=" + load + "\nActiveState=" + active + "\nSubState=" + sub +
		"\nUnitFileState=" + file + "\nNeedDaemonReload=no\n"
}

func systemdNode(t *testing.T, r *recorder) *Session {
	t.Helper()
	return wholeMachine(t, map[string]string{"/run/systemd/system/": ""}, r.run)
}
