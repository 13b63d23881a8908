package types

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// inFile is the Mover of types whose objects are parts of a file that a parameter names. Those of one file are not
// beside each other: the new one may take the place of the former.
type inFile struct{}

func (inFile) Beside(s *Session, r resource.Resource, before json.RawMessage, moved bool) bool {
	return moved && besideFile(s, r.Parameters.String("path"), before)
}

// besideFile reports whether a path is that of another file than the one of an entry.
func besideFile(s *Session, path string, before json.RawMessage) bool {
	var b struct{ In string }
	return json.Unmarshal(before, &b) == nil && s.ResolveLinks(path, true) != s.ResolveLinks(b.In, true)
}

// Beside is also true for a user who is not there: Apply reports that.
func (t authorizedKeyType) Beside(s *Session, r resource.Resource, before json.RawMessage, moved bool) bool {
	path, _, err := t.fileOf(s, r)
	return moved && (err != nil || besideFile(s, path, before))
}

// Beside is true for the crontabs of two users.
func (cronType) Beside(_ *Session, r resource.Resource, before json.RawMessage, moved bool) bool {
	b, err := decode[*cronBefore](before)
	return err == nil && moved && schema.CronUser(r) != b.User
}

// Beside is false for paths of which one is below the other.
func (vcsType) Beside(s *Session, r resource.Resource, before json.RawMessage, moved bool) bool {
	b, err := decode[*vcsBefore](before)
	return err == nil && moved && apart(s, schema.FilePath(r), b.Path)
}

// apart reports whether two paths are not one, and none is below the other.
func apart(s *Session, a, b string) bool {
	a, b = s.ResolveLinks(a, true)+"/", s.ResolveLinks(b, true)+"/"
	return !strings.HasPrefix(a, b) && !strings.HasPrefix(b, a)
}

// Beside is false for paths of which one is below the other.
func (fileType) Beside(s *Session, r resource.Resource, before json.RawMessage, moved bool) bool {
	b, err := decode[*fileBefore](before)
	return err == nil && moved && apart(s, schema.FilePath(r), b.Path)
}

// Beside is true for two directories, unless the archive itself is kept at one path.
func (archiveType) Beside(s *Session, r resource.Resource, before json.RawMessage, _ bool) bool {
	b, err := decode[*archiveBefore](before)
	if err != nil || schema.WantsAbsent(r) {
		return false
	}
	var was, is []string
	if b.Kept != nil {
		was = append(was, b.Kept.Path)
	}
	if b.Brings != "" {
		was = append(was, b.Path)
	}
	if schema.ArchiveKept(r) {
		is = append(is, schema.FilePath(r))
	}
	if r.Parameters.Bool("extract") {
		is = append(is, r.Parameters.String("extract_path"))
	}
	for _, path := range was {
		if slices.ContainsFunc(is, func(p string) bool { return !apart(s, path, p) }) {
			return false
		}
	}
	return true
}
