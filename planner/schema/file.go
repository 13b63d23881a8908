package schema

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Template is the parameter of a file whose template gives its content. Planning puts content in its place, so no node
// gets it.
const Template = "template"

// SourceDir is the parameter with the path of a directory on the controller. Planning puts what is in it in its place,
// so no node gets it.
const SourceDir = "source_dir"

// SourceSHA256 is the parameter with the SHA-256 of the content of [resource.SourceFile], of every type that has that.
const SourceSHA256 = "source_sha256"

const (
	fileType      = "file"
	fileDirectory = "directory"
)

// File declares the type file.
func File() resource.Schema {
	return resource.Schema{
		Type:       fileType,
		Summary:    "A file, directory or link.",
		Restorable: true,
		OnMachine:  fileOnMachine,
		Parameters: []resource.Parameter{
			{Name: "path", Kind: resource.String, Check: CheckAbsolute,
				Description: "Absolute path on the node. Default: the title."},
			{Name: "ensure", Kind: resource.String, Scalars: true, Values: []string{"present", "file", "directory", "link", "absent"},
				Same: map[string]string{"false": "absent"},
				Description: "What is at the path: `present` (anything, by default an empty file), `file`, `directory`, `link` or `absent`, which false means, too. Default: `link` with `target`, `file` with `content`, `content_base64`, `template`, `source` or `source_file`; " +
					"without any of them, what is there: `owner`, `group` and `mode` of it are managed, and where nothing is there, nothing is made."},
			{Name: "content", Kind: resource.String, Secret: true, Check: checkContent,
				Description: "The whole content, at most 8 MiB. Without it, `content_base64`, `template`, `source` and `source_file`, the content of a file that is there stays, and a new one is empty."},
			{Name: "content_base64", Kind: resource.String, Secret: true, Check: checkContentBase64,
				Description: "The whole content in base64, for what is no text, as filebase64() gives it: at most 8 MiB once decoded."},
			{Name: Template, Kind: resource.String, Secret: true,
				Description: "HCL template that gives the whole content on each node, with `node`, `facts` and `site` in scope, as `file(\"motd.tftpl\")` gives it: at most 64 KiB, its result at most 1 MiB. See \"Templates\" in the guide."},
			{Name: "source", Kind: resource.StringList, Single: true, Check: checkSources,
				Description: "Absolute path of a file on the node itself whose content is copied, or a list of them, of which the first that is there counts. A file of the controller is given as `source_file`, or as `content = file(...)`."},
			{Name: resource.SourceFile, Kind: resource.String, Check: checkSourceFile,
				Description: "Path of a file on the controller whose content the file has, at most 100 MiB, such as `\"${path.module}/app.bin\"`; in a document, relative to it. Needs `source_sha256`. The content is neither in the plan nor in the state: a node gets it when its file differs. See \"Files of the controller\" in the guide."},
			{Name: SourceSHA256, Kind: resource.String, Check: checkSHA256,
				Description: "SHA-256 of the content of `source_file` in hexadecimal, such as `filesha256(\"${path.module}/app.bin\")`. It is all of the content that plan and digest know; a `source_file` that has another one when the run starts stops it before any node is touched."},
			{Name: SourceDir, Kind: resource.String, Check: checkSourceFile,
				Description: "Path of a directory on the controller, such as `\"${path.module}/site\"`, of which the node gets all that is in it: directories, links, and files of at most 100 MiB, 2000 together. `owner`, `group`, `mode` and `backup` count for all of it; without `mode`, what is in it has the mode that it has on the controller. What leaves the directory is undone on the node; `purge` also removes what was never in it; `ignore` leaves names out. Only in the configuration of a service. See \"Files of the controller\" in the guide."},
			{Name: "target", Kind: resource.String, Check: checkTarget,
				Description: "Where a link leads, absolute or relative to the link's directory; it need not be there."},
			{Name: "mode", Kind: resource.String, Check: checkMode, Instead: quotedMode,
				Description: "Permissions as 3 or 4 octal digits, like \"0644\", which set x of a directory where they set r; or as changes of those that are there (of a new file 0644, of a new sensitive one 0600, of a new directory 0755), like \"u=rw,g+w,o=\" or \"a+X\", as in chmod(1). A link has no mode of its own: it is ignored there, with a warning of the run. Default: what is there stays; a new file gets 0644, one that is sensitive or has a secret 0600, a new directory 0755."},
			{Name: "owner", Kind: resource.String, Scalars: true, Check: checkAccount,
				Description: "User that owns it, a link itself and not what it leads to, by name or number. Default: what is there stays; a new one belongs to the session's user."},
			{Name: "group", Kind: resource.String, Scalars: true, Check: checkAccount,
				Description: "Group that owns it, by name or number. Default as for `owner`."},
			{Name: "backup", Kind: resource.Bool, Text: true, Check: checkBackup,
				Description: "Keep a file that was there before on the node, and put it back when the resource is removed from the site. The ending of a name, like `\".bak\"`, means true, and that the file is also copied beside itself each time before its content is replaced or it is removed; the copy goes with the resource. Default: true."},
			{Name: "replace", Kind: resource.Bool,
				Description: "Whether the content of a file that is there is replaced; `mode`, `owner` and `group` are managed in any case. Default: true."},
			{Name: "validate_cmd", Kind: resource.StringList, Shell: true, Check: checkValidate,
				Description: "Command that says whether a new content is valid, before it takes the place of the old one: `%` stands for the path of a file beside it that has the new content, with mode 0600. With a status other than 0 nothing is changed. A string is run by /bin/sh, a list is a program and its arguments. Needs a whole machine."},
			{Name: "force", Kind: resource.Bool,
				Description: "Let a directory, with everything in it, give way to a file or link, or be removed. Its content is not kept. With `purge`, directories go, too. Default: false."},
			{Name: "recurse", Kind: resource.Bool,
				Description: "Give `owner`, `group` and `mode` of a directory to everything below it, but for what has a resource of its own. Links are neither changed nor followed, and what is mounted below is left alone. Default: false."},
			{Name: "recurselimit", Kind: resource.Integer, Check: checkDepth,
				Description: "How deep `recurse` goes, 1 to 100: 1 is what is in the directory itself. Default: as deep as it is."},
			{Name: "purge", Kind: resource.Bool,
				Description: "With `recurse`, remove what is below the directory and that slipway does not manage, whichever site or type: files and links, with `force` also directories. What was removed, at most 2000 files of 64 MiB together, returns when the resource is removed from the site, unless `backup = false`. Default: false."},
			{Name: "ignore", Kind: resource.StringList, Check: checkPatterns,
				Description: "Names below the directory that `recurse` and `purge` leave alone, with what is in them, such as `[\"*.local\", \".git\"]`."},
		},
		Check:  checkFile,
		Target: func(r resource.Resource) (name, aim string) { return FilePath(r), "" },
		Alike:  fileAlike,
	}
}

// CheckAbsolute refuses what is not an absolute path in its shortest form, and the root.
func CheckAbsolute(value any) error {
	p, _ := value.(string)
	if p == "/" || strings.ContainsRune(p, 0) {
		return fmt.Errorf("%q must be an absolute path below /", p)
	}
	return checkShortest(p)
}

// checkShortest refuses what is not an absolute path in its shortest form.
func checkShortest(p string) error {
	switch {
	case strings.HasPrefix(p, "~"):
		return fmt.Errorf("%q must be an absolute path: ~ is not replaced, write the home directory itself", p)
	case !path.IsAbs(p):
		return fmt.Errorf("%q must be an absolute path", p)
	case path.Clean(p) != p:
		return fmt.Errorf("%q must be written %q, without ., .., // or a slash at the end", p, path.Clean(p))
	}
	return nil
}

// mostContent bounds the content of a file, in bytes: Terraform and the provider each need many times its size in
// memory.
const mostContent = 8 << 20

func checkContent(value any) error {
	if text, _ := value.(string); len(text) > mostContent {
		return resource.Rule(
			"has more than 8 MiB; put it into a package or an archive that the node fetches itself")
	}
	return nil
}

func checkContentBase64(value any) error {
	text, _ := value.(string)
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return resource.Rule("is not base64; write filebase64(\"...\")")
	}
	return checkContent(string(content))
}

func checkSource(value any) error {
	if p, _ := value.(string); strings.Contains(p, "://") {
		return fmt.Errorf("%q must be an absolute path on the node; put the file next to the configuration and send it with "+
			"content = file(\"${path.module}/%s\")", p, path.Base(p))
	} else if !path.IsAbs(p) {
		return fmt.Errorf("%q must be an absolute path on the node; send a file of the controller with content = file(%q)", p,
			p)
	}
	return CheckAbsolute(value)
}

// MostSource bounds the content of a file that the controller sends, in bytes.
const MostSource = 100 << 20

func checkSourceFile(value any) error {
	p, _ := value.(string)
	switch {
	case p == "" || strings.ContainsRune(p, 0):
		return errors.New("must be the path of a file on the controller")
	case strings.Contains(p, "://"):
		return fmt.Errorf("%q must be a path on the controller; download it first, and give its path", p)
	case strings.HasPrefix(p, "~"):
		return fmt.Errorf("%q must be a path: ~ is not replaced, write pathexpand(%q)", p, p)
	}
	return nil
}

func checkSHA256(value any) error {
	text, _ := value.(string)
	if len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return errors.New("must be 64 digits of 0 to 9 and a to f; write filesha256(\"...\"), or what sha256sum prints")
	}
	return nil
}

func checkSources(value any) error {
	paths, _ := value.([]string)
	if len(paths) == 0 {
		return errors.New("must not be empty; leave it out instead")
	}
	for _, p := range paths {
		if err := checkSource(p); err != nil {
			return err
		}
	}
	return nil
}

func checkDepth(value any) error {
	if n, ok := value.(int64); !ok || n < 1 || n > 100 {
		return fmt.Errorf("%d must be 1 to 100; leave it out for no limit", n)
	}
	return nil
}

func checkPatterns(value any) error {
	patterns, _ := value.([]string)
	for _, p := range patterns {
		if _, err := path.Match(p, "x"); err != nil || p == "" || strings.Contains(p, "/") {
			return fmt.Errorf("%q must be a name, with * ? and [a-z] for what may differ, and without /", p)
		}
	}
	return nil
}

// neverPurged reports whether a directory has what a system is made of.
func neverPurged(dir string) bool {
	above := path.Dir(dir)
	return above == "/" || above == "/usr" || slices.Contains(
		[]string{"/var/cache", "/var/lib", "/var/log", "/var/run", "/var/spool", "/etc/ssh", "/etc/systemd"}, dir)
}

func checkValidate(value any) error {
	words, _ := value.([]string)
	if err := checkWords(value); err != nil {
		return err
	}
	if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "%") }) {
		return errors.New("must contain %, which stands for the path of the file with the new content")
	}
	if slices.ContainsFunc(words, percentS.MatchString) {
		return errors.New("must contain % in place of %s: it stands for the path of the file with the new content")
	}
	return nil
}

// percentS matches what Ansible has where Puppet has %: it would be the path with an s behind it.
var percentS = regexp.MustCompile(`%s\b`)

func checkTarget(value any) error {
	if t, _ := value.(string); t == "" || strings.ContainsRune(t, 0) {
		return errors.New("must be a path")
	}
	return nil
}

func checkAccount(value any) error {
	name, _ := value.(string)
	if name == "" || strings.ContainsAny(name, ":/ \t\n\x00") {
		return fmt.Errorf("%q must be a name or number", name)
	}
	return nil
}

// checkSourceSum checks that a file of the controller comes with its SHA-256.
func checkSourceSum(r resource.Resource) []invalid.Error {
	switch file, sum := r.Parameters.Has(resource.SourceFile), r.Parameters.Has(SourceSHA256); {
	case file && !sum:
		return []invalid.Error{{Attribute: SourceSHA256,
			Message: "must be given with source_file; write filesha256() of the same path, or what sha256sum prints"}}
	case sum && !file:
		return []invalid.Error{{Attribute: SourceSHA256, Message: "goes with source_file"}}
	}
	return nil
}

func checkFile(r resource.Resource) []invalid.Error {
	errs := checkSourceSum(r)
	add := func(parameter, message string) {
		errs = append(errs, invalid.Error{Attribute: parameter, Message: message})
	}
	p := r.Parameters
	if err := CheckAbsolute(r.Title); err != nil && !p.Has("path") {
		if strings.HasPrefix(r.Title, "/") || strings.HasPrefix(r.Title, "~") {
			add("title", err.Error())
		} else {
			add("path", "must be given, because the title is not an absolute path")
		}
	}
	ensure := FileEnsure(r)
	var given []string
	for _, name := range contents {
		if !p.Has(name) {
			continue
		}
		if given = append(given, name); len(given) > 1 {
			add(name, fmt.Sprintf("excludes %s; give one of them", given[0]))
		}
		if ensure != "file" && ensure != "present" {
			add(name, fmt.Sprintf("does not go with ensure = %q; it is for files", ensure))
		}
	}
	if p.Has(SourceDir) && ensure != fileDirectory {
		add(SourceDir, fmt.Sprintf("does not go with ensure = %q; it is for directories", ensure))
	}
	for _, name := range []string{"replace", "validate_cmd"} {
		if len(given) == 0 && p.Has(name) {
			add(name, "goes with content, content_base64, template, source or source_file")
		}
	}
	switch recurse := p.Bool("recurse"); {
	case recurse && ensure != fileDirectory:
		add("recurse", `goes with ensure = "directory"`)
	case !recurse && p.Has("recurselimit"):
		add("recurselimit", "goes with recurse = true")
		fallthrough
	case !recurse && !p.Has(SourceDir):
		for _, name := range []string{"purge", "ignore"} {
			if p.Has(name) && p[name] != false {
				add(name, "goes with recurse = true, or with source_dir")
			}
		}
	case p.Bool("purge") && neverPurged(FilePath(r)):
		add("purge", fmt.Sprintf("would remove what the system itself has in %s; name a directory below it", FilePath(r)))
	}
	if p.Has("target") != (ensure == "link") {
		add("target", "goes with ensure = \"link\", and a link needs one")
	}
	if ensure == "absent" {
		for _, name := range []string{"mode", "owner", "group"} {
			if p.Has(name) {
				add(name, fmt.Sprintf("does not go with ensure = %q; it is for what is there", ensure))
			}
		}
	}
	return errs
}

// FileEnsure returns what the path should be; empty is what it is.
func FileEnsure(r resource.Resource) string {
	otherwise := ""
	switch p := r.Parameters; {
	case p.Has("target"):
		otherwise = "link"
	case FileHasContent(r):
		otherwise = "file"
	case r.Parameters.Has(SourceDir):
		otherwise = fileDirectory
	}
	return r.Parameters.StringOr("ensure", otherwise)
}

// fileAlike is [resource.Schema.Alike] of files: what is at the path without ensure, and octal modes.
func fileAlike(r resource.Resource) resource.Parameters {
	alike := resource.Parameters{}
	if ensure := FileEnsure(r); !r.Parameters.Has("ensure") && ensure != "" {
		alike["ensure"] = ensure
	}
	if mode := r.Parameters.String("mode"); len(mode) == 3 && checkMode(mode) == nil && mode[0] >= '0' && mode[0] <= '7' {
		alike["mode"] = "0" + mode
	}
	return alike
}

// contents are the parameters that give the content of a file.
var contents = []string{"content", "content_base64", Template, "source", resource.SourceFile}

func fileOnMachine(r resource.Resource) (parameter, why string) {
	if !r.Parameters.Has("validate_cmd") {
		return "", ""
	}
	return "validate_cmd", "needs a whole machine, which runs it, and a sandbox is a folder; leave it out"
}

// FileHasContent reports whether r gives the content of a file.
func FileHasContent(r resource.Resource) bool { return slices.ContainsFunc(contents, r.Parameters.Has) }

// HasTemplate reports whether r is a file whose content is given as a template.
func HasTemplate(r resource.Resource) bool { return r.Type == fileType && r.Parameters.Has(Template) }

// FileCopy returns the path of the copy beside the file that backup asks for, empty when it asks for none.
func FileCopy(r resource.Resource) string {
	if ending, ok := r.Parameters["backup"].(string); ok {
		return FilePath(r) + ending
	}
	return ""
}

func checkBackup(value any) error {
	ending, is := value.(string)
	if is && (len(ending) < 2 || len(ending) > 64 || ending[0] != '.' || strings.ContainsAny(ending, "/\x00\n")) {
		return fmt.Errorf("%q must be true, false, or the ending of a copy beside the file, which begins with a dot: "+
			"\".bak\"", ending)
	}
	return nil
}

// FilePath returns the path that r manages.
func FilePath(r resource.Resource) string { return r.Parameters.StringOr("path", r.Title) }
