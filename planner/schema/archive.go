package schema

import (
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// checksumBytes is how many bytes the checksums of an archive have, by their type.
var checksumBytes = map[string]int{"sha256": 32, "sha384": 48, "sha512": 64}

// Archive declares the type archive, with the names of Puppet's module puppet-archive.
func Archive() resource.Schema {
	return resource.Schema{
		Type: "archive",
		Summary: "An archive, extracted: tar (plain, or compressed by gzip, bzip2, xz or zstd) or zip, from a URL, the node or the controller; or any file that is fetched. " +
			"Nothing is written before the whole archive has its checksum and each of its entries is checked.",
		OnMachine: archiveOnMachine,
		Parameters: []resource.Parameter{
			ensureParameter("what the archive has"),
			{Name: "path", Kind: resource.String, Check: CheckAbsolute,
				Description: "Absolute path where the archive itself is put, unless it is extracted and `cleanup` is true. Default: the title."},
			{Name: "source", Kind: resource.String, Secret: true, Check: checkArchiveSource,
				Description: "Where it comes from: a URL of http or https, which curl or wget of the node fetches, or the absolute path of a file on the node. At most 2 GiB. It or `source_file` is required unless `ensure` is `absent`."},
			{Name: resource.SourceFile, Kind: resource.String, Check: checkSourceFile,
				Description: "Path of the archive on the controller, at most 100 MiB, such as `\"${path.module}/app.tar.gz\"`; in a document, relative to it. Needs `source_sha256`. It is neither in the plan nor in the state: a node gets it when what it brings is missing or differs. See \"Files of the controller\" in the guide."},
			{Name: SourceSHA256, Kind: resource.String, Check: checkSHA256,
				Description: "SHA-256 of `source_file` in hexadecimal, such as `filesha256(\"${path.module}/app.tar.gz\")`, in place of `checksum`. A `source_file` that has another one when the run starts stops it before any node is touched."},
			{Name: "checksum", Kind: resource.String, Check: checkChecksum,
				Description: "Its checksum, in hexadecimal. Required with a URL. A file of the node without it is read at each check, and extracted again when it has changed."},
			{Name: "checksum_type", Kind: resource.String, Values: []string{"sha256", "sha384", "sha512"},
				Description: "What `checksum` is: `sha256`, `sha384` or `sha512`. Default: sha256."},
			{Name: "extract", Kind: resource.Bool, Description: "Whether it is extracted. Default: false, the file is put at `path`."},
			{Name: "extract_path", Kind: resource.String, Check: CheckAbsolute,
				Description: "Absolute path of the directory to extract into. It is made where it is missing. Required with `extract`."},
			{Name: "strip_components", Kind: resource.Integer, Check: checkStrip,
				Description: "How many leading directories the names in the archive lose, 0 to 10, as with tar; what has no more is left out. Default: 0."},
			{Name: "creates", Kind: resource.String, Check: CheckAbsolute,
				Description: "Absolute path of something that the archive brings, with `extract`. While it is there, what was extracted is not compared, and nothing is extracted that slipway did not extract before; a new `checksum` is."},
			{Name: "cleanup", Kind: resource.Bool,
				Description: "Whether an extracted archive is not kept at `path`. Default: true."},
			{Name: "user", Kind: resource.String, Scalars: true, Check: checkAccount,
				Description: "User that owns all that comes from it, by name or number. Default: the session's user."},
			{Name: "group", Kind: resource.String, Scalars: true, Check: checkAccount,
				Description: "Group that owns it, by name or number. Default: that of the session's user."},
			{Name: "username", Kind: resource.String, Secret: true, Check: checkOneLine,
				Description: "Name for the server of a URL. Needs `password`, and curl on the node."},
			{Name: "password", Kind: resource.String, Sensitive: true, Secret: true, Check: checkOneLine,
				Description: "Password for the server of a URL. It is in no argument list."},
			{Name: "proxy_server", Kind: resource.String, Check: checkURL,
				Description: "URL of the proxy that fetches a URL. Default: none."},
		},
		Check:  checkArchive,
		Alike:  ensureAlike("present", nil),
		Target: archiveTarget,
	}
}

func checkArchiveSource(value any) error {
	text, _ := value.(string)
	if path.IsAbs(text) {
		return CheckAbsolute(value)
	}
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme != "http" && scheme != "https" || rest == "" {
		return fmt.Errorf("%q %w", text, resource.Rule("must be a URL that begins with https:// or http://, or an absolute "+
			"path on the node; a file of the controller is given as source_file, with source_sha256"))
	}
	if authority, _, _ := strings.Cut(rest, "/"); strings.Contains(authority, "@") {
		return resource.Rule("holds a user name or a password, which plans and other users of the node would show; " +
			"give username and password instead")
	}
	return checkURL(value)
}

func checkChecksum(value any) error {
	text, _ := value.(string)
	if typ, _, prefixed := strings.Cut(text, ":"); prefixed && checksumBytes[typ] > 0 {
		return fmt.Errorf("must be without %q before it, which checksum_type = %q says", typ+":", typ)
	}
	if b, err := hex.DecodeString(text); err != nil || len(b) < checksumBytes["sha256"] || text != strings.ToLower(text) {
		return fmt.Errorf("%q must be a checksum in lower-case hexadecimal, at least SHA-256, as sha256sum prints it", text)
	}
	return nil
}

func checkStrip(value any) error {
	if n, ok := value.(int64); !ok || n < 0 || n > 10 {
		return fmt.Errorf("%d must be 0 to 10", n)
	}
	return nil
}

func checkArchive(r resource.Resource) []invalid.Error {
	errs := checkSourceSum(r)
	fail := func(parameter, message string) {
		errs = append(errs, invalid.Error{Attribute: parameter, Message: message})
	}
	p, extract := r.Parameters, r.Parameters.Bool("extract")
	switch {
	case !p.Has(resource.SourceFile):
		errs = append(errs, neededUnlessAbsent(r, "source")...)
	case p.Has("source"):
		fail(resource.SourceFile, "excludes source; give one of them")
	}
	for _, name := range []string{"checksum", "checksum_type"} {
		if p.Has(name) && p.Has(resource.SourceFile) {
			fail(name, "does not go with source_file, whose checksum is source_sha256")
		}
	}
	url := p.Has("source") && !path.IsAbs(p.String("source"))
	if !p.Has("path") && ArchiveKept(r) && CheckAbsolute(r.Title) != nil {
		fail("path", "must be given, because the title is not an absolute path")
	}
	if url && !p.Has("checksum") {
		when := "with a URL"
		if resource.SecretIn(p.String("source")) {
			when = "because the source is a secret, which may be a URL"
		}
		fail("checksum", "is required "+when+": what `sha256sum` prints of the archive")
	}
	if typ := ArchiveChecksumType(r); p.Has("checksum") && len(p.String("checksum")) != 2*checksumBytes[typ] {
		fail("checksum", fmt.Sprintf("must have %d digits, as %s has; see checksum_type", 2*checksumBytes[typ], typ))
	}
	if extract && !p.Has("extract_path") {
		fail("extract_path", "is required with extract")
	}
	for _, name := range []string{"extract_path", "strip_components", "creates", "cleanup"} {
		if p.Has(name) && !extract {
			fail(name, "goes with extract = true")
		}
	}
	for _, name := range []string{"username", "password", "proxy_server"} {
		if p.Has(name) && !url {
			fail(name, "goes with a URL as source")
		}
	}
	return append(errs, checkLogin(r, "username", "password")...)
}

// ArchiveFetched reports whether a program of the node fetches the archive from a URL.
func ArchiveFetched(r resource.Resource) bool {
	source, given := r.Parameters["source"].(string) // it may not be known yet
	return given && !path.IsAbs(source) && !WantsAbsent(r)
}

func archiveOnMachine(r resource.Resource) (parameter, why string) {
	if !ArchiveFetched(r) {
		return "", ""
	}
	return "source", "needs a whole machine, because a program of the node fetches a URL, and a sandbox is a folder; give " +
		"source_file, or the path of a file on the node"
}

// ArchiveChecksumType returns the type of the checksum of r.
func ArchiveChecksumType(r resource.Resource) string {
	return r.Parameters.StringOr("checksum_type", "sha256")
}

// ArchiveChecksum returns the checksum of r, empty when none is given.
func ArchiveChecksum(r resource.Resource) string {
	return r.Parameters.StringOr("checksum", r.Parameters.String(SourceSHA256))
}

// ArchiveKept reports whether the archive itself is put at its path, or is absent there.
func ArchiveKept(r resource.Resource) bool {
	return !r.Parameters.Bool("extract") || !r.Parameters.BoolOr("cleanup", true)
}

// archiveTarget is the archive; where it is extracted to is its aim.
func archiveTarget(r resource.Resource) (object, aim string) {
	p := r.Parameters
	if WantsAbsent(r) {
		return FilePath(r), "absent"
	}
	if !p.Bool("extract") {
		return FilePath(r), ""
	}
	aim = p.String("extract_path")
	if n := p.IntOr("strip_components", 0); n > 0 {
		aim += " strip_components " + strconv.FormatInt(n, 10)
	}
	if ArchiveKept(r) {
		aim += " kept"
	}
	return FilePath(r), aim
}

// archivePaths returns the path of an archive that is kept.
func archivePaths(r resource.Resource) []string {
	if ArchiveKept(r) {
		return []string{FilePath(r)}
	}
	return nil
}
