package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// IniSetting declares the type ini_setting.
func IniSetting() resource.Schema {
	return resource.Schema{
		Type:       "ini_setting",
		Summary:    "A setting in an ini file; the title is of your choice. It is on one line: of several, the first one remains. A file that it changes ends with a newline.",
		Restorable: true,
		Parameters: []resource.Parameter{
			{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"},
				Description: "Whether the setting is there. Default: present."},
			{Name: "path", Kind: resource.String, Required: true, Check: checkFilePath, Description: "Absolute path of the file. It is made when it is not there, with mode 0644, or 0600 for a sensitive setting; its directory must be there."},
			{Name: "section", Kind: resource.String, Check: checkIniName,
				Description: "Name of the section. Default: empty, for settings before the first section."},
			{Name: "setting", Kind: resource.String, Required: true, Check: checkIniName, Description: "Name of the setting."},
			{Name: "value", Kind: resource.String, Scalars: true, Secret: true, Check: checkIniValue,
				Description: "The value, one line without blanks around it. Required unless the setting is to be absent. For a secret in plain text, set `sensitive = true`."},
			{Name: "key_val_separator", Kind: resource.String, Check: checkOneLine, Description: "What stands between setting and value in a new line; existing ones keep their blanks. Default: ` = `."},
			{Name: "section_prefix", Kind: resource.String, Check: checkIniFrame,
				Description: "What stands before the name of a section. Default: `[`."},
			{Name: "section_suffix", Kind: resource.String, Check: checkOneLine,
				Description: "What stands after the name of a section. Default: `]`."},
		},
		Check:  checkIniSetting,
		Alike:  ensureAlike("present", nil),
		Target: iniSettingTarget,
	}
}

func checkFilePath(value any) error {
	if err := CheckAbsolute(value); err != nil {
		return err
	}
	return checkOneLine(value)
}

func checkIniName(value any) error {
	name, _ := value.(string)
	if name != strings.TrimSpace(name) {
		return errors.New("must not begin or end with a blank")
	}
	if IsIniComment(name) {
		return errors.New("must not begin with # or ;, which open a comment")
	}
	return checkOneLine(value)
}

func checkIniValue(value any) error {
	if text, _ := value.(string); text != strings.TrimSpace(text) {
		return resource.Rule("must not begin or end with a blank, which parsers drop; put it in quotes that the file's reader knows")
	}
	return checkOneLine(value)
}

func checkIniFrame(value any) error {
	if text, _ := value.(string); strings.TrimSpace(text) == "" {
		return errors.New("must not be empty, or sections could not be distinguished from settings")
	}
	return checkOneLine(value)
}

func checkIniSetting(r resource.Resource) []invalid.Error {
	errs := neededUnlessAbsent(r, "value")
	fail := func(parameter, message string) {
		errs = append(errs, invalid.Error{Attribute: parameter, Message: message})
	}
	p := IniPlaceOf(r)
	if p.Setting == "" {
		fail("setting", "must not be empty")
		return errs
	}
	if p.Separator == "" {
		fail("key_val_separator", "must not be empty; for a blank between setting and value use \" \"")
	}
	separator := strings.Trim(p.Separator, IniBlanks)
	if separator != "" && strings.Contains(p.Setting, separator) || separator == "" && strings.ContainsAny(p.Setting,
		IniBlanks) {
		fail("setting", "must not contain the separator that stands between setting and value")
	}
	// Read what would be written, so that what is written is found again.
	if _, isHeader := p.Header(p.Setting + p.Separator + r.Parameters.String("value")); isHeader {
		fail("setting", "with its value it would read as the header of a section")
	}
	if name, ok := p.Header(p.Prefix + p.Section + p.Suffix); p.Section != "" && (!ok || name != p.Section) {
		fail("section", "with section_prefix and section_suffix around it, it would not be read back as this name")
	}
	return errs
}

// IniPlaceOf returns the setting that r names.
func IniPlaceOf(r resource.Resource) IniPlace {
	return IniPlace{
		Path:      r.Parameters.String("path"),
		Section:   r.Parameters.String("section"),
		Setting:   r.Parameters.String("setting"),
		Separator: r.Parameters.StringOr("key_val_separator", " = "),
		Prefix:    r.Parameters.StringOr("section_prefix", "["),
		Suffix:    r.Parameters.StringOr("section_suffix", "]"),
	}
}

// IniPlace is a setting in an ini file, and how the file is written.
type IniPlace struct {
	Path      string `json:"path"`
	Section   string `json:"section"` // empty for the settings before the first section
	Setting   string `json:"setting"`
	Separator string `json:"separator"` // between setting and value, with its blanks
	Prefix    string `json:"prefix"`    // before the name of a section
	Suffix    string `json:"suffix"`    // after it
}

// Header returns the name of the section that a line opens. A comment may follow the suffix.
func (p IniPlace) Header(text string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), strings.TrimSpace(p.Prefix))
	if !ok {
		return "", false
	}
	suffix := strings.TrimSpace(p.Suffix)
	name, ok := strings.CutSuffix(rest, suffix)
	if !ok {
		var after string
		if name, after, ok = strings.Cut(rest, suffix); !ok || !IsIniComment(after) {
			return "", false
		}
	}
	name = strings.TrimSpace(name)
	return name, name != ""
}

// IsIniComment reports whether a line of an ini file is a comment.
func IsIniComment(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "#") || strings.HasPrefix(text, ";")
}

// IniBlanks are the blanks that may stand around setting, separator and value.
const IniBlanks = " \t"

// iniSettingTarget is the setting, in its section, in its file.
func iniSettingTarget(r resource.Resource) (name, aim string) {
	p := IniPlaceOf(r)
	return fmt.Sprintf("%s [%s] %s", p.Path, p.Section, p.Setting), p.Aim()
}

// Aim returns how the lines of the setting are found where that is not the default: written another way, a setting is
// on other lines, and undo has to find the former ones.
func (p IniPlace) Aim() string {
	aim := fmt.Sprintf("%s with %q", strings.TrimSpace(p.Prefix)+p.Section+strings.TrimSpace(p.Suffix),
		strings.Trim(p.Separator, IniBlanks))
	if aim == fmt.Sprintf(`[%s] with "="`, p.Section) {
		return ""
	}
	return aim
}
