package enroll

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kevinburke/ssh_config"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// sshReader collects configurations of OpenSSH (ssh_config(5)). Each name of a Host line without * and ? is a machine.
type sshReader struct {
	*reader
	configs []sshConfig
	names   []named
	jumps   int // that were looked up for the machine at hand
}

type sshConfig struct {
	file string
	*ssh_config.Config
}

type named struct {
	name string
	at   position
}

var sshLine = regexp.MustCompile(`^[ \t]*([A-Za-z]+)[ \t]*[ \t=][ \t]*(.*?)[ \t\r\n]*$`)

// read reads a configuration. Include would read other files, and what Match says depends on more than the host, so
// both are left out with a warning.
func (s *sshReader) read(source Source) {
	var kept bytes.Buffer
	number, skips := 0, false
	for line := range bytes.Lines(source.Data) {
		number++
		at := position{source.Name, number, 1}
		if m := sshLine.FindSubmatch(line); m != nil {
			value := strings.TrimSpace(string(m[2]))
			if value != "" && value[0] == '#' {
				value = ""
			}
			switch strings.ToLower(string(m[1])) {
			case "host":
				skips = false
				for _, name := range strings.Fields(strings.ReplaceAll(value, `"`, "")) {
					if name[0] == '#' {
						break
					}
					s.name(name, at)
				}
				line = []byte(strings.ReplaceAll(string(line), `"`, ""))
			case "match":
				if skips = !strings.EqualFold(value, "all"); skips {
					s.warn(at, "", "", "Match "+value, "", "is not evaluated, and what is below it is left out; write a Host line instead")
				}
			case "include":
				s.warn(at, "", "", "Include "+value, "", "is left out; name the files that it includes before this one")
				line = []byte("\n")
			}
		}
		if skips {
			line = []byte("\n")
		}
		kept.Write(line)
	}
	config, err := ssh_config.DecodeBytes(kept.Bytes())
	if err != nil {
		at := position{file: source.Name}
		message := strings.ReplaceAll(err.Error(), "ssh_config: ", "")
		if m := regexp.MustCompile(`^\((\d+), (\d+)\): (.*)`).FindStringSubmatch(message); m != nil {
			at.line, _ = strconv.Atoi(m[1])
			at.column, _ = strconv.Atoi(m[2])
			message = m[3]
		}
		s.report(at, "", "", "", "not well formed: %s; a line is KEYWORD VALUE", message)
		return
	}
	s.configs = append(s.configs, sshConfig{source.Name, config})
}

// name notes a name of a Host line, if it is the first mention of a machine.
func (s *sshReader) name(name string, at position) {
	known := slices.ContainsFunc(s.names, func(n named) bool { return n.name == name })
	if !known && !strings.ContainsAny(name, "*?!") && len(s.names) <= maxSSH {
		s.names = append(s.names, named{name, at})
	}
}

// Way returns where a host is and how it is reached, as a configuration of OpenSSH says with HostName, User, Port,
// IdentityFile and ProxyJump, or a ProxyCommand that means the same. Match (but for "all") and Include are not
// evaluated. The error is of type [invalid.Errors], with file and line.
func Way(config Source, host string) (address string, c site.Connection, err error) {
	s := &sshReader{reader: &reader{reasons: make(map[invalid.Error]*shared)}}
	s.read(config)
	address, all := s.connection(host, host, nil)
	if len(s.errs) > 0 {
		return "", c, s.errs
	}
	c.User, c.Port, c.PrivateKeyFile, c.Bastions = all.User, all.Port, all.PrivateKeyFile, all.Bastions
	return address, c, nil
}

// enroll makes the nodes.
func (s *sshReader) enroll() {
	if len(s.names) > maxSSH {
		s.report(s.names[maxSSH].at, "", "", "", "there are more machines than %d; enrol them in parts", maxSSH)
		return
	}
	if len(s.configs) > 0 && len(s.names) == 0 {
		s.report(position{file: s.configs[0].file}, "", "", "", "no Host line names a machine without * and ?; name the machines there")
	}
	for _, n := range s.names {
		s.jumps = 0
		node := site.Node{Name: n.name}
		node.Address, node.Connection = s.connection(n.name, n.name, nil)
		s.add(node, n.at)
	}
}

// connection returns where a host is and how it is reached. of is the machine for which that is asked, below are those
// on the way to it.
func (s *sshReader) connection(host, of string, below []string) (address string, c site.Connection) {
	address = host
	seen := make(map[string]bool)
	for _, config := range s.configs {
		for _, block := range config.Hosts {
			if !block.Matches(host) {
				continue
			}
			for _, line := range block.Nodes {
				kv, ok := line.(*ssh_config.KV)
				if !ok {
					continue
				}
				at := position{config.file, kv.Pos().Line, kv.Pos().Col}
				keyword := strings.ToLower(kv.Key)
				if seen[keyword] {
					if keyword == "identityfile" {
						s.warn(at, "", "", kv.Key, of, "is left out: the first one counts here")
					}
					continue // the first value counts, as for OpenSSH
				}
				seen[keyword] = true
				if keyword == "hostname" {
					address = strings.ReplaceAll(strings.ReplaceAll(kv.Value, "%h", host), "%%", "%")
					continue
				}
				value := expandTokens(kv.Value, host, c.User)
				reason, err := connect(&c, kv.Key, value, func(hop site.Bastion) ([]site.Bastion, error) {
					return s.hops(hop, of, append(below, host))
				})
				if err != nil {
					s.report(at, "host", of, kv.Key, "%v", err)
				}
				if reason != "" {
					s.warn(at, "", "", kv.Key, of, reason)
				}
			}
		}
	}
	return address, c
}

// expandTokens replaces the tokens of a value that are known without running ssh.
func expandTokens(value, host, user string) string {
	value = strings.ReplaceAll(strings.ReplaceAll(value, "%d", "~"), "%n", host)
	if user != "" {
		value = strings.ReplaceAll(value, "%r", user)
	}
	return value
}

// hops returns the way to a jump host, and the jump host, as the configurations describe it.
func (s *sshReader) hops(hop site.Bastion, of string, below []string) ([]site.Bastion, error) {
	if s.jumps++; s.jumps > maxJumps {
		return nil, fmt.Errorf("more than %d jump hosts are on the way; take some away", maxJumps)
	}
	if slices.Contains(below, hop.Host) {
		return nil, fmt.Errorf("%s is reached through itself; take one of the jumps away", hop.Host)
	}
	address, c := s.connection(hop.Host, of, below)
	hop.Host = address
	if hop.Port == 0 {
		hop.Port = c.Port
	}
	if hop.User == "" {
		hop.User = c.User
	}
	hop.PrivateKeyFile = c.PrivateKeyFile
	return append(slices.Clone(c.Bastions), hop), nil
}

// directly returns a jump host as it is.
func directly(hop site.Bastion) ([]site.Bastion, error) { return []site.Bastion{hop}, nil }

var (
	throughSSH = regexp.MustCompile(`^(?:/usr/bin/)?ssh\s.*-W\s*'?"?\[?%h\]?:%p`)
	hopForm    = regexp.MustCompile(`^(?:ssh://)?(?:([^@]+)@)?(\[[0-9A-Fa-f:.%]+\]|[^@:/\[\]\s]+)(?::(\d+))?/?$`)
)

// wayTo returns the jump hosts on the way to a jump host, with it.
type wayTo func(site.Bastion) ([]site.Bastion, error)

// connect puts an option of OpenSSH into a connection. It returns why the option is left out.
func connect(c *site.Connection, keyword, value string, hops wayTo) (unused string, err error) {
	switch strings.ToLower(keyword) {
	case "user":
		c.User = value
	case "port":
		c.Port, err = port(value)
	case "identityfile":
		if strings.Contains(value, "%") {
			return "has a token that only ssh knows; give private_key_file instead", nil
		}
		if value != "none" {
			c.PrivateKeyFile = value
		}
	case "userknownhostsfile":
		file, more, _ := strings.Cut(value, " ")
		if quoted, ok := strings.CutPrefix(value, `"`); ok {
			file, more, _ = strings.Cut(quoted, `"`)
		}
		switch {
		case file == "/dev/null" || strings.Contains(file, "%"):
			return "is left out; slipway checks host keys, so give known_hosts or known_hosts_file", nil
		case more != "":
			unused = "has more than one file, and only the first one is taken"
		}
		c.KnownHostsFile = file
	case "stricthostkeychecking":
		switch strings.ToLower(value) {
		case "yes", "true", "accept-new":
			c.HostKeyPolicy = map[bool]string{true: "accept-new", false: "strict"}[strings.EqualFold(value, "accept-new")]
		default:
			return "is left out: slipway never connects without checking host keys (host_key_policy is strict or accept-new)", nil
		}
	case "connecttimeout":
		seconds, err := strconv.Atoi(value)
		if err != nil || seconds < 1 {
			return "", errors.New("must be a number of seconds, 1 or more")
		}
		c.ConnectTimeout = time.Duration(seconds) * time.Second
	case "proxyjump":
		return "", jump(c, value, hops)
	case "proxycommand":
		words, err := split(value)
		if !throughSSH.MatchString(value) || err != nil {
			if strings.EqualFold(value, "none") {
				return "", nil
			}
			return "is left out: slipway runs no command to connect; give bastions", nil
		}
		return proxy(c, words[1:], hops)
	default:
		return "is an option of ssh that slipway has no use for; it is left out", nil
	}
	return unused, err
}

func port(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0, errors.New("must be a port, a number from 1 to 65535")
	}
	return n, nil
}

// jump reads the value of ProxyJump.
func jump(c *site.Connection, value string, hops wayTo) error {
	c.Bastions = []site.Bastion{}
	if strings.EqualFold(value, "none") {
		return nil
	}
	for i, text := range strings.Split(value, ",") {
		m := hopForm.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			return errors.New("must be jump hosts as user@host:port, separated by commas; user and port may be left out")
		}
		hop := site.Bastion{User: m[1], Host: strings.Trim(m[2], "[]")}
		if m[3] != "" {
			var err error
			if hop.Port, err = port(m[3]); err != nil {
				return err
			}
		}
		chain, err := hops(hop)
		if err != nil {
			return err
		}
		if i > 0 { // reached through the one before
			chain = chain[len(chain)-1:]
		}
		c.Bastions = append(c.Bastions, chain...)
	}
	return nil
}

// proxy reads the arguments of an ssh that is a ProxyCommand with -W %h:%p.
func proxy(c *site.Connection, words []string, hops wayTo) (unused string, err error) {
	hop, target := site.Connection{}, ""
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "" || word[0] != '-' {
			target = word
			continue
		}
		if len(word) == 2 && strings.Contains("WpliFoJ", word[1:]) && i+1 < len(words) {
			i++
			word += words[i]
		}
		if len(word) < 2 {
			continue
		}
		switch value := word[2:]; word[1] {
		case 'W', 'q':
		case 'p':
			if hop.Port, err = port(value); err != nil {
				return "", err
			}
		case 'l':
			hop.User = value
		case 'i':
			hop.PrivateKeyFile = value
		default:
			unused = "has options of ssh that slipway has no use for; they are left out"
		}
	}
	m := hopForm.FindStringSubmatch(target)
	if m == nil {
		return "is left out: it names no jump host that can be read; give bastions", nil
	}
	text := target
	if hop.Port != 0 && m[3] == "" {
		text += ":" + strconv.Itoa(hop.Port)
	}
	if hop.User != "" && m[1] == "" {
		text = hop.User + "@" + text
	}
	if err := jump(c, text, hops); err != nil {
		return "", err
	}
	if hop.PrivateKeyFile != "" {
		c.Bastions[len(c.Bastions)-1].PrivateKeyFile = hop.PrivateKeyFile
	}
	return unused, nil
}
