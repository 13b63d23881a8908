package sshtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
)

var errNotLetIn = errors.New("not let in")

func (s *Server) configure(client ssh.PublicKey) {
	s.config = &ssh.ServerConfig{Config: ssh.Config{KeyExchanges: s.options.KeyExchanges}}
	for _, k := range s.options.HostKeys {
		s.config.AddHostKey(k)
	}
	o := s.options
	if o.Banner != "" {
		s.config.BannerCallback = func(ssh.ConnMetadata) string { return o.Banner }
	}
	if o.Password != "" {
		s.config.PasswordCallback = func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if c.User() != User || string(password) != o.Password {
				return nil, errNotLetIn
			}
			return nil, nil
		}
		return
	}
	plain := func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		for _, k := range append([]ssh.PublicKey{client}, o.Keys...) {
			if o.Authority == nil && c.User() == User && bytes.Equal(k.Marshal(), key.Marshal()) {
				return nil, nil
			}
		}
		return nil, errNotLetIn
	}
	checker := &ssh.CertChecker{
		UserKeyFallback: plain,
		IsUserAuthority: func(k ssh.PublicKey) bool {
			return o.Authority != nil && bytes.Equal(k.Marshal(), o.Authority.Marshal())
		},
	}
	s.config.PublicKeyCallback = checker.Authenticate
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.accepted++
		s.conns[c] = true
		silent, reset := s.silent, s.reset > 0
		if reset {
			s.reset--
		}
		closed := s.closed
		s.mu.Unlock()
		if closed {
			c.Close()
		}
		s.running.Go(func() {
			defer s.forget(c)
			switch {
			case reset:
				_, _ = c.Read(make([]byte, 1))    // otherwise connect itself fails at times
				_ = c.(*net.TCPConn).SetLinger(0) // a reset, not an end
			case silent:
				_, _ = io.Copy(io.Discard, c)
			default:
				s.serve(c)
			}
		})
	}
}

func (s *Server) forget(c net.Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.Close()
}

// gate is a connection that blocks while the server is mute.
type gate struct {
	net.Conn
	server *Server
}

func (g gate) wait() {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	for g.server.mute && !g.server.closed {
		g.server.wake.Wait()
	}
}

func (g gate) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	g.wait()
	return n, err
}

func (g gate) Write(p []byte) (int, error) {
	g.wait()
	return g.Conn.Write(p)
}

func (s *Server) serve(c net.Conn) {
	config := *s.config
	if s.options.Denied != "" {
		var before ssh.ServerPreAuthConn
		config.PreAuthConnCallback = func(conn ssh.ServerPreAuthConn) { before = conn }
		config.VerifiedPublicKeyCallback = func(ssh.ConnMetadata, ssh.PublicKey, *ssh.Permissions,
			string) (*ssh.Permissions, error) {
			err := before.SendAuthBanner(s.options.Denied)
			_ = c.(*net.TCPConn).CloseWrite() // the banner arrives before the end
			return nil, errors.Join(errNotLetIn, err)
		}
	}
	conn, channels, requests, err := ssh.NewServerConn(gate{c, s}, &config)
	if err != nil {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer conn.Close()
	running.Go(func() { ssh.DiscardRequests(requests) })
	for n := range channels {
		switch {
		case n.ChannelType() == "direct-tcpip":
			running.Go(func() { s.forward(n) })
		case n.ChannelType() != "session":
			_ = n.Reject(ssh.UnknownChannelType, "only sessions and forwarding"+s.options.Evil)
		case s.refused():
			_ = n.Reject(ssh.ConnectionFailed, "open failed"+s.options.Evil)
		default:
			running.Go(func() { s.session(n) })
		}
	}
}

func (s *Server) refused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return true
	}
	return false
}

// forward forwards a connection, as a bastion does.
func (s *Server) forward(n ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(n.ExtraData(), &to); err != nil {
		_ = n.Reject(ssh.ConnectionFailed, "malformed")
		return
	}
	out, err := net.Dial("tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		_ = n.Reject(ssh.ConnectionFailed, fmt.Sprintf("connect failed: %v%s", err, s.options.Evil))
		return
	}
	defer out.Close()
	in, requests, err := n.Accept()
	if err != nil {
		return
	}
	defer in.Close()
	var running sync.WaitGroup
	running.Go(func() { ssh.DiscardRequests(requests) })
	running.Go(func() {
		_, _ = io.Copy(out, in)
		out.Close()
	})
	_, _ = io.Copy(in, out)
	in.Close()
	out.Close()
	running.Wait()
}

func (s *Server) count(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions += by
	s.most = max(s.most, s.sessions)
	if by > 0 {
		s.started++
	}
}

// session runs one command and ends its whole process group with the session.
func (s *Server) session(n ssh.NewChannel) {
	channel, requests, err := n.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	s.count(1)
	leave := sync.OnceFunc(func() { s.count(-1) })
	defer leave()
	var command *exec.Cmd
	var done chan struct{}
	for r := range requests {
		switch {
		case r.Type == "exec" && command == nil:
			var request struct{ Command string }
			if err := ssh.Unmarshal(r.Payload, &request); err != nil {
				_ = r.Reply(false, nil)
				continue
			}
			if s.options.Forced != "" {
				request.Command = s.options.Forced
			}
			command, done = s.run(channel, request.Command, r, leave)
		case r.Type == "signal" && command != nil:
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
		case r.WantReply:
			_ = r.Reply(false, nil)
		}
	}
	if command != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		<-done
	}
}

// run starts a command and answers the request for it before it reports the end of the command.
func (s *Server) run(channel ssh.Channel, line string, r *ssh.Request, leave func()) (*exec.Cmd, chan struct{}) {
	command := exec.Command("/bin/sh", "-c", line)
	command.Env = s.environment()
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Stdout, command.Stderr = channel, channel.Stderr()
	stdin, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	_ = r.Reply(err == nil, nil)
	if err != nil {
		return nil, nil
	}
	go func() { // ends with the channel
		_, _ = io.Copy(stdin, channel)
		stdin.Close()
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		reply := struct{ Status uint32 }{}
		var exit *exec.ExitError
		err := command.Wait()
		leave()
		if errors.As(err, &exit) {
			if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
				_, _ = channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
					Signal     string
					CoreDumped bool
					Error      string
					Language   string
				}{map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGKILL: "KILL"}[status.Signal()] +
					s.options.Evil, false, "", ""}))
				channel.Close()
				return
			}
			reply.Status = uint32(exit.ExitCode())
		}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(reply))
		channel.Close()
	}()
	return command, done
}
