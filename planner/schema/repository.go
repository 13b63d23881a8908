package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// AptRepository declares the type apt_repository, with the names of apt::source of the module puppetlabs-apt.
func AptRepository() resource.Schema {
	return resource.Schema{
		Type: "apt_repository",
		Summary: "A package repository of apt: a file in /etc/apt/sources.list.d, named after the title, and its key. The node's index of it is " +
			"fetched when it has changed; where that fails, the files are as they were. Packages come after it.",
		Restorable: true,
		Parameters: []resource.Parameter{
			ensureParameter("the repository"),
			{Name: "location", Kind: resource.StringList, Check: checkURLs,
				Description: "Where the repository is: `https://deb.example.com/debian`, or several mirrors. Required unless the repository is to be absent. Without a password, which is given as `password`."},
			{Name: "release", Kind: resource.StringList, Check: checkWordsOfLine,
				Description: "The distribution's release, such as `bookworm`, or several; or a directory with a slash at its end, such as `./`. Required as `location`."},
			{Name: "repos", Kind: resource.StringList, Check: checkWordsOfLine,
				Description: "The components, each a word of its own. Default: main, and none for a directory."},
			{Name: "types", Kind: resource.StringList, Check: checkDebTypes, Description: "`deb`, `deb-src` or both. Default: deb."},
			{Name: "architecture", Kind: resource.StringList, Check: checkWordsOfLine,
				Description: "Architectures that are fetched. Default: those of the node."},
			{Name: "key", Kind: resource.String, Check: checkPublicKey,
				Description: "The repository's public key, the armored text that begins with `-----BEGIN PGP PUBLIC KEY BLOCK-----`. It is put into /etc/apt/keyrings and counts for this repository only."},
			{Name: "keyring", Kind: resource.String, Check: checkFilePath,
				Description: "Absolute path of a keyring on the node, in place of `key`."},
			{Name: "allow_unsigned", Kind: resource.Bool,
				Description: "Trust the repository though nothing is signed. Default: false."},
			{Name: "check_valid_until", Kind: resource.Bool,
				Description: "Whether an index may be out of date. Default: true, it may not."},
			{Name: "enabled", Kind: resource.Bool, Description: "Whether apt uses it. Default: true."},
			{Name: "username", Kind: resource.String, Secret: true, Check: checkWord,
				Description: "Name for the server of `location`, a URL of http or https. Needs `password`."},
			{Name: "password", Kind: resource.String, Sensitive: true, Secret: true, Check: checkWord,
				Description: "Password for the server. It is put, with `username`, into /etc/apt/auth.conf.d, a file with mode 0600."},
		},
		Check: func(r resource.Resource) []invalid.Error {
			errs := slices.Concat(errorOf("title", checkRepository(r.Title)),
				neededUnlessAbsent(r, "location"), neededUnlessAbsent(r, "release"))
			p := r.Parameters
			if p.Has("key") && p.Has("keyring") {
				errs = append(errs, invalid.Error{Attribute: "keyring", Message: "excludes key; give one of them"})
			}
			if p.Has("repos") && slices.ContainsFunc(p.Strings("release"), isDirectory) {
				errs = append(errs, invalid.Error{Attribute: "repos", Message: "does not go with a release that is a directory"})
			}
			if errs = append(errs, checkLogin(r, "username", "password")...); p.Has("password") &&
				slices.ContainsFunc(p.Strings("location"), func(l string) bool { return !isWeb(l) }) {
				errs = append(errs, invalid.Error{Attribute: "password", Message: "goes with locations of http and https only"})
			}
			return errs
		},
		Alike:  ensureAlike("present", nil),
		Target: targetOf(AptFiles),
	}
}

// checkLogin refuses a name for a server without a password, and a password without a name.
func checkLogin(r resource.Resource, username, password string) []invalid.Error {
	if r.Parameters.Has(username) == r.Parameters.Has(password) {
		return nil
	}
	return []invalid.Error{{Attribute: password, Message: fmt.Sprintf("goes with %s, and a %s needs one", username, username)}}
}

// isWeb reports whether a URL is one of http or https.
func isWeb(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// private returns r as one whose files only root reads, where it has a password.
func private(r resource.Resource) resource.Resource {
	if r.Parameters.Has("password") {
		r.Parameters = maps.Clone(r.Parameters)
		r.Parameters[resource.Sensitive] = true
	}
	return r
}

func isDirectory(release string) bool { return strings.HasSuffix(release, "/") }

// AptFiles returns the files of r: the source, its key, and the password for its server.
func AptFiles(r resource.Resource) []resource.Resource {
	p := r.Parameters
	keyring := p.String("keyring")
	if p.Has("key") {
		keyring = "/etc/apt/keyrings/" + r.Title + ".asc"
	}
	repos := p.Strings("repos")
	if len(repos) == 0 && !slices.ContainsFunc(p.Strings("release"), isDirectory) {
		repos = []string{"main"}
	}
	types := p.Strings("types")
	if len(types) == 0 {
		types = []string{"deb"}
	}
	text := setting("Enabled: ", yesNo(r, "enabled", "yes", "no")) + setting("Types: ", types...) +
		setting("URIs: ", p.Strings("location")...) + setting("Suites: ", p.Strings("release")...) +
		setting("Components: ", repos...) + setting("Architectures: ", p.Strings("architecture")...) +
		setting("Signed-By: ", keyring) + setting("Trusted: ", yesNo(r, "allow_unsigned", "yes", "no")) +
		setting("Check-Valid-Until: ", yesNo(r, "check_valid_until", "yes", "no"))
	source := wholeFile
	if p.Has("password") { // what is sensitive has a file of its own
		source = publicFile
	}
	files := []resource.Resource{source(r, AptSource(r), text)}
	if p.Has("key") {
		files = append(files, publicFile(r, keyring, withEnd(p.String("key"))))
	}
	if p.Has("password") {
		login := ""
		for _, l := range p.Strings("location") {
			login += "machine " + l + " login " + p.String("username") + " password " + p.String("password") + "\n"
		}
		files = append(files, wholeFile(private(r), "/etc/apt/auth.conf.d/"+r.Title+".conf", login))
	}
	return files
}

// AptSource returns the path of r's source.
func AptSource(r resource.Resource) string { return "/etc/apt/sources.list.d/" + r.Title + ".sources" }

// YumRepository declares the type yum_repository, with the names of Puppet's yumrepo.
func YumRepository() resource.Schema {
	parameters := []resource.Parameter{
		ensureParameter("the repository"),
		{Name: "descr", Kind: resource.String, Check: checkOneLine, Description: "Its name for people. Default: the title."},
		{Name: "key", Kind: resource.String, Check: checkPublicKey,
			Description: "The repository's public key, the armored text that begins with `-----BEGIN PGP PUBLIC KEY BLOCK-----`. It is put into /etc/pki/rpm-gpg, in place of `gpgkey`. dnf imports it with the first package of the repository, and rpm keeps it when the repository goes."},
	}
	parameters = append(parameters, yumSettings...)
	return resource.Schema{
		Type: "yum_repository",
		Summary: "A package repository of dnf or yum: a file in /etc/yum.repos.d, named after the title, which is its id, and its key. " +
			"Packages come after it.",
		Restorable: true,
		Parameters: parameters,
		Check: func(r resource.Resource) []invalid.Error {
			errs := errorOf("title", checkRepository(r.Title))
			p := r.Parameters
			if !WantsAbsent(r) && !p.Has("baseurl") && !p.Has("mirrorlist") && !p.Has("metalink") {
				errs = append(errs, invalid.Error{Attribute: "baseurl", Code: invalid.MissingParameter,
					Message: "is required, or mirrorlist or metalink, unless ensure is absent"})
			}
			if p.Has("key") && p.Has("gpgkey") {
				errs = append(errs, invalid.Error{Attribute: "gpgkey", Message: "excludes key; give one of them"})
			}
			return append(errs, checkLogin(r, "username", "password")...)
		},
		Alike:  ensureAlike("present", nil),
		Target: targetOf(YumFiles),
	}
}

// yumSettings are the parameters that are written as they are.
var yumSettings = []resource.Parameter{
	{Name: "baseurl", Kind: resource.StringList, Check: checkURLs,
		Description: "Where the repository is, or several mirrors; without a password, which is given as `password`."},
	{Name: "mirrorlist", Kind: resource.String, Check: checkURL, Description: "Where a list of mirrors is."},
	{Name: "metalink", Kind: resource.String, Check: checkURL, Description: "Where a metalink is."},
	{Name: "enabled", Kind: resource.Bool, Description: "Whether it is used. Default: true."},
	{Name: "gpgcheck", Kind: resource.Bool, Description: "Whether packages must be signed. Default: as dnf.conf says."},
	{Name: "repo_gpgcheck", Kind: resource.Bool, Description: "Whether its index must be signed. Default: as dnf.conf says."},
	{Name: "gpgkey", Kind: resource.StringList, Check: checkURLs, Description: "Where its public key is: `https://...`, `file:///...`."},
	{Name: "priority", Kind: resource.Integer, Check: checkPriority, Description: "1 to 99: the lowest counts. Default: 99."},
	{Name: "cost", Kind: resource.Integer, Description: "Of equal packages, that of the repository with the lowest one counts. Default: 1000."},
	{Name: "exclude", Kind: resource.StringList, Check: checkWordsOfLine, Description: "Packages that are not taken from it, with wildcards."},
	{Name: "includepkgs", Kind: resource.StringList, Check: checkWordsOfLine, Description: "The only packages that are taken from it, with wildcards."},
	{Name: "module_hotfixes", Kind: resource.Bool, Description: "Whether its packages count also where they are of a module. Default: false."},
	{Name: "skip_if_unavailable", Kind: resource.Bool, Description: "Whether it may be out of reach. Default: as dnf.conf says."},
	{Name: "sslverify", Kind: resource.Bool, Description: "Whether its certificate is checked. Default: as dnf.conf says."},
	{Name: "sslcacert", Kind: resource.String, Check: checkFilePath, Description: "Absolute path of the certificates that sign its certificate."},
	{Name: "proxy", Kind: resource.String, Check: checkURL, Description: "A proxy, without a password."},
	{Name: "username", Kind: resource.String, Secret: true, Check: checkIniValue, Description: "Name for the server. Needs `password`."},
	{Name: "password", Kind: resource.String, Sensitive: true, Secret: true, Check: checkIniValue,
		Description: "Password for the server. With it, the file has mode 0600."},
}

// YumFiles returns the files of r: the repository, and its key.
func YumFiles(r resource.Resource) []resource.Resource {
	r = private(r)
	p, key := r.Parameters, "/etc/pki/rpm-gpg/RPM-GPG-KEY-"+r.Title
	text := "[" + r.Title + "]\n" + setting("name=", p.StringOr("descr", r.Title))
	for _, s := range yumSettings {
		switch {
		case !p.Has(s.Name):
		case s.Kind == resource.Bool:
			text += setting(s.Name+"=", yesNo(r, s.Name, "1", "0"))
		case s.Kind == resource.Integer:
			text += setting(s.Name+"=", fmt.Sprint(p[s.Name]))
		default:
			text += setting(s.Name+"=", p.Strings(s.Name)...)
		}
	}
	if !p.Has("key") {
		return []resource.Resource{wholeFile(r, YumRepoFile(r), text)}
	}
	text += setting("gpgkey=", "file://"+key)
	return []resource.Resource{wholeFile(r, YumRepoFile(r), text), publicFile(r, key, withEnd(p.String("key")))}
}

// YumRepoFile returns the path of r's file.
func YumRepoFile(r resource.Resource) string { return "/etc/yum.repos.d/" + r.Title + ".repo" }

// setting returns a line of a file, empty for one without values.
func setting(name string, values ...string) string {
	if value := strings.Join(values, " "); value != "" {
		return name + value + "\n"
	}
	return ""
}

// yesNo returns the word for a bool, empty where it is not given.
func yesNo(r resource.Resource, parameter, yes, no string) string {
	switch {
	case !r.Parameters.Has(parameter):
		return ""
	case r.Parameters.Bool(parameter):
		return yes
	}
	return no
}

// withEnd returns a text with one line break at its end.
func withEnd(text string) string { return strings.TrimRight(text, "\n") + "\n" }

func checkRepository(value any) error {
	if name, _ := value.(string); !spelled(name, "", "_.-") {
		return fmt.Errorf("%q is not the name of a repository: letters, digits and . _ - only", name)
	}
	return nil
}

func checkPriority(value any) error {
	if n, _ := value.(int64); n < 1 || n > 99 {
		return fmt.Errorf("%d must be 1 to 99", n)
	}
	return nil
}

// checkURL accepts a URL that can stand in a line of words, and holds no password: files with it can be read by all.
func checkURL(value any) error {
	text, _ := value.(string)
	scheme, rest, ok := strings.Cut(text, ":")
	switch authority, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "/"); {
	case strings.HasPrefix(rest, "//") && strings.Contains(authority, "@"):
		return resource.Rule("holds a user name or a password, which every user of the node could read; leave them out")
	case !ok || rest == "" || !spelled(scheme, "", "+.-") || checkWord(text) != nil:
		return fmt.Errorf("%q %w", text, resource.Rule("is not a URL"))
	}
	return nil
}

func checkURLs(value any) error {
	return each(value, checkURL)
}

func checkWordsOfLine(value any) error {
	return each(value, checkWord)
}

func checkDebTypes(value any) error {
	return each(value, func(v any) error {
		if v != "deb" && v != "deb-src" {
			return fmt.Errorf("%q must be deb or deb-src", v)
		}
		return nil
	})
}

func checkWord(value any) error {
	text, _ := value.(string)
	if text == "" || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return fmt.Errorf("%q %w", text, resource.Rule("must be one word"))
	}
	return nil
}

// each checks the entries of a list, which must have some.
func each(value any, check func(any) error) error {
	list, _ := value.([]string)
	if len(list) == 0 {
		return errors.New("must not be empty")
	}
	for _, v := range list {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

// checkPublicKey accepts an armored public key of OpenPGP.
func checkPublicKey(value any) error {
	const begin, end = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"
	text, _ := value.(string)
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, begin+"\n") || !strings.HasSuffix(text, "\n"+end) {
		return errors.New("must be the whole armored text, from " + begin + " to " + end +
			"; a key that is no text is a file of its own, given by its path")
	}
	return nil
}
