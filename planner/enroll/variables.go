package enroll

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Variables with which an inventory says what slipway knows and Ansible has no word for.
const (
	rackVariable   = "slipway_rack"
	zoneVariable   = "slipway_zone"
	rolesVariable  = "slipway_roles"  // a list
	tagsVariable   = "slipway_tags"   // a list: tags that are no group
	labelsVariable = "slipway_labels" // a mapping: labels that no variable may be called like
)

// use puts the variables of one host into its node.
type use struct {
	*reader
	node *site.Node
	vars map[string]variable
}

// taker puts a variable into a node.
type taker func(u *use, v variable)

// ofText is a taker of texts.
func ofText(with func(u *use, v variable, s string)) taker {
	return func(u *use, v variable) { u.text(v, func(s string) { with(u, v, s) }) }
}

// takers are the variables that become something else than a label.
func takers() map[string]taker {
	address := ofText(func(u *use, _ variable, s string) { u.node.Address = s })
	port := ofText(func(u *use, v variable, s string) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 65535 {
			u.wrong(v, "must be a port, a number from 1 to 65535")
		}
		u.node.Connection.Port = n
	})
	user := ofText(func(u *use, _ variable, s string) { u.node.Connection.User = s })
	key := ofText(func(u *use, _ variable, s string) { u.node.Connection.PrivateKeyFile = s })
	timeout := ofText(func(u *use, v variable, s string) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			u.wrong(v, "must be a number of seconds, 1 or more")
		}
		u.node.Connection.ConnectTimeout = time.Duration(n) * time.Second
	})
	arguments := ofText(func(u *use, v variable, s string) {
		u.arguments(s, func(reason string) { u.unused(v, reason) }, func(what string) { u.wrong(v, what) })
	})
	return map[string]taker{
		"ansible_host": address, "ansible_ssh_host": address,
		"ansible_port": port, "ansible_ssh_port": port,
		"ansible_user": user, "ansible_ssh_user": user,
		"ansible_ssh_private_key_file": key, "ansible_private_key_file": key,
		"ansible_timeout": timeout, "ansible_ssh_timeout": timeout,
		"ansible_ssh_common_args": arguments, "ansible_ssh_extra_args": arguments, "ansible_ssh_args": arguments,
		"ansible_connection": ofText((*use).connection),
		"ansible_become":     ofText((*use).become),
		"ansible_become_method": ofText(func(u *use, v variable, s string) {
			if s != "sudo" {
				u.unused(v, "is not sudo, the only way in which slipway becomes root; the node needs another one")
			}
		}),
		"ansible_become_user": ofText(func(u *use, v variable, s string) {
			if s != "root" {
				u.unused(v, "is not root, and slipway always becomes root")
			}
		}),
		"ansible_group_priority": func(*use, variable) {}, // counts where the variables of groups are merged
		rackVariable:             ofText(func(u *use, _ variable, s string) { u.node.Rack = s }),
		zoneVariable:             ofText(func(u *use, _ variable, s string) { u.node.Zone = s }),
		rolesVariable:            func(u *use, v variable) { u.node.Roles = u.list(v) },
		tagsVariable:             func(u *use, v variable) { addTags(u.node, u.list(v)...) },
		labelsVariable:           (*use).labels,
	}
}

// aliases are earlier names of variables; they count where the one of today is not there.
var aliases = map[string]string{"ansible_ssh_host": "ansible_host", "ansible_ssh_port": "ansible_port",
	"ansible_ssh_user": "ansible_user", "ansible_private_key_file": "ansible_ssh_private_key_file",
	"ansible_ssh_timeout": "ansible_timeout"}

var allTakers = takers()

// take uses one variable, or warns why it is left out.
func (u *use) take(v variable) {
	if today, ok := aliases[v.name]; ok && u.vars[today].value != nil {
		u.unused(v, "is left out, because "+today+" is there, too")
		return
	}
	takes, known := allTakers[v.name]
	value := follow(v.value)
	switch {
	case hasSecret(value) || !known && secretName(v.name):
		hint := "give it in the provider's connection or its environment, or in secrets_wo of the deployment"
		if !strings.HasPrefix(v.name, "ansible_") && !hasSecret(value) {
			hint += "; if it is no secret, give it below " + labelsVariable
		}
		u.unused(v, "is a secret by its name or form, and is not written: "+hint)
	case known:
		takes(u, v)
	case strings.HasPrefix(v.name, "ansible_"):
		u.unused(v, "is for Ansible; slipway has no use for it")
	case value.Kind != yaml.ScalarNode:
		u.unused(v, "is "+form(value)+", which no label is; it is left out")
	default:
		u.text(v, func(s string) { u.label(v, v.name, s) })
	}
}

func (u *use) label(v variable, key, value string) {
	if reason := addLabel(u.node, key, value); reason != "" {
		u.unused(v, reason)
	}
}

// text calls with for a value that is text, a number or a boolean, and warns of others.
func (u *use) text(v variable, with func(string)) {
	n := follow(v.value)
	switch {
	case n.Kind != yaml.ScalarNode:
		u.unused(v, "is "+form(n)+"; it is left out")
	case n.ShortTag() == "!!null":
		u.unused(v, "is empty; it is left out")
	case n.Tag != unsafe && (strings.Contains(n.Value, "{{") || strings.Contains(n.Value, "{%")):
		u.unused(v, "is a template, which only Ansible evaluates; it is left out, so add what it stands for")
	default:
		with(n.Value)
	}
}

// unsafe is the tag of texts in which Ansible evaluates nothing.
const unsafe = "!unsafe"

// list returns the texts of a list, or of a text with commas.
func (u *use) list(v variable) (out []string) {
	n := follow(v.value)
	if n.Kind == yaml.ScalarNode {
		u.text(v, func(s string) {
			for part := range strings.SplitSeq(s, ",") {
				out = append(out, strings.TrimSpace(part))
			}
		})
		return slices.DeleteFunc(out, func(s string) bool { return s == "" })
	}
	for _, item := range items(n) {
		if s := text(item); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) != len(items(n)) || n.Kind == yaml.MappingNode {
		u.wrong(v, "must be a list of different texts")
	}
	return out
}

func (u *use) labels(v variable) {
	n := follow(v.value)
	if n.Kind != yaml.MappingNode {
		u.wrong(v, "must be a mapping of labels to their values")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		inner := variable{name: v.name + "." + n.Content[i].Value, value: n.Content[i+1], at: v.at, object: v.object, of: v.of}
		u.text(inner, func(s string) { u.label(inner, n.Content[i].Value, s) })
	}
}

func (u *use) connection(v variable, s string) {
	switch s {
	case "local", "ansible.builtin.local":
		u.node.Connection.Transport = "local"
	case "ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh", "ansible.builtin.paramiko_ssh":
	default:
		u.unused(v, "is neither ssh nor local, the ways in which slipway reaches nodes; ssh is taken")
	}
}

func (u *use) become(v variable, s string) {
	var sudo bool
	switch strings.ToLower(s) {
	case "yes", "true", "on", "y", "t", "1":
		sudo = true
	case "no", "false", "off", "n", "f", "0":
	default:
		u.wrong(v, "must be true or false")
	}
	u.node.Connection.Sudo = &sudo
}

// unused warns that a variable, or a part of it, is left out.
func (u *use) unused(v variable, reason string) {
	u.warn(v.at, v.object, v.of, v.name, u.node.Name, reason)
}

// wrong reports an invalid value, once for all hosts.
func (u *use) wrong(v variable, what string) {
	e := v.at.error(v.object, v.of, v.name, what)
	if !slices.Contains(u.errs, e) {
		u.report(v.at, v.object, v.of, v.name, "%s", what)
	}
}

// arguments reads arguments of ssh.
func (u *use) arguments(line string, unused, wrong func(string)) {
	words, err := split(line)
	if err != nil {
		if strings.TrimSpace(line) != "" {
			wrong(err.Error())
		}
		return
	}
	for i := 0; i < len(words); i++ {
		option := words[i]
		var value string
		if len(option) < 2 || option[0] != '-' {
			unused("has an argument of ssh that is no option; slipway has no use for it")
			continue
		}
		if value = option[2:]; value == "" && strings.Contains("oJilpF", option[1:2]) && i+1 < len(words) {
			i++
			value = words[i]
		}
		keyword := map[byte]string{'J': "ProxyJump", 'i': "IdentityFile", 'l': "User", 'p': "Port"}[option[1]]
		if option[1] == 'o' {
			keyword, value, _ = strings.Cut(value, "=")
			if name, rest, ok := strings.Cut(keyword, " "); ok && value == "" {
				keyword, value = name, rest
			}
		}
		if keyword == "" {
			unused("has the option " + option[:2] + " of ssh, which slipway has no use for")
			continue
		}
		reason, err := connect(&u.node.Connection, strings.TrimSpace(keyword), strings.TrimSpace(value), directly)
		if err != nil {
			wrong(err.Error())
		}
		if reason != "" {
			unused(strings.TrimSpace(keyword) + " " + reason)
		}
	}
}

// form names the form of a value that is no text.
func form(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return "no text"
}

var (
	secretWords = regexp.MustCompile(`(?i)password|passwd|passphrase|secret|token|credential|private_?key|access_?key|api_?key`)
	secretParts = regexp.MustCompile(`(?i)(^|[_.-])(pass|pw|pwd|vault|auth_?key|encryption_?key)($|[_.-])`)
)

// secretName reports whether the name of a variable says that it is a secret.
func secretName(name string) bool {
	return secretWords.MatchString(name) || secretParts.MatchString(name)
}

// isVault reports whether a text is encrypted with Ansible Vault.
func isVault(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), "$ANSIBLE_VAULT;") }

// hasSecret reports whether a value is or has one that is encrypted with Ansible Vault, or a private key.
func hasSecret(n *yaml.Node) bool {
	if n == nil || n.Kind == yaml.AliasNode { // what an alias stands for is written elsewhere, once
		return false
	}
	if n.Tag == "!vault" || n.Tag == "!vault-encrypted" || isVault(n.Value) || member(n, "__ansible_vault") != nil ||
		strings.Contains(n.Value, "PRIVATE KEY-----") {
		return true
	}
	return slices.ContainsFunc(n.Content, hasSecret)
}
