package remote

import (
	"fmt"
	"strings"
)

// marker begins every line that the bootstrap writes, so that greetings of login scripts cannot be taken for it.
const marker = "slipway-bootstrap "

// What follows the marker.
const (
	saysShell = "shell" // the login shell ran the command
	saysRoot  = "root"  // the session's user is root
	saysNeed  = "need"  // followed by the platform: the helper is wanted, compressed, on standard input
	saysHave  = "have"  // the helper is there and runs from here on
	saysFail  = "fail"  // followed by a reason; the rest of the output tells more
)

// The reasons after saysFail.
const (
	notRoot     = "not_root"
	noPlatform  = "platform"
	notWritable = "not_writable"
	noGunzip    = "no_gunzip"
	badUpload   = "bad_upload"
	notRunnable = "not_runnable"
)

// machines are the answers of `uname -s`/`uname -m` for which a platform's helper is the right one.
var machines = map[string]string{
	"linux/386":     "Linux/i386|Linux/i486|Linux/i586|Linux/i686",
	"linux/amd64":   "Linux/x86_64|Linux/amd64",
	"linux/arm":     "Linux/armv6l|Linux/armv7l",
	"linux/arm64":   "Linux/aarch64|Linux/arm64",
	"linux/riscv64": "Linux/riscv64",
}

// command returns what is started on the node. prompt is sudo's, when there is a password for it.
func (h Helpers) command(sudo bool, prompt string) string {
	script := h.bootstrap()
	if sudo {
		become := "exec sudo -n"
		if prompt != "" {
			become = "exec sudo -S -p " + quote(prompt)
		}
		script = become + " /bin/sh -c " + quote(script)
	}
	// A line of its own, whatever login scripts have printed.
	return "/bin/sh -c " + quote("echo; echo "+quote(marker+saysShell)+"; "+script)
}

// bootstrap returns the script that starts the helper, and fetches it first when it is not there. It needs a POSIX
// shell, head -c and gzip, all of which busybox has. Because login shells of many kinds pass it on, it is one line without backslashes, `!` and
// single quotes.
func (h Helpers) bootstrap() string {
	var arms strings.Builder
	for _, platform := range h.Platforms() {
		if p := h.carried[platform]; machines[platform] != "" {
			fmt.Fprintf(&arms, "%s) w=%s; h=%s; n=%d; z=%d; s=%s;; ", machines[platform], platform, p.file(), len(p.compressed), p.size, p.sum)
		}
	}
	return strings.NewReplacer("MARKER", strings.TrimSpace(marker), "ARMS", arms.String(), "DIRECTORY", h.directory).Replace(strings.Join([]string{
		`fail() { echo "MARKER fail $1"; shift; echo "$*"; exit 1; }`,
		`[ "$(id -u)" = 0 ] || fail not_root "$(id -un)"`,
		`echo "MARKER root"`,
		`p="$(uname -s)/$(uname -m)"`,
		`case "$p" in ARMS*) fail platform "$p";; esac`,
		`u=$(umask)`,
		`umask 077`,
		`d="DIRECTORY"`,
		`f="$d/$h"`,
		`[ -d "$d" ] || e=$(mkdir -p "$d" 2>&1) || fail not_writable "$e"`,
		// A crash of the node may have left a file that is too short (it is renamed into place, but not every file system keeps that order).
		`if [ -f "$f" ] && [ "$(wc -c <"$f")" -eq "$z" ]; then :; else ` + strings.Join([]string{
			`if command -v gzip >/dev/null 2>&1; then g="gzip -dc"; elif command -v gunzip >/dev/null 2>&1; then g="gunzip -c"; else fail no_gunzip; fi`,
			`t="$d/.$h.$$"`,
			`drop() { rm -f "$t"; }`,
			`trap drop 0`,
			`e=$( { : >"$t"; } 2>&1) || fail not_writable "$e"`,
			`echo "MARKER need $w"`,
			`e=$( { head -c "$n" | $g >"$t"; } 2>&1) || fail not_writable "$e"`,
			`[ "$(wc -c <"$t")" -eq "$z" ] || fail bad_upload "$(wc -c <"$t") bytes instead of $z"`,
			`if command -v sha256sum >/dev/null 2>&1; then c=$(sha256sum <"$t"); [ "${c%% *}" = "$s" ] || fail bad_upload "its digest is ${c%% *}"; fi`,
			`chmod 700 "$t"`,
			`sync "$t" 2>/dev/null || sync`,
			`e=$(mv -f "$t" "$f" 2>&1) || fail not_writable "$e"`,
			`trap - 0`,
			`for o in "$d"/helper-*; do [ "$o" = "$f" ] || rm -f "$o"; done`,
			`find "$d" -name ".helper-*" -mmin +60 -exec rm -f {} + 2>/dev/null`,
		}, "; ") + `; fi`,
		`[ -x "$f" ] || fail not_runnable`,
		`umask "$u"`,
		`cd /`,
		`echo "MARKER have"`,
		`exec "$f"`,
	}, "; "))
}
