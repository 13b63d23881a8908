package transport

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keySource is what the configuration says about one private key.
type keySource struct {
	named       func(attribute string) string // as [site.Connection.Named]
	of          string                        // the bastion that has the key: "bastions[0]."; "" is the connection itself
	key         string                        // PEM text
	file        string
	passphrase  string
	certificate string
}

// at returns an attribute of the source as the user wrote it.
func (s keySource) at(attribute string) string { return s.named(s.of + attribute) }

func (s keySource) empty() bool { return s.key == "" && s.file == "" }

// keyring is the keys that one hop is offered, in this order.
type keyring struct {
	signers []ssh.Signer
	names   []string // of signers, for messages
}

func (k *keyring) add(s ssh.Signer, name string) {
	k.signers = append(k.signers, s)
	k.names = append(k.names, name)
}

// newKeyring loads a private key and its certificate. Without a source it is empty.
func newKeyring(node string, source keySource) (*keyring, error) {
	ring := &keyring{}
	if !source.empty() {
		if err := ring.load(node, source); err != nil {
			return nil, err
		}
	} else if source.certificate != "" {
		return nil, &Error{Kind: Config, Node: node,
			Message: resource.Textf("%s is set without the private key that it belongs to: set "+
				"%s or %s", source.at("certificate"), source.at("private_key"), source.at("private_key_file"))}
	}
	return ring, nil
}

// withAgent returns the keys followed by those of the agent. It fails when there is no key at all.
func (k *keyring) withAgent(node string, agentKeys []ssh.Signer) (*keyring, error) {
	all := &keyring{signers: slices.Clone(k.signers), names: slices.Clone(k.names)}
	for _, s := range agentKeys {
		all.add(s, fmt.Sprintf("%s of the agent", describe(s.PublicKey())))
	}
	if len(all.signers) == 0 {
		return nil, &Error{Kind: Config, Node: node,
			Message: "there is nothing to authenticate with: set connection.private_key (connect.credentials.private_key of a node), " +
				"connection.private_key_file, or connection.agent with a key in the agent"}
	}
	return all, nil
}

func (k *keyring) load(node string, source keySource) error {
	attribute, text := source.at("private_key"), []byte(source.key)
	where := attribute
	if source.key == "" {
		attribute = source.at("private_key_file")
		path, err := expand(source.file)
		if err != nil {
			return keyError(node, err, "%s: %v", attribute, err)
		}
		where = fmt.Sprintf("%s: %s", attribute, path)
		if text, err = os.ReadFile(path); err != nil {
			return keyError(node, err, "%s: cannot be read: %v", where, cause(err))
		}
	}
	signer, err := parseKey(text, source)
	if err != nil {
		return keyError(node, err, "%s: %v", where, err)
	}
	name := fmt.Sprintf("%s (%s)", describe(signer.PublicKey()), attribute)
	if source.certificate != "" {
		certified, err := certify(signer, source.certificate)
		if err != nil {
			return keyError(node, err, "%s: %v", source.at("certificate"), err)
		}
		k.add(certified, "certificate of "+name)
	}
	k.add(signer, name)
	return nil
}

// parseKey parses a private key. Its errors quote nothing of the text.
func parseKey(text []byte, source keySource) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(text)
	if err == nil {
		return signer, nil
	}
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		if source.passphrase == "" {
			return nil, errors.New("the key is encrypted: set connection.passphrase (connect.credentials.passphrase of a node)")
		}
		signer, err = decrypt(text, source.passphrase)
		if errors.Is(err, x509.IncorrectPasswordError) {
			return nil, fmt.Errorf("the key is encrypted and %s is not its passphrase", source.named("passphrase"))
		}
		if err != nil {
			return nil, fmt.Errorf("the encrypted key cannot be used: %w", err)
		}
		return signer, nil
	}
	if _, _, _, _, public := ssh.ParseAuthorizedKey(text); public == nil {
		return nil, errors.New("this is a public key: the private key that belongs to it is wanted")
	}
	return nil, errors.New("this is no private key that can be used: PEM text of an OpenSSH, PKCS#1, PKCS#8 or EC key is wanted")
}

// decrypted caches the signers, or errors, of encrypted keys by digest of key and passphrase. Decryption takes about
// 0.1 s of processor time on purpose, and most fleets have one key.
var decrypted = struct {
	mu      sync.Mutex
	signers map[[sha256.Size]byte]func() (ssh.Signer, error)
}{signers: make(map[[sha256.Size]byte]func() (ssh.Signer, error))}

func decrypt(text []byte, passphrase string) (ssh.Signer, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%d\n%s%s", len(text), text, passphrase))
	decrypted.mu.Lock()
	signer := decrypted.signers[key]
	if signer == nil {
		signer = sync.OnceValues(func() (ssh.Signer, error) {
			return ssh.ParsePrivateKeyWithPassphrase(text, []byte(passphrase))
		})
		decrypted.signers[key] = signer
	}
	decrypted.mu.Unlock()
	return signer()
}

// certify joins a key with its certificate. It fails where every server would refuse the certificate.
func certify(signer ssh.Signer, text string) (ssh.Signer, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return nil, errors.New("this is no OpenSSH certificate: the content of a file like id_ed25519-cert.pub is wanted")
	}
	cert, ok := key.(*ssh.Certificate)
	if !ok {
		return nil, fmt.Errorf("this is a plain public key (%s): the content of a file like id_ed25519-cert.pub is wanted",
			describe(key))
	}
	if cert.CertType != ssh.UserCert {
		return nil, errors.New("this is a host certificate: a user certificate is wanted")
	}
	if now := uint64(time.Now().Unix()); cert.ValidBefore != ssh.CertTimeInfinity && now >= cert.ValidBefore {
		return nil, fmt.Errorf("the certificate has expired at %s: sign a new one",
			time.Unix(int64(cert.ValidBefore), 0).UTC().Format(time.RFC3339))
	} else if now < cert.ValidAfter {
		return nil, fmt.Errorf("the certificate is not valid before %s",
			time.Unix(int64(cert.ValidAfter), 0).UTC().Format(time.RFC3339))
	}
	certified, err := ssh.NewCertSigner(cert, signer)
	if err != nil {
		return nil, fmt.Errorf("the certificate is for %s, the private key is %s: they must belong together",
			describe(cert.Key), describe(signer.PublicKey()))
	}
	return certified, nil
}

// dialAgent returns the keys of the agent, if it is to be used, and a function that closes the connection to it. The
// keys can sign until then. ctx bounds the connection and each answer.
func dialAgent(ctx context.Context, c site.Connection, node string) ([]ssh.Signer, func(), error) {
	nothing := func() {}
	wanted := c.Agent != nil && *c.Agent
	own := c.PrivateKey != "" || c.PrivateKeyFile != ""
	socket := os.Getenv("SSH_AUTH_SOCK")
	switch {
	case c.Agent != nil && !wanted, !wanted && own, !wanted && socket == "":
		return nil, nothing, nil
	case socket == "":
		return nil, nothing, keyError(node, nil,
			"%s: SSH_AUTH_SOCK is not set: start ssh-agent, or set %s", c.Named("agent"), c.Named("private_key_file"))
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, nothing, keyError(node, err, "%s: the agent at SSH_AUTH_SOCK does not answer: %v",
			c.Named("agent"), cause(err))
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	release := func() { stop(); conn.Close() }
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		release()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nothing, keyError(node, err,
			"%s: the agent at SSH_AUTH_SOCK does not list its keys: %v", c.Named("agent"), err)
	}
	if len(signers) == 0 && !own {
		release()
		return nil, nothing, keyError(node, nil,
			"%s: the agent at SSH_AUTH_SOCK holds no key: add one with ssh-add, or set %s", c.Named("agent"),
			c.Named("private_key_file"))
	}
	return signers, release, nil
}

func keyError(node string, err error, format string, args ...any) *Error {
	return &Error{Kind: Key, Node: node, Message: resource.Textf(format, args...), Err: err}
}

// describe returns type and fingerprint of a public key, as ssh-keygen -l prints them.
func describe(key ssh.PublicKey) string {
	return key.Type() + " " + ssh.FingerprintSHA256(key)
}

// CheckFile returns why a file that a connection names cannot be read, or nil. It does not open the file, which may be
// a pipe.
func CheckFile(name string) error {
	name, err := expand(name)
	if err != nil {
		return err
	}
	switch info, err := os.Stat(name); {
	case err != nil:
		return fmt.Errorf("%s: %w", name, cause(err))
	case info.IsDir():
		return fmt.Errorf("%s: is a directory", name)
	}
	return nil
}

// expand replaces a leading ~/ by the home directory of the user who runs slipway.
func expand(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%q cannot be expanded: %w", path, err)
	}
	return filepath.Join(home, rest), nil
}

// cause returns the innermost part of a file or network error, without the path or address, which the message has
// already.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		var call *os.SyscallError
		if errors.As(op.Err, &call) {
			return call.Err
		}
		return op.Err
	}
	return err
}
