package schema

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// keyTypes are those that sshd reads, in the words of Puppet; the short ones stand for others.
var keyTypes = []string{
	"ssh-dss", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-ed25519",
	"sk-ecdsa-sha2-nistp256@openssh.com", "sk-ssh-ed25519@openssh.com",
}

// SSHAuthorizedKey declares the type ssh_authorized_key.
func SSHAuthorizedKey() resource.Schema {
	return resource.Schema{
		Type:       "ssh_authorized_key",
		Summary:    "A public key with which a user may log in: a line of the user's authorized_keys, known by its comment, which is the title. Of several lines with that comment, the first remains.",
		Restorable: true,
		OnMachine:  keyOnMachine,
		Parameters: []resource.Parameter{
			{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"},
				Description: "Whether the key is there. Default: present."},
			{Name: "name", Kind: resource.String, Check: checkKeyName,
				Description: "The comment at the end of the line. Default: the title."},
			{Name: "user", Kind: resource.String, Check: checkUserName,
				Description: "The user who may log in; it must be there. The line is in .ssh/authorized_keys of the user's home directory, which is made with its directory where it is not there. Required without `target`, and refused on a sandbox node without it."},
			{Name: "target", Kind: resource.String, Check: checkFilePath,
				Description: "Absolute path of another file, whose directory must be there. A new one belongs to `user`, if given."},
			{Name: "type", Kind: resource.String, Values: keyTypes,
				Same:        map[string]string{"dsa": "ssh-dss", "rsa": "ssh-rsa", "ed25519": "ssh-ed25519", "ecdsa-sk": keyTypes[6], "ed25519-sk": keyTypes[7]},
				Description: "The key's type, the first word of its file."},
			{Name: "key", Kind: resource.String, Secret: true, Check: checkKey,
				Description: "The key itself, the long word between its type and its comment. Required, with `type`, unless the key is to be absent."},
			{Name: "options", Kind: resource.StringList, Check: checkKeyOptions,
				Description: "What the key may do, as in sshd(8): `from=\"192.0.2.0/24\"`, `restrict`. Default: those that are there."},
		},
		Check: checkAuthorizedKey,
		Alike: ensureAlike("present", nil),
		Target: func(r resource.Resource) (object, aim string) {
			return r.Parameters.StringOr("target", "~"+r.Parameters.String("user")) + " " + KeyName(r), aimOf(!WantsAbsent(r))
		},
	}
}

func keyOnMachine(r resource.Resource) (parameter, why string) {
	if r.Parameters.Has("target") {
		return "", ""
	}
	return "user", "needs a whole machine, which knows the home directory of its user, and a sandbox is a folder; give " +
		"target, the path of the file"
}

// KeyName returns the comment of r's key.
func KeyName(r resource.Resource) string { return r.Parameters.StringOr("name", r.Title) }

// KeysFile returns the file with r's key: that in the home directory of its user, which only the node knows for sure.
func KeysFile(r resource.Resource) string {
	home := "/home/" + r.Parameters.String("user")
	if home == "/home/root" {
		home = "/root"
	}
	return r.Parameters.StringOr("target", home+KeysBelowHome)
}

// KeysBelowHome is the path of a user's authorized_keys below the home directory.
const KeysBelowHome = "/.ssh/authorized_keys"

func checkKeyName(value any) error {
	if text, _ := value.(string); text == "" || text != strings.TrimSpace(text) {
		return errors.New("must be text without blanks around it")
	}
	return checkOneLine(value)
}

// checkKey accepts a public key of one of keyTypes in base64, which begins with its type.
func checkKey(value any) error {
	text, _ := value.(string)
	if strings.ContainsAny(text, " \t\n") {
		return resource.Rule("must be one word: give the long one in the middle of the line only, and the others as type and name")
	}
	if keyTypeOf(text) == "" {
		return resource.Rule("is not a public key in base64, which begins with AAAA")
	}
	return nil
}

// keyTypeOf returns the type of a key in base64, empty when it is none.
func keyTypeOf(key string) string {
	blob, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(blob) < 4 {
		return ""
	}
	n := binary.BigEndian.Uint32(blob)
	if rest := blob[4:]; int64(n) < int64(len(rest)) && slices.Contains(keyTypes, string(rest[:n])) {
		return string(rest[:n])
	}
	return ""
}

func checkKeyOptions(value any) error {
	options, _ := value.([]string)
	for _, o := range options {
		bare := strings.Join(strings.Split(o, `\"`), "") // a quote within quotes
		outside := ""
		for i, part := range strings.Split(bare, `"`) {
			if i%2 == 0 {
				outside += part
			}
		}
		if o == "" || strings.ContainsAny(o, "\n\r\x00") || strings.Count(bare, `"`)%2 != 0 ||
			strings.ContainsAny(outside, " \t,#") {
			return fmt.Errorf("%q is not one option: without blanks and commas, or with them in double quotes, as in from=\"192.0.2.0/24\"", o)
		}
	}
	return nil
}

func checkAuthorizedKey(r resource.Resource) []invalid.Error {
	errs := slices.Concat(errorOf("name", checkKeyName(KeyName(r))),
		neededUnlessAbsent(r, "type"), neededUnlessAbsent(r, "key"))
	p := r.Parameters
	if !p.Has("user") && !p.Has("target") {
		errs = append(errs, invalid.Error{Attribute: "user", Code: invalid.MissingParameter,
			Message: "is required without target"})
	}
	if is := keyTypeOf(p.String("key")); is != "" && p.Has("type") && is != p.String("type") {
		errs = append(errs, invalid.Error{Attribute: "type", Message: fmt.Sprintf("must be %q, as the key says", is)})
	}
	return errs
}
