// Package sshtest is an SSH server for tests: it runs commands on this machine through /bin/sh, forwards connections
// like a bastion, and fails on demand in the ways in which real nodes fail (execution.md 2).
package sshtest

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// User is the user that the server accepts.
const User = "tester"

// Options change the behaviour of a server.
type Options struct {
	HostKeys     []ssh.Signer    // default: one new ed25519 key
	Password     string          // accept this password only, no keys
	Authority    ssh.PublicKey   // accept certificates that this key signed, and no plain keys
	Keys         []ssh.PublicKey // accept these keys too
	Env          []string        // environment of commands; default: that of the test
	KeyExchanges []string        // default: those of the library
	Forced       string          // run this instead of every command
	Banner       string          // send this before authentication
	// send this after a correct key and hang up, as sshd does for an account that PAM refuses
	Denied string
	Evil   string // append this to refusals of channels and to names of signals
}

// Server is a running server. Its methods may be called at any time.
type Server struct {
	Address string     // host:port
	HostKey ssh.Signer // the first
	Key     string     // PEM text of an accepted private key

	options  Options
	config   *ssh.ServerConfig
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	wake     *sync.Cond // signals changes of mute and closed
	conns    map[net.Conn]bool
	mute     bool
	closed   bool
	silent   bool
	reset    int
	refuse   int
	accepted int
	sessions int
	most     int
	started  int
}

// Start starts a server that stops with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{options: o, conns: map[net.Conn]bool{}}
	s.wake = sync.NewCond(&s.mu)
	if len(o.HostKeys) == 0 {
		s.options.HostKeys = []ssh.Signer{NewKey(t)}
	}
	s.HostKey = s.options.HostKeys[0]
	var client ssh.Signer
	client, s.Key = NewPrivateKey(t, "")
	s.configure(client.PublicKey())
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.Address = s.listener.Addr().String()
	s.running.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

// NewKey returns a new key.
func NewKey(t testing.TB) ssh.Signer {
	t.Helper()
	signer, _ := NewPrivateKey(t, "")
	return signer
}

// NewPrivateKey returns a new key and its PEM text, encrypted when passphrase is not empty.
func NewPrivateKey(t testing.TB, passphrase string) (ssh.Signer, string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, string(pem.EncodeToMemory(block))
}

// Host returns the server's address and port.
func (s *Server) Host() (string, int) {
	address := s.listener.Addr().(*net.TCPAddr)
	return address.IP.String(), address.Port
}

// KnownHost returns the server's line for a known_hosts file.
func (s *Server) KnownHost() string {
	return knownhosts.Line([]string{s.Address}, s.HostKey.PublicKey())
}

// Connection returns a valid connection to the server.
func (s *Server) Connection() site.Connection {
	_, port := s.Host()
	return site.Connection{User: User, Port: port, PrivateKey: s.Key, KnownHosts: []string{s.KnownHost()}}
}

// Bastion returns the server as a hop on the way to another.
func (s *Server) Bastion() site.Bastion {
	host, port := s.Host()
	return site.Bastion{Host: host, Port: port, User: User, PrivateKey: s.Key}
}

// Mute makes the server hang: it reads and sends nothing, on old and new connections, until Mute(false).
func (s *Server) Mute(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = on
	s.wake.Broadcast()
}

// Silence makes the server accept connections and send nothing on them.
func (s *Server) Silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = true
}

// Reset makes the server reset the next n connections before its banner.
func (s *Server) Reset(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset = n
}

// RefuseSessions makes the server refuse the next n sessions.
func (s *Server) RefuseSessions(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = n
}

// Drop closes all connections.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// Accepted returns how many connections were accepted.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Sessions returns how many sessions run now, the most that ran at once, and how many were started in all.
func (s *Server) Sessions() (now, most, started int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions, s.most, s.started
}

func (s *Server) close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
	s.wake.Broadcast()
	s.mu.Unlock()
	s.listener.Close()
	s.running.Wait()
}

func (s *Server) environment() []string {
	if s.options.Env != nil {
		return s.options.Env
	}
	return os.Environ()
}

// Gzip returns a text compressed, and its SHA-256: a script in the place of the helper, as package remote sends it.
func Gzip(t testing.TB, text string) (compressed []byte, sum string) {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}
