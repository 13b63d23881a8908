package systemtest

// Shown is a unit as `systemctl show` prints it.
func Shown(id, load, active, sub, file string) string {
	return "Type=notify\nResult=success\nId=" + id + "\nLoadState=" + load + "\nActiveState=" + active + "\nSubState=" + sub +
		"\nUnitFileState=" + file + "\nNeedDaemonReload=no\n"
}
