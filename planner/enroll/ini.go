package enroll

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// ini reads an inventory in Ansible's INI format (ansible.builtin.ini): lines of hosts with variables, below [GROUP],
// groups below [GROUP:children], variables below [GROUP:vars].
func (v *inventory) ini(s Source) {
	group, section := v.group("ungrouped", position{file: s.Name}), "hosts"
	number := 0
	for line := range bytes.Lines(s.Data) {
		number++
		text := strings.TrimSpace(string(line))
		at := position{s.Name, number, 1}
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if text[0] == '[' && (strings.HasSuffix(text, "]") || iniPart.MatchString(text)) {
			name, kind, _ := strings.Cut(text[1:strings.IndexByte(text, ']')], ":")
			if name = strings.TrimSpace(name); name == "" || !slices.Contains([]string{"", "hosts", "children", "vars"}, kind) {
				v.report(at, "", "", "", "%s is no section; write [GROUP], [GROUP:children] or [GROUP:vars]", text)
				name, kind = "ungrouped", "hosts"
			}
			if section = kind; kind == "" {
				section = "hosts"
			}
			group = v.group(name, at)
			if section != "vars" {
				group.defined = true
			}
			continue
		}
		switch section {
		case "vars":
			name, value, ok := strings.Cut(text, "=")
			if !ok {
				v.report(at, "", "", "", "a line below [%s:vars] is NAME=VALUE", group.name)
				continue
			}
			name = strings.TrimSpace(name)
			group.vars[name] = variable{name: name, value: literal(strings.TrimSpace(value)), at: at, object: "group",
				of: group.name}
		case "children":
			if name, _, comment := strings.Cut(text, " #"); comment {
				text = strings.TrimSpace(name)
			}
			v.child(group, v.group(text, at))
		default:
			v.hostLine(group, text, at)
		}
	}
}

// hostLine reads a line with a host, or a range of hosts, and their variables.
func (v *inventory) hostLine(g *group, line string, at position) {
	words, err := split(line)
	if err != nil {
		v.report(at, "", "", "", "%v", err)
		return
	}
	vars := make([]variable, 0, len(words))
	for _, word := range words[1:] {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			v.report(at, "host", words[0], "", "what follows its name is NAME=VALUE; one word is not, and white space in a value needs quotes")
			return
		}
		vars = append(vars, variable{name: name, value: literal(value), at: at})
	}
	v.addHosts(g, words[0], at, vars)
}

// split takes a line into words, as a shell does: with quotes, escapes, and a comment behind " #".
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	started, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			started = true
			word.WriteByte(line[i])
		case quote != 0:
			word.WriteByte(c)
		case c == '"' || c == '\'':
			quote, started = c, true
		case c == '#' && !started:
			i = len(line)
		case c == ' ' || c == '\t':
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		default:
			started = true
			word.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if started {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("the line names no host")
	}
	return words, nil
}

// literal returns a value of the INI format, which Ansible takes for a literal of Python if it is one.
func literal(value string) *yaml.Node {
	plain := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]) + 1; end > 0 {
			if rest := strings.TrimSpace(value[end+1:]); rest == "" || rest[0] == '#' {
				plain.Value = value[1:end]
			}
		}
		return plain
	}
	if strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "{{") {
		var document yaml.Node
		if yaml.Unmarshal([]byte(value), &document) == nil && len(document.Content) == 1 {
			return document.Content[0]
		}
	}
	if value == "None" {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return plain
}

// expand returns the names that a name with ranges stands for: web[01:20], db-[a:f], rack[1:9:2].
func expand(pattern string) ([]string, error) {
	open := strings.IndexByte(pattern, '[')
	if open < 0 {
		return []string{pattern}, nil
	}
	size := strings.IndexByte(pattern[open:], ']')
	if size < 0 {
		return nil, errors.New("a range needs its closing bracket, as web[01:20]")
	}
	parts := strings.Split(pattern[open+1:open+size], ":")
	if len(parts) != 2 && len(parts) != 3 {
		return nil, errors.New("a range is [FIRST:LAST] or [FIRST:LAST:STEP], as web[01:20]")
	}
	step := 1
	if len(parts) == 3 {
		n, err := strconv.Atoi(parts[2])
		if err != nil || n < 1 {
			return nil, errors.New("the step of a range is a whole number from 1")
		}
		step = n
	}
	members, err := rangeOf(parts[0], parts[1], step)
	if err != nil {
		return nil, err
	}
	rest, err := expand(pattern[open+size+1:])
	if err != nil {
		return nil, err
	}
	if len(members)*len(rest) > maxNodes {
		return nil, fmt.Errorf("the ranges stand for more than %d hosts", maxNodes)
	}
	out := make([]string, 0, len(members)*len(rest))
	for _, m := range members {
		for _, r := range rest {
			out = append(out, pattern[:open]+m+r)
		}
	}
	return out, nil
}

// rangeOf returns the members of one range, of numbers or of letters.
func rangeOf(first, last string, step int) ([]string, error) {
	if first == "" {
		first = "0"
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if len(first) == 1 && len(last) == 1 && strings.Contains(letters, first) && strings.Contains(letters, last) {
		from, to := strings.Index(letters, first), strings.Index(letters, last)
		if from > to {
			return nil, errors.New("the first letter of a range comes after its last one")
		}
		var out []string
		for i := from; i <= to; i += step {
			out = append(out, letters[i:i+1])
		}
		return out, nil
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	width := 0
	if len(first) > 1 && first[0] == '0' {
		width = len(first)
	}
	switch {
	case err != nil || err2 != nil || from < 0 || to < 0:
		return nil, errors.New("a range has two numbers or two letters, as web[01:20] or db[a:f]")
	case width > 0 && len(first) != len(last):
		return nil, fmt.Errorf("both ends of a range with leading zeros have the same number of digits, as [01:20]")
	case from > to:
		return nil, errors.New("the first number of a range is above its last one")
	case (to-from)/step >= maxNodes:
		return nil, fmt.Errorf("the range stands for more than %d hosts", maxNodes)
	}
	var out []string
	for i := from; i <= to; i += step {
		out = append(out, fmt.Sprintf("%0*d", width, i))
	}
	return out, nil
}
