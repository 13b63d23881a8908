package converge

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// userType is Puppet's user: a user of the node's own database.
type userType struct{}

const (
	minimum   = "minimum"
	inclusive = "inclusive"
)

func (userType) Schema() resource.Schema {
	return resource.Schema{
		Type:         "user",
		Summary:      "A user of the node's own database.",
		NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "name", Kind: resource.String, Check: checkAccountName, Description: "The user's name. Default: the title."},
			{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"}, Description: "`present` or `absent`. Default: `present`."},
			{Name: "uid", Kind: resource.Integer, Check: checkAccountNumber, Description: "The user's id. Default: chosen by the node when the user is made."},
			{Name: "gid", Kind: resource.String, Scalars: true, Check: checkPrimaryGroup,
				Description: "The primary group, by name or number; it must be there. Default when the user is made: the group of the user's name, which is made if it is not there."},
			{Name: "groups", Kind: resource.StringList, Check: checkGroupNames, Description: "Other groups that the user is a member of, by name; they must be there."},
			{Name: "membership", Kind: resource.String, Values: []string{minimum, inclusive},
				Description: "`minimum`: the user may be a member of more groups than `groups` lists; `inclusive`: of no others. Default: `minimum`."},
			{Name: "comment", Kind: resource.String, Check: checkPasswdField, Description: "The user's full name or purpose."},
			{Name: "home", Kind: resource.String, Check: checkPasswdPath, Description: "The home directory. Default when the user is made: chosen by the node."},
			{Name: "managehome", Kind: resource.Bool,
				Description: "Make the home directory with the user, move it when `home` changes, and remove it with the user. Default: false."},
			{Name: "shell", Kind: resource.String, Check: checkPasswdPath, Description: "The login shell, a program that the node has. Default when the user is made: chosen by the node."},
			{Name: "password", Kind: resource.String, Sensitive: true, Check: checkHash,
				Description: "The password's hash, as in /etc/shadow (`$6$...`); `!` for none that fits. It must not be empty and must hold no colon."},
			{Name: "system", Kind: resource.Bool, Description: "Take the id from the range for the system when the user is made. Default: false."},
		},
		Check: checkUser,
	}
}

func checkPrimaryGroup(v any) error {
	text, _ := v.(string)
	if _, ok := accountNumber(text); ok {
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
		return errors.New("must hold neither a colon nor a line break")
	}
	return nil
}

func checkPasswdPath(v any) error {
	if text, _ := v.(string); !path.IsAbs(text) || path.Clean(text) != text {
		return fmt.Errorf("%q is not an absolute path in its shortest form", text)
	}
	return checkPasswdField(v)
}

func checkHash(v any) error {
	if text, _ := v.(string); text == "" {
		return errors.New("is empty, which would let anyone in; use `!` for no password")
	}
	return checkPasswdField(v)
}

func checkUser(r resource.Resource) []resource.ParameterError {
	var errs []resource.ParameterError
	if err := checkAccountName(accountOf(r)); err != nil {
		errs = append(errs, resource.ParameterError{Parameter: "name", Message: err.Error()})
	}
	if r.Parameters.Has("membership") && !r.Parameters.Has("groups") {
		errs = append(errs, resource.ParameterError{Parameter: "membership", Message: "says how groups is meant, and groups is not given; give groups, `[]` for none"})
	}
	return errs
}

// wrapUser names the user in an error.
func wrapUser(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("user %q: %w", name, err)
}

func (userType) Check(_ context.Context, s *System, r resource.Resource) ([]Difference, error) {
	name := accountOf(r)
	users, err := s.Users()
	if err != nil {
		return nil, wrapUser(name, err)
	}
	u, there := users[name]
	if there != wantsAccount(r) {
		return []Difference{ensureDifference(there)}, nil
	}
	if !there {
		return nil, nil
	}
	groups, err := s.Groups()
	if err != nil {
		return nil, wrapUser(name, err)
	}
	return compareUser(u, groups, r.Parameters), nil
}

// compareUser tells how a user that is there differs. A group that is not there yet is a difference: it may come in the same run.
func compareUser(u User, groups map[string]Group, p resource.Parameters) []Difference {
	var out []Difference
	differ := func(parameter, is, should string) {
		if p.Has(parameter) && is != should {
			out = append(out, Difference{Parameter: parameter, Is: is, Should: should})
		}
	}
	differ("uid", strconv.Itoa(u.UID), strconv.FormatInt(p.Int("uid"), 10))
	if gid, ok := primaryGroup(groups, p.String("gid")); !ok || gid != u.GID {
		is := groupNamed(groups, u.GID)
		if _, number := accountNumber(p.String("gid")); number || is == "" {
			is = strconv.Itoa(u.GID)
		}
		differ("gid", is, p.String("gid"))
	}
	if p.Has("groups") {
		is, should := supplementary(u, groups), wantedGroups(u, groups, p)
		missing := slices.ContainsFunc(should, func(g string) bool { return !slices.Contains(is, g) })
		if missing || p.String("membership") == inclusive && len(is) != len(should) {
			differ("groups", strings.Join(is, ","), strings.Join(should, ","))
		}
	}
	differ("comment", u.Comment, p.String("comment"))
	differ("home", u.Home, p.String("home"))
	differ("shell", u.Shell, p.String("shell"))
	if p.Has("password") && u.Hash != p.String("password") {
		out = append(out, Difference{Parameter: "password", Is: "another", Should: "as given"})
	}
	return out
}

// primaryGroup finds a group by name or number.
func primaryGroup(groups map[string]Group, text string) (gid int, ok bool) {
	if g, found := groups[text]; found {
		return g.GID, true
	}
	return accountNumber(text)
}

// supplementary returns the groups that list u, without its primary group.
func supplementary(u User, groups map[string]Group) []string {
	return slices.DeleteFunc(memberships(groups, u.Name), func(g string) bool { return groups[g].GID == u.GID })
}

// wantedGroups returns the groups that must list u, sorted. A user need not be listed in its primary group.
func wantedGroups(u User, groups map[string]Group, p resource.Parameters) []string {
	gid := u.GID
	if wanted, ok := primaryGroup(groups, p.String("gid")); ok {
		gid = wanted
	}
	out := slices.DeleteFunc(p.Strings("groups"), func(name string) bool {
		g, there := groups[name]
		return there && g.GID == gid
	})
	slices.Sort(out)
	return slices.Compact(out)
}

func (t userType) Apply(ctx context.Context, s *System, r resource.Resource) error {
	return wrapUser(accountOf(r), t.apply(ctx, s, r))
}

func (userType) apply(ctx context.Context, s *System, r resource.Resource) error {
	name, p := accountOf(r), r.Parameters
	users, err := s.Users()
	if err != nil {
		return err
	}
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	u, there := users[name]
	switch {
	case !wantsAccount(r) && there:
		return deleteUser(ctx, s, name, p.Bool("managehome"))
	case !wantsAccount(r):
		return nil
	}
	if err := missingGroups(groups, p); err != nil {
		return err
	}
	if shell := p.String("shell"); shell != "" && shell != u.Shell {
		program, err := s.program(shell)
		if err == nil && program == "" {
			err = fmt.Errorf("the node has no program %s; install its package first and require it, or name another shell", shell)
		}
		if err != nil {
			return fmt.Errorf("shell: %w", err)
		}
	}
	if !there {
		_, private := groups[name]
		if err := runShadow(ctx, s, "useradd", userAddArguments(name, p, private)...); err != nil {
			return err
		}
	} else if args := userModArguments(u, groups, p); len(args) > 0 {
		if err := runShadow(ctx, s, "usermod", append(args, name)...); err != nil {
			return err
		}
	}
	if p.Has("password") && u.Hash != p.String("password") {
		return setHash(ctx, s, name, p.String("password"))
	}
	return nil
}

// missingGroups returns an error that names the groups that must be there and are not.
func missingGroups(groups map[string]Group, p resource.Parameters) error {
	var missing []string
	if gid, ok := primaryGroup(groups, p.String("gid")); p.Has("gid") && (!ok || groupNamed(groups, gid) == "") {
		missing = append(missing, fmt.Sprintf("gid: the node has no group %q", p.String("gid")))
	}
	for _, g := range p.Strings("groups") {
		if _, ok := groups[g]; !ok {
			missing = append(missing, fmt.Sprintf("groups: the node has no group %q", g))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New(strings.Join(missing, "; ") + "; make it with a group resource that this one requires")
}

// userAddArguments are those of useradd for a user that is not there. private says that a group of its name is.
func userAddArguments(name string, p resource.Parameters, private bool) []string {
	var args []string
	option := func(flag, parameter string) {
		if p.Has(parameter) {
			args = append(args, flag, p.String(parameter))
		}
	}
	option("-u", "uid")
	option("-g", "gid")
	if private && !p.Has("gid") {
		args = append(args, "-g", name) // useradd refuses to guess
	}
	if groups := p.Strings("groups"); len(groups) > 0 {
		slices.Sort(groups)
		args = append(args, "-G", strings.Join(groups, ","))
	}
	option("-c", "comment")
	option("-d", "home")
	option("-s", "shell")
	if p.Bool("managehome") {
		args = append(args, "-m")
	} else {
		args = append(args, "-M")
	}
	if p.Bool("system") {
		args = append(args, "-r")
	}
	return append(args, name)
}

// userModArguments are those of usermod for what differs, none when nothing does.
func userModArguments(u User, groups map[string]Group, p resource.Parameters) []string {
	var args []string
	for _, d := range compareUser(u, groups, p) {
		switch d.Parameter {
		case "uid":
			args = append(args, "-u", p.String("uid"))
		case "gid":
			args = append(args, "-g", p.String("gid"))
		case "groups":
			if p.String("membership") != inclusive {
				args = append(args, "-a")
			}
			args = append(args, "-G", strings.Join(wantedGroups(u, groups, p), ","))
		case "comment":
			args = append(args, "-c", p.String("comment"))
		case "home":
			args = append(args, "-d", p.String("home"))
			if p.Bool("managehome") {
				args = append(args, "-m")
			}
		case "shell":
			args = append(args, "-s", p.String("shell"))
		}
	}
	return args
}

// setHash sets a password's hash. It goes through standard input: argument lists can be read by every user of a machine.
func setHash(ctx context.Context, s *System, name, hash string) error {
	if err := shadowTool(s, "chpasswd"); err != nil {
		return err
	}
	return mustRun(ctx, s, Command{Argv: []string{"chpasswd", "-e"}, Stdin: []byte(name + ":" + hash + "\n")})
}

// deleteUser deletes a user. userdel takes a group of the user's name along, which is right for one that useradd made.
func deleteUser(ctx context.Context, s *System, name string, withHome bool) error {
	args := []string{name}
	if withHome {
		args = []string{"-r", name}
	}
	err := runShadow(ctx, s, "userdel", args...)
	users, readErr := s.Users()
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	if _, there := users[name]; there && err == nil {
		return errors.New("userdel reported success, yet the user is still there")
	}
	return err
}
