package schema

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// User declares the type user.
func User() resource.Schema {
	return resource.Schema{
		Type:         "user",
		Summary:      "A user of the node's own database.",
		Restorable:   true,
		NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "name", Kind: resource.String, Check: checkAccountName, Description: "The user's name. Default: the title."},
			{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"},
				Description: "`present` or `absent`. Default: `present`."},
			{Name: "uid", Kind: resource.Integer, Check: checkAccountNumber,
				Description: "The user's id. Default: chosen by the node when the user is made."},
			{Name: "gid", Kind: resource.String, Scalars: true, Check: checkPrimaryGroup,
				Description: "The primary group, by name or number; it must be there. Default when the user is made: the group of the user's name, which is made if it is not there."},
			{Name: "groups", Kind: resource.StringList, Check: checkGroupNames, Description: "Other groups that the user is a member of, by name; they must be there."},
			{Name: "membership", Kind: resource.String, Values: []string{"minimum", "inclusive"},
				Description: "`minimum`: the user may be a member of more groups than `groups` lists; `inclusive`: of no others. Default: `minimum`."},
			{Name: "comment", Kind: resource.String, Check: checkPasswdField, Description: "The user's full name or purpose."},
			{Name: "home", Kind: resource.String, Check: checkPasswdPath,
				Description: "The home directory. Default when the user is made: chosen by the node."},
			{Name: "managehome", Kind: resource.Bool,
				Description: "Make the home directory with the user, move it when `home` changes, and remove it with the user. Default: false."},
			{Name: "shell", Kind: resource.String, Check: checkPasswdPath,
				Description: "The login shell, a program that the node has. Default when the user is made: chosen by the node."},
			{Name: "password", Kind: resource.String, Sensitive: true, Secret: true, Check: checkHash,
				Description: "The password's hash, as in /etc/shadow (`$6$...`); `!` for none that fits. It must not be empty and must hold no colon; a plan warns of one that is no hash. slipway never shows it; `terraform plan` does, unless it comes from a variable with `sensitive = true`."},
			{Name: "expiry", Kind: resource.String, Check: checkExpiry,
				Description: "The day from which nobody can log in as the user, as \"2027-12-31\", or `absent` for never."},
			{Name: "password_max_age", Kind: resource.Integer, Check: checkDays,
				Description: "Days after which the password must be changed, up to 99999; -1 is no limit."},
			{Name: "password_min_age", Kind: resource.Integer, Check: checkDays,
				Description: "Days that must pass between two changes of the password, up to 99999; -1 is no limit."},
			{Name: "password_warn_days", Kind: resource.Integer, Check: checkDays,
				Description: "Days before the password must be changed in which the user is warned, up to 99999; -1 is no warning."},
			{Name: "purge_ssh_keys", Kind: resource.StringList, Scalars: true, Check: checkPurgedKeys,
				Description: "true: remove the public keys in .ssh/authorized_keys of the user's home directory that no `ssh_authorized_key` of any site manages, by their comments; or the paths of the files in which to do so, absolute or below `~/` or `%h/`, the home directory. Other lines stay. The keys that were there before return when the resource is removed. Default: false."},
			{Name: "system", Kind: resource.Bool,
				Description: "Take the id from the range for the system when the user is made. Default: false."},
		},
		Check:  checkUser,
		Alike:  ensureAlike("present", nil),
		Target: userTarget,
	}
}

func checkPrimaryGroup(v any) error {
	text, _ := v.(string)
	if _, ok := AccountNumber(text); ok {
		return nil
	}
	return checkAccountName(v)
}

func checkGroupNames(v any) error {
	names, _ := v.([]string)
	for _, n := range names {
		if err := checkAccountName(n); err != nil {
			return err
		}
	}
	return nil
}

// checkPasswdField keeps a field of /etc/passwd from becoming two.
func checkPasswdField(v any) error {
	if text, _ := v.(string); strings.ContainsAny(text, ":\n\r\x00") {
		return resource.Rule("must hold neither a colon nor a line break")
	}
	return nil
}

func checkPasswdPath(v any) error {
	text, _ := v.(string)
	if err := checkShortest(text); err != nil {
		return err
	}
	return checkPasswdField(v)
}

// ExpiryDay returns the day of an expiry as /etc/shadow has it, days since 1970, empty for never.
func ExpiryDay(expiry string) (string, error) {
	if expiry == "absent" {
		return "", nil
	}
	day, err := time.Parse(time.DateOnly, expiry)
	if err != nil || day.Unix() < 0 {
		return "", fmt.Errorf("%q must be a day as 2027-12-31, or absent", expiry)
	}
	return strconv.FormatInt(day.Unix()/(24*60*60), 10), nil
}

func checkExpiry(v any) error {
	text, _ := v.(string)
	_, err := ExpiryDay(text)
	return err
}

func checkPurgedKeys(v any) error {
	files, _ := v.([]string)
	if len(files) == 1 && (files[0] == "true" || files[0] == "false") {
		return nil
	}
	for i, file := range files {
		if file = belowHome(file, "/home"); !strings.HasPrefix(file, "/") {
			return fmt.Errorf("%q must be true, false, or the paths of files, absolute or below ~/ or %%h/", files[i])
		}
		if err := CheckAbsolute(file); err != nil {
			return err
		}
	}
	return nil
}

// belowHome puts a home directory in the place of ~ or %h in front of a path.
func belowHome(file, home string) string {
	for _, stands := range []string{"~/", "%h/"} {
		if below, ok := strings.CutPrefix(file, stands); ok {
			return home + "/" + below
		}
	}
	return file
}

// PurgedKeyFiles returns the files of which r, a user with a home directory, purges the keys.
func PurgedKeyFiles(r resource.Resource, home string) []string {
	files := r.Parameters.Strings("purge_ssh_keys")
	switch {
	case len(files) == 1 && files[0] == "true":
		return []string{home + KeysBelowHome}
	case len(files) == 1 && files[0] == "false":
		return nil
	}
	for i, file := range files {
		files[i] = belowHome(file, home)
	}
	return files
}

func checkDays(v any) error {
	if n, ok := v.(int64); !ok || n < -1 || n > 99999 {
		return fmt.Errorf("%d must be -1 to 99999 days", n)
	}
	return nil
}

func checkHash(v any) error {
	if text, _ := v.(string); text == "" {
		return resource.Rule("is empty, which would let anyone in; use `!` for no password")
	}
	return checkPasswdField(v)
}

// IsPasswordHash reports whether a text is the hash of a password, as crypt(3) gives it, or of none that fits, as
// /etc/shadow has it: one that begins with `!` or `*`.
func IsPasswordHash(text string) bool { return passwordHash.MatchString(text) }

// passwordHash matches what begins with the id of a method; a hash of DES, which has none; a locked password.
var passwordHash = regexp.MustCompile(`^(\$[0-9a-z-]+\$.*\$.+|[./0-9A-Za-z]{13}|_[./0-9A-Za-z]{19}|[!*].*)$`)

func checkUser(r resource.Resource) []invalid.Error {
	errs := errorOf("name", checkAccountName(AccountName(r)))
	if r.Parameters.Has("membership") && !r.Parameters.Has("groups") {
		errs = append(errs, invalid.Error{Attribute: "membership", Message: "says how groups is meant, and groups is not given; give groups, `[]` for none"})
	}
	return errs
}

// userTarget is the user, and whether it is to go instead of to come.
func userTarget(r resource.Resource) (name, aim string) {
	return AccountName(r), aimOf(AccountWanted(r))
}
