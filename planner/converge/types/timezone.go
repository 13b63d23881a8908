package types

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// timezoneType manages the link /etc/localtime and the name in /etc/timezone, as two files.
type timezoneType struct {
	recorded[timezoneType, *timezoneBefore]
}

func (timezoneType) Schema() resource.Schema { return schema.Timezone() }

const zoneDir = "/usr/share/zoneinfo/"

// timezoneBefore is what was there before slipway touched it.
type timezoneBefore struct {
	Localtime fileBefore `json:"localtime"`
	Name      fileBefore `json:"name"` // of /etc/timezone
}

// check is called by decode.
func (b timezoneBefore) check() error { return errors.Join(b.Localtime.check(), b.Name.check()) }

// timezoneFiles returns the link and the file with the name, as resources of the type file.
func timezoneFiles(r resource.Resource) (localtime, name resource.Resource) {
	zone := schema.TimezoneName(r)
	return resource.Resource{Type: "file", Title: schema.LocaltimePath,
			Parameters: resource.Parameters{"ensure": fileLink, "target": zoneDir + zone}},
		resource.Resource{Type: "file", Title: schema.TimezonePath,
			Parameters: resource.Parameters{"ensure": fileFile, "content": zone + "\n"}}
}

// localtime returns the zone that /etc/localtime links to; of anything else, what it is, which is no name of a zone.
func localtime(s *Session) (string, error) {
	kind, info, err := look(s, schema.LocaltimePath)
	switch {
	case err != nil:
		return "", err
	case kind == fileLink:
		target := info.Target
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(schema.LocaltimePath), target)
		}
		return strings.TrimPrefix(path.Clean(target), zoneDir), nil
	}
	return kind + " (" + schema.LocaltimePath + ")", nil
}

// timezoneName returns what /etc/timezone has, empty when it is absent.
func timezoneName(s *Session) (string, error) {
	content, err := s.ReadFile(schema.TimezonePath)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(content)), err
}

func (timezoneType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	c, zone := comparison{resource: r}, schema.TimezoneName(r)
	is, err := localtime(s)
	if err != nil {
		return nil, err
	}
	name, err := timezoneName(s)
	if err != nil {
		return nil, err
	}
	if is == zone && name != zone {
		is = orEmpty(name) + " (" + schema.TimezonePath + ")"
	}
	c.text("timezone", is, zone)
	return c.found, nil
}

func (timezoneType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	zone := schema.TimezoneName(r)
	info, err := s.Stat(zoneDir + zone)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsRegular() {
		return fmt.Errorf("time zone %s: there is no file %s; fix the name, or let package[tzdata] bring it first",
			zone, zoneDir+zone)
	}
	if err != nil {
		return err
	}
	link, name := timezoneFiles(r)
	if is, err := localtime(s); err != nil {
		return err
	} else if is != zone { // else it may be a relative link, which stays
		if err := (fileType{}).Apply(ctx, s, link); err != nil {
			return err
		}
	}
	if is, err := timezoneName(s); err != nil || is == zone {
		return err
	}
	return fileType{}.Apply(ctx, s, name)
}

func (timezoneType) capture(ctx context.Context, s *Session, r resource.Resource) (*timezoneBefore, error) {
	link, name := timezoneFiles(r)
	localtime, err := fileType{}.capture(ctx, s, link)
	if err != nil {
		return nil, err
	}
	named, err := fileType{}.capture(ctx, s, name)
	return &timezoneBefore{*localtime, *named}, err
}

func (timezoneType) widen(ctx context.Context, s *Session, r resource.Resource, b *timezoneBefore) error {
	link, name := timezoneFiles(r)
	if err := (fileType{}).widen(ctx, s, link, &b.Localtime); err != nil {
		return err
	}
	return fileType{}.widen(ctx, s, name, &b.Name)
}

func (timezoneType) now(ctx context.Context, s *Session, title string, b *timezoneBefore) (*timezoneBefore, error) {
	localtime, err := fileType{}.now(ctx, s, title, &b.Localtime)
	if err != nil {
		return nil, err
	}
	named, err := fileType{}.now(ctx, s, title, &b.Name)
	return &timezoneBefore{*localtime, *named}, err
}

func (timezoneType) there(ctx context.Context, s *Session, title string, b *timezoneBefore) (bool, error) {
	return fileType{}.there(ctx, s, title, &b.Localtime)
}

func (timezoneType) undo(ctx context.Context, s *Session, title string, b *timezoneBefore) error {
	left := fileType{}.undo(ctx, s, title, &b.Localtime)
	if _, err := AsGone(left); err != nil {
		return err
	}
	return errors.Join(left, fileType{}.undo(ctx, s, title, &b.Name))
}
