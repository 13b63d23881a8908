package transport

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// The host key policies.
const (
	strict    = "strict"
	acceptNew = "accept-new"
)

// hostKeys is the configuration of host keys, for all hops of a connection.
type hostKeys struct {
	node   string
	named  func(attribute string) string // as [site.Connection.Named]
	policy string
	lines  []string // known_hosts
	file   string   // known_hosts_file, expanded; may be empty
}

func newHostKeys(c site.Connection, node string) (*hostKeys, error) {
	h := &hostKeys{node: node, named: c.Named, policy: cmp.Or(c.HostKeyPolicy, strict), lines: c.KnownHosts}
	if h.policy != strict && h.policy != acceptNew {
		return nil, h.config(nil, "%s is %q: %q or %q is wanted", h.named("host_key_policy"), h.policy, strict, acceptNew)
	}
	if h.policy == acceptNew && c.KnownHostsFile == "" {
		return nil, h.config(nil, "%s %q needs %s, where new keys are remembered",
			h.named("host_key_policy"), acceptNew, h.named("known_hosts_file"))
	}
	if h.policy == strict && c.KnownHostsFile == "" && len(c.KnownHosts) == 0 {
		return nil, h.config(nil, "no host key is known: set %s or %s (ssh-keyscan prints lines for it; compare their "+
			"fingerprints with the node's own)", h.named("known_hosts"), h.named("known_hosts_file"))
	}
	if c.KnownHostsFile != "" {
		path, err := expand(c.KnownHostsFile)
		if err != nil {
			return nil, h.config(err, "%s: %v", h.named("known_hosts_file"), err)
		}
		h.file = path
	}
	return h, nil
}

func (h *hostKeys) config(cause error, format string, args ...any) *Error {
	return &Error{Kind: Config, Node: h.node, Message: resource.Textf(format, args...), Err: cause}
}

// database is one consistent snapshot of all known hosts.
type database struct {
	check   ssh.HostKeyCallback
	origin  map[int]string // line -> its position in the configuration or file
	authors map[int]bool   // lines of @cert-authority
	foreign map[int]bool   // lines with a key type that slipway does not know
}

// known is what a database has about one host.
type known struct {
	keys      []ssh.PublicKey // keys of the host
	where     []string        // positions of keys
	authority bool            // a certificate authority signs its certificates
	foreign   bool            // it has keys of types that slipway does not know
}

// read returns the known hosts for the connection to address (host:port). It reads the file again each time, because
// another connection may have added to it.
func (h *hostKeys) read(address string) (*database, error) {
	db := &database{origin: map[int]string{}, authors: map[int]bool{}, foreign: map[int]bool{}}
	var lines []string
	add := func(line, origin string) {
		lines = append(lines, withPort(line, knownhosts.Normalize(strings.ToLower(address))))
		db.origin[len(lines)] = origin
		db.authors[len(lines)] = strings.HasPrefix(line, "@cert-authority")
	}
	for i, line := range h.lines {
		line, origin := strings.TrimSpace(line), h.named(fmt.Sprintf("known_hosts[%d]", i))
		if _, err := parseKnownHost(line); err != nil {
			return nil, h.config(err, "%s: %v: a line like `host ssh-ed25519 AAAA...` is wanted", origin, err)
		}
		add(line, origin)
	}
	if h.file != "" {
		content, err := os.ReadFile(h.file)
		if err != nil && (h.policy != acceptNew || !errors.Is(err, fs.ErrNotExist)) {
			return nil, h.config(err, "%s: %s cannot be read: %v", h.named("known_hosts_file"), h.file, cause(err))
		}
		for i, line := range strings.Split(string(content), "\n") {
			line, origin := strings.TrimSpace(line), fmt.Sprintf("%s:%d", h.file, i+1)
			foreign, err := parseKnownHost(line)
			if foreign { // newer software may have written it: the line verifies nothing, but its hosts are known
				db.foreign[len(lines)+1] = true
				line, err = withStandIn(line)
			}
			if err != nil {
				return nil, h.config(err, "%s: %s: %v", h.named("known_hosts_file"), origin, err)
			}
			add(line, origin)
		}
	}
	check, err := newCallback(lines...)
	if err == nil {
		db.check = func(address string, remote net.Addr, key ssh.PublicKey) error {
			return check(strings.ToLower(address), remote, key)
		}
		return db, nil
	}
	for i, line := range lines { // the library names a temporary file: find the line itself
		if _, culprit := newCallback(line); culprit != nil {
			return nil, h.config(culprit, "%s: the host pattern is malformed", db.origin[i+1])
		}
	}
	return nil, h.config(err, "known hosts cannot be read: %v", err)
}

// withPort makes the library match the patterns of a line, whatever their case, with the host of a connection, which is
// in lower case, as OpenSSH does: by its text in known_hosts (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). That is
// `[host]:port`, and `host` on port 22: the library matches a pattern without a port with port 22 only, and `[host]:22`
// with port 22. A host on another port is added to the patterns that match it; on port 22, patterns with that port are
// left out, and a line without another is empty.
func withPort(line, host string) string {
	fields := strings.Fields(line)
	at := 0
	if strings.HasPrefix(line, "@") {
		at = 1
	}
	if line == "" || line[0] == '#' || len(fields) <= at {
		return line
	}
	if !strings.HasPrefix(fields[at], "|") { // a hash
		fields[at] = strings.ToLower(fields[at])
	}
	patterns := strings.Split(fields[at], ",")
	if !strings.HasPrefix(host, "[") {
		patterns = slices.DeleteFunc(patterns, func(p string) bool {
			p = strings.TrimPrefix(p, "!")
			return strings.HasPrefix(p, "[") && strings.HasSuffix(p, "]:22")
		})
		if len(patterns) == 0 {
			return ""
		}
		fields[at] = strings.Join(patterns, ",")
		return strings.Join(fields, " ")
	}
	for _, p := range patterns {
		pattern, negated := strings.CutPrefix(p, "!")
		if pattern == host || !matches(pattern, host) {
			continue
		}
		if negated {
			host = "!" + host
			fields[at] += "," + host
			break
		}
		if !slices.Contains(patterns, host) {
			patterns = append(patterns, host)
			fields[at] += "," + host
		}
	}
	return strings.Join(fields, " ")
}

// matches reports whether text matches pattern: * is any text, ? any one byte.
func matches(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return matches(pattern[1:], text) || text != "" && matches(pattern, text[1:])
	}
	return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && matches(pattern[1:], text[1:])
}

// withStandIn replaces the key of a line by a new key, which no host has.
func withStandIn(line string) (string, error) {
	key, err := newKey()
	if err != nil {
		return "", err
	}
	fields := strings.Fields(line)
	at := 1
	if strings.HasPrefix(line, "@") {
		at = 2
	}
	return strings.Join(fields[:at], " ") + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), nil
}

// newKey returns a public key whose private key nobody has.
func newKey() (ssh.PublicKey, error) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return ssh.NewPublicKey(public)
}

// newCallback passes lines to knownhosts in a temporary file, because it reads files only.
func newCallback(lines ...string) (ssh.HostKeyCallback, error) {
	f, err := os.CreateTemp("", "slipway-known-hosts-")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(strings.Join(lines, "\n"))
	err = errors.Join(err, f.Close())
	var check ssh.HostKeyCallback
	if err == nil {
		check, err = knownhosts.New(f.Name())
	}
	return check, errors.Join(err, os.Remove(f.Name()))
}

// parseKnownHost validates one line. foreign means that slipway does not know the type of its key.
func parseKnownHost(line string) (foreign bool, err error) {
	if line == "" || line[0] == '#' {
		return false, nil
	}
	if strings.Contains(line, "\n") {
		return false, errors.New("one line each is wanted, this holds several")
	}
	fields := strings.Fields(line)
	if strings.HasPrefix(line, "@") {
		if marker := fields[0]; marker != "@cert-authority" && marker != "@revoked" {
			return false, fmt.Errorf("unknown marker %q; only @cert-authority or @revoked may stand before the hosts", marker)
		}
		fields = fields[1:]
	}
	if _, _, _, _, _, err = ssh.ParseKnownHosts([]byte(line)); err == nil {
		return false, nil
	}
	if len(fields) < 3 {
		return false, errors.New("not a known_hosts line")
	}
	types := append(ssh.SupportedAlgorithms().HostKeys, ssh.InsecureAlgorithms().HostKeys...)
	if !slices.Contains(types, fields[1]) {
		return true, fmt.Errorf("unknown type of key %q", fields[1])
	}
	return false, errors.New("the key is malformed")
}

// lookup returns what is known of address (host:port).
func (db *database) lookup(address string) (known, error) {
	// knownhosts only answers "is it this key?"; for a key that nobody has, its error lists the known keys.
	stranger, err := newKey()
	if err != nil {
		return known{}, err
	}
	var k known
	var mismatch *knownhosts.KeyError
	err = db.check(address, &net.TCPAddr{}, stranger)
	if !errors.As(err, &mismatch) {
		return k, err
	}
	for _, want := range mismatch.Want {
		if db.authors[want.Line] {
			k.authority = true
			continue
		}
		if db.foreign[want.Line] {
			k.foreign = true
			continue
		}
		k.keys = append(k.keys, want.Key)
		k.where = append(k.where, db.origin[want.Line])
	}
	return k, nil
}

// algorithms returns the host key algorithms to request: those of the known keys, because a server with several keys
// shows only one; those of certificates when an authority is known; all plain ones for an unknown host.
func (k known) algorithms() []string {
	var first, out []string // ed25519 first, as in OpenSSH, so that both remember the same key of a host
	for _, a := range ssh.SupportedAlgorithms().HostKeys {
		certificate := strings.Contains(a, "-cert-")
		wanted := certificate && k.authority || !certificate && len(k.keys) == 0 && !k.authority ||
			!certificate && slices.ContainsFunc(k.keys, func(key ssh.PublicKey) bool { return keyType(a) == key.Type() })
		switch {
		case wanted && strings.Contains(a, "ed25519"):
			first = append(first, a)
		case wanted:
			out = append(out, a)
		}
	}
	return append(first, out...)
}

// keyType returns the type of key that a signature algorithm uses.
func keyType(algorithm string) string {
	switch algorithm {
	case ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512:
		return ssh.KeyAlgoRSA
	}
	return algorithm
}

// verifier checks the key of one hop during one handshake.
type verifier struct {
	hop     *hop
	db      *database
	known   known
	failure *Error                        // why it refused the key
	reached bool                          // a key came
	learn   func(key ssh.PublicKey) error // accept-new: remembers a key
}

func (v *verifier) check(address string, remote net.Addr, key ssh.PublicKey) error {
	v.reached = true
	err := v.db.check(address, remote, key)
	if err == nil {
		return nil
	}
	var mismatch *knownhosts.KeyError
	unknown := errors.As(err, &mismatch) && len(mismatch.Want) == 0
	if unknown && v.hop.hosts.policy == acceptNew {
		if err = v.learn(key); err == nil {
			return nil
		}
	}
	if !errors.As(err, &v.failure) {
		v.failure = v.refusal(key, err)
	}
	return v.failure
}

// refusal returns the error for a key that is not accepted.
func (v *verifier) refusal(key ssh.PublicKey, err error) *Error {
	var mismatch *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &revoked):
		return v.hop.errorf(HostKey, err, "the host key %s of %s is revoked in %s: give the host a new key",
			describe(key), v.hop.address, v.db.origin[revoked.Revoked.Line])
	case errors.As(err, &mismatch) && len(mismatch.Want) == 0:
		return v.hop.errorf(HostKey, err,
			"the host key of %s is unknown; it showed %s. Compare that with the host's own (ssh-keygen -lf "+
				"/etc/ssh/ssh_host_*_key.pub there); if they are equal, add this line to %s or %s: %s",
			v.hop.address, describe(key), v.hop.named("known_hosts"), v.hop.named("known_hosts_file"),
			knownhosts.Line([]string{v.hop.address}, key))
	case errors.As(err, &mismatch) && len(v.known.keys) > 0:
		return v.changed("it showed " + describe(key))
	case errors.As(err, &mismatch) && v.known.foreign:
		return v.hop.errorf(HostKey, err,
			"the host key %s of %s is unknown: known_hosts has only keys of types that slipway cannot verify for it. Compare that with "+
				"the host's own; if they are equal, add this line to %s or %s: %s",
			describe(key), v.hop.address, v.hop.named("known_hosts"), v.hop.named("known_hosts_file"),
			knownhosts.Line([]string{v.hop.address}, key))
	case errors.As(err, &mismatch):
		return v.hop.errorf(HostKey, err,
			"%s shows the plain host key %s, but known_hosts has only a certificate authority for it: "+
				"a host certificate signed by that authority is wanted", v.hop.address, describe(key))
	}
	return v.hop.errorf(HostKey, err, "the host certificate of %s is not accepted: %v", v.hop.address, err)
}

// changed returns the error for a known host that shows none of its known keys.
func (v *verifier) changed(shown string) *Error {
	expected := make([]string, len(v.known.keys))
	for i, k := range v.known.keys {
		expected[i] = fmt.Sprintf("%s (%s)", describe(k), v.known.where[i])
	}
	return v.hop.errorf(HostKey, nil,
		"the host key of %s has CHANGED: expected %s; %s. Either the host was reinstalled, then put its new key "+
			"in that place, or someone is in between", v.hop.address, strings.Join(expected, " or "), shown)
}
