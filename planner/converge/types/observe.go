package types

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// What follows are the methods of [Observer]. Each reads what the type's Check compares.

// Observe returns the content of the file.
func (fileType) Observe(_ context.Context, s *Session, r resource.Resource, parameter string) ([]string, error) {
	at := schema.FilePath(r)
	if kind, _, err := look(s, at); err != nil || kind != fileFile {
		return nil, err
	}
	is, err := s.ReadFile(at)
	if parameter == "content_base64" {
		return []string{base64.StdEncoding.EncodeToString(is)}, err
	}
	return []string{string(is)}, err
}

// Observe returns the whole content, or what follows the parameter's name in the lines of the files of a repository:
// `password=x`, `login name password x`.
func (t filesType) Observe(ctx context.Context, s *Session, r resource.Resource, parameter string) ([]string, error) {
	var found []string
	for _, f := range filesTypes[r.Type].files(r) {
		whole, err := fileType{}.Observe(ctx, s, f, parameter)
		if err != nil {
			return nil, err
		}
		for _, text := range whole {
			found = append(found, text)
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if value, ok := strings.CutPrefix(line, parameter+"="); ok {
					found = append(found, value)
				}
				if strings.HasPrefix(line, "machine ") {
					found = append(found, strings.Fields(line)...)
				}
			}
		}
	}
	return found, nil
}

// Observe returns the hash of the user's password.
func (userType) Observe(_ context.Context, s *Session, r resource.Resource, _ string) ([]string, error) {
	users, err := s.Users()
	return []string{users[schema.AccountName(r)].Hash}, err
}

// Observe returns the lines of the file.
func (lineType) Observe(_ context.Context, s *Session, r resource.Resource, _ string) ([]string, error) {
	f, err := s.readText(r.Parameters.String("path"))
	if err != nil {
		return nil, err
	}
	return f.lines.texts(span{0, len(f.lines)}), nil
}

// Observe returns the values of the setting.
func (iniType) Observe(_ context.Context, s *Session, r resource.Resource, _ string) ([]string, error) {
	p := placeOf(r)
	f, err := s.readText(p.Path)
	if err != nil {
		return nil, err
	}
	return p.values(f.lines), nil
}

// Observe returns the keys with the comment.
func (t authorizedKeyType) Observe(
	_ context.Context, s *Session, r resource.Resource, parameter string,
) (found []string, err error) {
	file, _, err := t.fileOf(s, r)
	if err != nil {
		return nil, nil //nolint:nilerr // the check itself finds that
	}
	f, err := s.readText(file)
	if err != nil {
		return nil, err
	}
	for _, x := range t.named(schema.KeyName(r))(f.lines) {
		e, _ := parseKey(f.lines[x.from].text)
		found = append(found, e[parameter])
	}
	return found, nil
}

// Observe returns the settings above the job.
func (t cronType) Observe(_ context.Context, s *Session, r resource.Resource, _ string) (found []string, err error) {
	crontab, err := t.crontab(s, r)
	if err != nil {
		return nil, nil //nolint:nilerr // the check itself finds that
	}
	f, err := s.readText(crontab)
	if err != nil {
		return nil, err
	}
	find, err := t.find(r)
	if err != nil {
		return nil, err
	}
	for _, x := range find(f.lines) {
		found = slices.Concat(found, parseJob(f.lines.texts(x)).Environment)
	}
	return found, nil
}
