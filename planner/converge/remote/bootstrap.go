package remote

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// newMark returns the word that begins every line of a session's bootstrap. It is random, so that nothing that login
// scripts print is taken for such a line.
func newMark() string { return "slipway-bootstrap-" + rand.Text() }

// What follows the mark.
const (
	saysShell = "shell" // the login shell ran the command
	saysRoot  = "root"  // the session's user is root
	saysNeed  = "need"  // followed by the platform: the helper is wanted, compressed, on standard input
	saysHave  = "have"  // the helper is there and runs from here on
	saysAgain = "again" // the helper has ended well; a line starts it again
	saysFail  = "fail"  // followed by a reason; the rest of the output says more
)

// The reasons after saysFail.
const (
	notRoot     = "not_root"
	noPlatform  = "platform"
	notWritable = "not_writable"
	noGunzip    = "no_gunzip"
	badUpload   = "bad_upload"
	notRunnable = "not_runnable"
	notOurs     = "not_ours"
)

// machines are the answers of `uname -s`/`uname -m` for which a platform's helper is the right one.
var machines = map[string]string{
	"linux/386":     "Linux/i386|Linux/i486|Linux/i586|Linux/i686",
	"linux/amd64":   "Linux/x86_64|Linux/amd64",
	"linux/arm":     "Linux/armv6l|Linux/armv7l",
	"linux/arm64":   "Linux/aarch64|Linux/arm64",
	"linux/riscv64": "Linux/riscv64",
}

// findPrograms sets a search path where login scripts have broken theirs.
const findPrograms = "command -v id >/dev/null 2>&1 || export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; "

// command returns what is started on the node. prompt is sudo's, when there is a password for it.
func (h Helpers) command(mark string, sudo bool, prompt string) string {
	script := h.bootstrap(mark)
	if sudo {
		become := "exec sudo -n"
		if prompt != "" {
			become = "exec sudo -S -p " + quote(prompt)
		}
		script = become + " /bin/sh -c " + quote(script)
	}
	// A line of its own, whatever login scripts have printed.
	return "/bin/sh -c " + quote("echo; echo "+quote(mark+" "+saysShell)+"; "+findPrograms+script)
}

// bootstrap returns the script that starts the helper, and fetches it first when it is not there. It needs a POSIX
// shell, head -c and gzip, all of which busybox has. Because login shells of many kinds pass it on, it is one line
// without backslashes, `!` and single quotes.
//
// It executes nothing that another user could have put there: the directory is not a link, it and all above it belong
// to root and are not writable for others (above it, sticky directories and the group root may be, the latter unless ls
// shows an access list, which that of busybox does not), and a helper that is there has the right owner, mode and
// digest. One that has not, or that cannot be checked, for want of sha256sum, is sent again. Before it is started again
// in the same session, all but the digest is checked again.
func (h Helpers) bootstrap(mark string) string {
	var arms strings.Builder
	for _, platform := range h.Platforms() {
		if p := h.carried[platform]; machines[platform] != "" {
			fmt.Fprintf(&arms, "%s) w=%s; h=%s; n=%d; z=%d; s=%s;; ",
				machines[platform], platform, p.file(), len(p.Compressed), p.size(), p.Sum)
		}
	}
	values := strings.NewReplacer("MARKER", mark, "ARMS", arms.String(), "DIRECTORY", h.directory)
	return values.Replace(strings.Join([]string{
		`fail() { echo "MARKER fail $1"; shift; echo "$*"; exit 1; }`,
		`[ "$(id -u)" = 0 ] || fail not_root "$(id -un)"`,
		`echo "MARKER root"`,
		`p=$(uname -sm)`,
		`p="${p% *}/${p#* }"`,
		`case "$p" in ARMS*) fail platform "$p";; esac`,
		`u=$(umask)`,
		`umask 077`,
		`d="DIRECTORY"`,
		`[ -d "$d" ] || e=$(mkdir -p "$d" 2>&1) || fail not_writable "$e"`,
		`[ -L "$d" ] && fail not_ours "$(ls -ldn "$d")"`,
		`e=$(cd -P "$d" 2>&1) && cd -P "$d" || fail not_writable "$e"`,
		`d=$(pwd -P)`,
		`f="$d/$h"`,
		`[ -d "$f" ] && fail not_writable "$f is a directory; remove it"`,
		`q="$d"`,
		`k=d`,
		`set -- /`,
		`while [ "$q" ]; do set -- "$@" "$q"; q="${q%/*}"; k="d$k"; done`,
		`[ -e "$f" ] && set -- "$@" "$f"`,
		// look prints d for each directory and - for the helper, or the lines of what is not root's alone.
		`look() { ls -ldn "$@" 2>&1 | { b=; k=; o=; while read -r m l u g r; do ` +
			`case "$r" in *" $f"|*" $f -> "*) case "$m:$u" in -????-??-*:0) o=-;; esac; continue;; ` +
			`*" $d") case "$m:$u" in d????-??-*:0) k="d$k"; continue;; esac;; ` +
			`*) case "$m:$u:$g" in d????????[tT]*:0:*|d????-??-*:0:*) k="d$k"; continue;; ` +
			// With an access list, which ls shows as +, the bits of the group are those of the list's mask.
			`*+:*) ;; d???????-*:0:0) k="d$k"; continue;; esac;; esac; ` +
			`b="$b$m $l $u $g $r; "; done; echo "${b:-$k$o}"; }; }`,
		`o=$(look "$@")`,
		`case "$o" in "$k"|"$k-") ;; *) fail not_ours "${o%; }";; esac`,
		`if [ "$o" = "$k-" ] && [ -x "$f" ] && c=$( { sha256sum <"$f"; } 2>/dev/null) && [ "${c%% *}" = "$s" ]; then :; else ` +
			strings.Join([]string{
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
				`set -- "$@" "$f"`,
			}, "; ") + `; fi`,
		`[ -x "$f" ] || fail not_runnable`,
		`umask "$u"`,
		`cd /`,
		`while :; do echo "MARKER have"; "$f"; s=$?; [ "$s" = 0 ] || exit "$s"; ` +
			`echo "MARKER again"; o=; until [ "$o" = again ]; do read -r o || exit 0; done; ` +
			`[ "$(look "$@")" = "$k-" ] || exit 0; done`,
	}, "; "))
}
