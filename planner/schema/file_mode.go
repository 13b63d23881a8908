package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// Mode is a mode as Puppet takes it: 3 or 4 octal digits, or changes of the mode that is there, like `u=rw,g+w`.
type Mode struct {
	octal   uint32
	changes []modeChange // none: octal
}

// modeChange is one part of a symbolic mode: for whom (of u, g and o), and what to do: `=rw+x`.
type modeChange struct{ who, actions string }

// The bits of one digit, and, by who, those that s and t stand for in the digit before them. For others, s is the
// sticky bit, as in Puppet.
var modeBits = map[rune]uint32{'r': 4, 'w': 2, 'x': 1}

var modeShifts = map[rune]uint{'u': 6, 'g': 3, 'o': 0}

var specialMode = map[rune]uint32{'u': 4, 'g': 2, 'o': 1}

// ParseMode reads a mode. What would give another mode each time that it is applied is refused, because no check could
// ever find it done.
func ParseMode(text string) (Mode, error) {
	if octal, err := strconv.ParseUint(text, 8, 12); err == nil && (len(text) == 3 || len(text) == 4) {
		return Mode{octal: uint32(octal)}, nil
	}
	var m Mode
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		actions := strings.TrimLeft(part, "ugoa")
		who := part[:len(part)-len(actions)]
		if actions == "" || !strings.ContainsRune("-+=", rune(actions[0])) || strings.Trim(actions, "-+=rwxXstugo") != "" {
			return m, fmt.Errorf("%q must be 3 or 4 octal digits, like \"0644\", or changes like \"u=rw,g+w\"", text)
		}
		if who == "" || strings.Contains(who, "a") {
			who = "ugo"
		}
		m.changes = append(m.changes, modeChange{who, actions})
	}
	for _, dir := range []bool{false, true} {
		for is := range uint32(0o10000) {
			if once := m.Of(is, dir); m.change(once, dir) != once {
				return m, fmt.Errorf("%q gives another mode each time that it is applied; write what each of u, g and o is to be",
					text)
			}
		}
	}
	return m, nil
}

// Of returns the mode wanted, in the form of chmod, of a file or directory with the mode is. Octal digits set x of a
// directory where they set r, as in Puppet.
func (m Mode) Of(is uint32, dir bool) uint32 {
	if m.changes == nil {
		if dir {
			return m.octal | m.octal&0o444>>2
		}
		return m.octal
	}
	// What a later part sets may let X of an earlier one count the next time.
	return m.change(m.change(is, dir), dir)
}

func (m Mode) change(is uint32, dir bool) uint32 {
	mode := is
	for _, c := range m.changes {
		before := mode
		for _, who := range c.who {
			shift, operator := modeShifts[who], ' '
			for _, r := range c.actions {
				bits := modeBits[r] << shift
				switch r {
				case '=':
					mode &^= 0o7 << shift
					operator = r
					continue
				case '-', '+':
					operator = r
					continue
				case 'X':
					if dir || is&0o111 != 0 {
						bits = 1 << shift
					}
				case 's':
					bits = specialMode[who] << 9
				case 't':
					bits = 1 << 9
				case 'u', 'g', 'o':
					bits = before >> modeShifts[r] & 0o7 << shift
				}
				if operator == '-' {
					mode &^= bits
				} else {
					mode |= bits
				}
			}
		}
	}
	return mode
}

// quotedMode is a mode that was written as a number.
func quotedMode(value any) string {
	if n, ok := value.(int64); ok {
		if text := fmt.Sprintf("%04d", n); checkMode(text) == nil {
			return text
		}
	}
	return ""
}

func checkMode(value any) error {
	text, _ := value.(string)
	_, err := ParseMode(text)
	return err
}
