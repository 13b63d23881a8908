package enroll

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

var (
	groupName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Inventory returns nodes as an Ansible inventory in YAML, which [Read] reads as the same nodes: tags are groups,
// labels are variables of hosts. Where a tag cannot be a group, or a label no variable, they are in slipway_tags and
// slipway_labels. What Ansible has no word for is a warning; secrets are never written.
func Inventory(nodes []site.Node) ([]byte, invalid.Errors) {
	w := &writer{names: make(map[string]bool, len(nodes))}
	for _, n := range nodes {
		w.names[n.Name] = true
	}
	hosts, groups := mapping(), make(map[string]*yaml.Node)
	for _, n := range nodes {
		put(hosts, n.Name, w.host(n))
		for _, tag := range n.Tags {
			if w.isGroup(tag) {
				if groups[tag] == nil {
					groups[tag] = mapping()
				}
				put(groups[tag], n.Name, mapping())
			}
		}
	}
	all := mapping()
	put(all, "hosts", hosts)
	if len(groups) > 0 {
		children := mapping()
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			put(children, name, put(mapping(), "hosts", groups[name]))
		}
		put(all, "children", children)
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(put(mapping(), "all", all)); err != nil { // texts in lists and mappings: it cannot fail
		w.warnings = append(w.warnings, invalid.Error{Message: err.Error(), Warning: true})
	}
	return out.Bytes(), w.warnings
}

// writer collects warnings.
type writer struct {
	names    map[string]bool // of nodes
	warnings invalid.Errors
}

func (w *writer) isGroup(tag string) bool {
	return groupName.MatchString(tag) && tag != "all" && tag != "ungrouped" && !w.names[tag]
}

// host returns the variables of a node.
func (w *writer) host(n site.Node) *yaml.Node {
	out := mapping()
	c := n.Connection
	if n.Address != "" && n.Address != n.Name {
		put(out, "ansible_host", scalar(n.Address))
	}
	if c.Transport == "local" {
		put(out, "ansible_connection", scalar("local"))
	}
	if c.Port != 0 {
		put(out, "ansible_port", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(c.Port)})
	}
	if c.User != "" {
		put(out, "ansible_user", scalar(c.User))
	}
	if c.PrivateKeyFile != "" {
		put(out, "ansible_ssh_private_key_file", scalar(c.PrivateKeyFile))
	}
	if c.Sudo != nil {
		put(out, "ansible_become", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(*c.Sudo)})
	}
	if c.ConnectTimeout > 0 {
		seconds := max(1, int((c.ConnectTimeout+time.Second-1)/time.Second))
		put(out, "ansible_timeout", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(seconds)})
	}
	if arguments := w.arguments(n); arguments != "" {
		put(out, "ansible_ssh_common_args", scalar(arguments))
	}
	for _, v := range []struct{ name, value string }{{rackVariable, n.Rack}, {zoneVariable, n.Zone}} {
		if v.value != "" {
			put(out, v.name, scalar(v.value))
		}
	}
	if len(n.Roles) > 0 {
		put(out, rolesVariable, list(n.Roles))
	}
	if tags := slices.DeleteFunc(slices.Clone(n.Tags), w.isGroup); len(tags) > 0 {
		put(out, tagsVariable, list(tags))
	}
	labels := mapping()
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		into := labels
		if variableName.MatchString(key) && !strings.HasPrefix(key, "ansible_") && !strings.HasPrefix(key, "slipway_") && !secretName(key) {
			into = out
		}
		put(into, key, scalar(n.Labels[key]))
	}
	if len(labels.Content) > 0 {
		put(out, labelsVariable, labels)
	}
	w.left(n)
	return out
}

// arguments returns what the connection of a node is in options of ssh.
func (w *writer) arguments(n site.Node) string {
	var words []string
	c := n.Connection
	if c.HostKeyPolicy != "" {
		words = append(words, "-o StrictHostKeyChecking="+map[bool]string{true: "accept-new", false: "yes"}[c.HostKeyPolicy == "accept-new"])
	}
	if c.KnownHostsFile != "" {
		file := c.KnownHostsFile
		if strings.Contains(file, " ") {
			file = `"` + file + `"`
		}
		words = append(words, quoted("-o", "UserKnownHostsFile="+file))
	}
	if c.Bastions != nil {
		hops := make([]string, len(c.Bastions))
		for i, hop := range c.Bastions {
			host := hop.Host
			if strings.Contains(host, ":") {
				host = "[" + host + "]"
			}
			if hop.User != "" {
				host = hop.User + "@" + host
			}
			if hop.Port != 0 {
				host += ":" + strconv.Itoa(hop.Port)
			}
			hops[i] = host
		}
		if len(hops) == 0 {
			hops = []string{"none"}
		}
		words = append(words, quoted("-o", "ProxyJump="+strings.Join(hops, ",")))
	}
	return strings.Join(words, " ")
}

// quoted returns an option with its value, in quotes where a shell needs them.
func quoted(option, value string) string {
	if strings.ContainsAny(value, " \t'\"\\#$`") {
		value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(value) + `"`
	}
	return option + " " + value
}

// left warns of what is not written.
func (w *writer) left(n site.Node) {
	c := n.Connection
	secret := "is a secret, and is not written; give it to Ansible in its vault"
	unknown := "has no word in an inventory; it is left out"
	for _, a := range []struct {
		given          bool
		attribute, why string
	}{
		{c.PrivateKey != "", "private_key", secret}, {c.Passphrase != "", "passphrase", secret},
		{c.SudoPassword != "", "sudo_password", secret}, {c.Certificate != "", "certificate", unknown},
		{c.Agent != nil, "agent", unknown},
		{c.SSHConfig != nil, "ssh_config", "is what Ansible does anyway; it is left out"}, {c.KnownHosts != nil, "known_hosts", unknown}, {c.Root != "", "root", unknown},
		{c.Transport == "ssh", "transport", "is what Ansible takes anyway; it is left out"},
		{c.ConnectTimeout%time.Second != 0, "connect_timeout", "is rounded up to whole seconds"},
	} {
		if a.given {
			w.warnings.Warn("connect."+a.attribute, invalid.NoEffect, "%s", a.why)
			w.name(n)
		}
	}
	for i, hop := range c.Bastions {
		for _, a := range []struct{ value, attribute, why string }{{hop.PrivateKey, "private_key", secret},
			{hop.PrivateKeyFile, "private_key_file", unknown + "; give it in the configuration of OpenSSH"}} {
			if a.value != "" {
				w.warnings.Warn(fmt.Sprintf("connect.bastions[%d].%s", i, a.attribute), invalid.NoEffect, "%s", a.why)
				w.name(n)
			}
		}
	}
}

// name gives the last warning the name of a node.
func (w *writer) name(n site.Node) {
	last := &w.warnings[len(w.warnings)-1]
	last.Object, last.Name = "node", n.Name
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// put adds a member to a mapping, and returns the mapping.
func put(m *yaml.Node, key string, value *yaml.Node) *yaml.Node {
	m.Content = append(m.Content, scalar(key), value)
	return m
}

// scalar returns a text, in which Ansible evaluates nothing.
func scalar(s string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(s)
	if strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#") {
		n.Tag, n.Style = unsafe, yaml.DoubleQuotedStyle|yaml.TaggedStyle
	}
	return n
}

func list(texts []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range texts {
		n.Content = append(n.Content, scalar(s))
	}
	return n
}
