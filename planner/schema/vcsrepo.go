package schema

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Vcsrepo declares the type vcsrepo, with the names of Puppet's module puppetlabs-vcsrepo, for git.
func Vcsrepo() resource.Schema {
	return resource.Schema{
		Type: "vcsrepo",
		Summary: "A clone of a git repository, by the git of the node, which never asks: a password is given as `basic_auth_password`, or is in a credential helper or ~/.netrc of `user` on the node; a key belongs into its ~/.ssh. " +
			"Changes of files that the repository has are drift.",
		NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "path", Kind: resource.String, Check: CheckAbsolute, Description: "Absolute path on the node. Default: the title."},
			{Name: "ensure", Kind: resource.String, Values: []string{"present", "latest", "bare", "absent"},
				Description: "`present`; `latest`: the newest commit of the branch, which every plan asks the server for; `bare`: without a work tree; or `absent`. Default: present."},
			{Name: "source", Kind: resource.String, Check: checkRepositorySource,
				Description: "Where it is cloned from: a URL of https, http, ssh or git, `git@example.com:app.git`, or an absolute path on the node. Without a password. Required unless `ensure` is `absent`."},
			{Name: "revision", Kind: resource.String, Scalars: true, Check: checkRevision,
				Description: "A branch, a tag or a commit. A branch stays where it is, but with `latest`. Default: what the clone has; with `latest`, the branch that the server's HEAD is."},
			{Name: "depth", Kind: resource.Integer, Check: checkCloneDepth,
				Description: "How many commits of the history are fetched. Default: all."},
			{Name: "submodules", Kind: resource.Bool, Description: "Whether submodules are cloned, too. Default: true."},
			{Name: "force", Kind: resource.Bool,
				Description: "Let what is there and is no clone of slipway's give way: a directory with everything in it, or changes in a clone. It is not kept. Default: false, that is an error."},
			{Name: "keep_local_changes", Kind: resource.Bool,
				Description: "Leave changes of files that the repository has; then they are no drift. Default: false, they are dropped, unless the clone was there before slipway."},
			{Name: "user", Kind: resource.String, Check: checkAccountName,
				Description: "User as whom git runs, and who owns the clone. Default: `owner`, or the session's user."},
			{Name: "owner", Kind: resource.String, Check: checkAccountName,
				Description: "User that owns the clone with everything in it. git runs as the owner, never as another user in somebody's clone. Default: `user`."},
			{Name: "group", Kind: resource.String, Scalars: true, Check: checkAccount,
				Description: "Group that owns the clone with everything in it. Default: what git gives it."},
			{Name: "basic_auth_username", Kind: resource.String, Secret: true, Check: checkCredential,
				Description: "Name for the server of a URL of https or http. Needs `basic_auth_password`."},
			{Name: "basic_auth_password", Kind: resource.String, Sensitive: true, Secret: true, Check: checkCredential,
				Description: "Password or token for the server. git has it from its environment: it is in no argument list and not in the clone. Where it is a secret of the deployment, plans do not ask the server for what `latest` is."},
			{Name: "provider", Kind: resource.String, Values: []string{"git"}, Unused: true,
				Description: "`git`, which is the only one."},
		},
		Check: checkVcsrepo,
		Alike: ensureAlike("present", nil),
		Target: func(r resource.Resource) (object, aim string) {
			if ensure := r.Parameters.String("ensure"); ensure == "absent" || ensure == "bare" {
				return FilePath(r), ensure
			}
			return FilePath(r), ""
		},
	}
}

func checkRepositorySource(value any) error {
	text, _ := value.(string)
	if path.IsAbs(text) {
		return CheckAbsolute(value)
	}
	if err := checkWord(value); err != nil {
		return err
	}
	scheme, rest, isURL := strings.Cut(text, "://")
	authority, _, _ := strings.Cut(rest, "/")
	user, _, named := strings.Cut(authority, "@")
	switch {
	case isURL && named && (scheme != "ssh" || strings.Contains(user, ":")):
		return errors.New("holds a user name or a password, which plans, processes and the clone itself would show; give " +
			"basic_auth_username and basic_auth_password instead")
	case isURL && rest != "" && !strings.HasPrefix(rest, "-") &&
		(scheme == "https" || scheme == "http" || scheme == "ssh" || scheme == "git"):
		return nil
	case !isURL:
		user, rest, _ := strings.Cut(text, "@")
		host, at, _ := strings.Cut(rest, ":")
		if spelled(user, "_", "._-") && spelled(host, "", ".-") && at != "" && !strings.HasPrefix(at, ":") {
			return nil
		}
	}
	return fmt.Errorf("%q must be a URL of https, http, ssh or git, git@example.com:app.git, or an absolute path on the node",
		text)
}

func checkCredential(value any) error {
	if value == "" {
		return resource.Rule("must not be empty")
	}
	return checkOneLine(value)
}

func checkRevision(value any) error {
	text, _ := value.(string)
	if !spelled(text, "_", "._/+@#-") || strings.Contains(text, "..") || strings.Contains(text, "@{") ||
		strings.Contains(text, "//") || strings.HasSuffix(text, "/") || strings.HasSuffix(text, ".lock") {
		return fmt.Errorf("%q is not the name of a branch, a tag or a commit", text)
	}
	return nil
}

func checkCloneDepth(value any) error {
	if n, ok := value.(int64); !ok || n < 1 {
		return fmt.Errorf("%d must be at least 1; leave it out for the whole history", n)
	}
	return nil
}

func checkVcsrepo(r resource.Resource) []invalid.Error {
	errs := neededUnlessAbsent(r, "source")
	fail := func(parameter, message string) {
		errs = append(errs, invalid.Error{Attribute: parameter, Message: message})
	}
	p := r.Parameters
	if !p.Has("path") && CheckAbsolute(r.Title) != nil {
		fail("path", "must be given, because the title is not an absolute path in its shortest form")
	}
	if p.Has("user") && p.Has("owner") && p.String("user") != p.String("owner") {
		fail("owner", "must be the same as user, or left out: git runs as the owner")
	}
	errs = append(errs, checkLogin(r, "basic_auth_username", "basic_auth_password")...)
	if p.Has("basic_auth_password") && p.Has("source") && !isWeb(p.String("source")) {
		fail("basic_auth_password", "goes with a source of https or http")
	}
	if p.String("ensure") == "bare" {
		for _, name := range []string{"revision", "submodules", "keep_local_changes"} {
			if p.Has(name) {
				fail(name, `does not go with ensure = "bare", which has no work tree`)
			}
		}
	}
	return errs
}

// VcsrepoUser returns the user as whom git runs, empty for the session's.
func VcsrepoUser(r resource.Resource) string {
	return r.Parameters.StringOr("user", r.Parameters.String("owner"))
}
