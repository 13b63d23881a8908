package planner

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// rsaKey is the public key of nobody.
const rsaKey = "AAAAB3NzaC1yc2EAAAAgY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2M="

// TestFileWithContentAndAnEditOfIt: a file whose content is given, and a resource that edits a part of the same file, undo
// each other at every run.
func TestFileWithContentAndAnEditOfIt(t *testing.T) {
	type parameters = resource.Parameters
	setting := parameters{"path": "/etc/a", "setting": "k", "value": "v"}
	content := parameters{"content": "k = w\n"}
	with := func(p parameters, name string, value any) parameters {
		out := parameters{name: value}
		for k, v := range p {
			out[k] = v
		}
		return out
	}
	for name, tt := range map[string]struct {
		file    parameters
		path    string
		typ     string
		title   string
		edit    parameters
		message string // empty: no error
	}{
		"ini_setting":        {content, "/etc/a", "ini_setting", "s", setting, "ini_setting[s] edits /etc/a, of which file[/etc/a] of the service \"one\" gives the whole content: leave one of them out, or give the file replace = false"},
		"file_line":          {content, "/etc/a", "file_line", "s", parameters{"path": "/etc/a", "line": "x"}, "file_line[s] edits /etc/a"},
		"host":               {content, "/etc/hosts", "host", "h", parameters{"ip": "192.0.2.1"}, "host[h] edits /etc/hosts"},
		"mount":              {content, "/etc/fstab", "mount", "/mnt", parameters{"ensure": "defined", "device": "/dev/sdb1", "fstype": "ext4"}, "mount[/mnt] edits /etc/fstab"},
		"ssh_authorized_key": {content, "/home/ann/.ssh/authorized_keys", "ssh_authorized_key", "k", parameters{"user": "ann", "type": "ssh-rsa", "key": rsaKey}, "ssh_authorized_key[k] edits /home/ann/.ssh/authorized_keys"},
		"hostname":           {content, "/etc/hostname", "hostname", "web1", parameters{}, "hostname[web1] edits /etc/hostname"},
		"kernel_module":      {content, "/etc/modprobe.d/slipway-br_netfilter.conf", "kernel_module", "br-netfilter", parameters{}, "kernel_module[br-netfilter] edits /etc/modprobe.d/slipway-br_netfilter.conf"},
		"systemd_unit":       {content, "/etc/systemd/system/a.service.d/x.conf", "systemd_unit", "x", parameters{"unit": "a.service", "filename": "x.conf", "content": "[Service]"}, "systemd_unit[x] edits /etc/systemd/system/a.service.d/x.conf"},
		"archive":            {content, "/etc/a", "archive", "/etc/a", parameters{"source": "/srv/a"}, "archive[/etc/a] edits /etc/a"},
		"archive, extracted": {content, "/etc/a", "archive", "/etc/a", parameters{"source": "/srv/a", "extract": true, "extract_path": "/opt"}, ""},
		"apt_repository":     {content, "/etc/apt/sources.list.d/a.sources", "apt_repository", "a", parameters{"location": "https://deb.example.com", "release": "./"}, "apt_repository[a] edits /etc/apt/sources.list.d/a.sources"},
		"yum_repository":     {content, "/etc/pki/rpm-gpg/RPM-GPG-KEY-a", "yum_repository", "a", parameters{"baseurl": "https://rpm.example.com", "key": "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n-----END PGP PUBLIC KEY BLOCK-----\n"}, "yum_repository[a] edits /etc/pki/rpm-gpg/RPM-GPG-KEY-a"},
		"timezone":           {content, "/etc/timezone", "timezone", "UTC", parameters{}, "timezone[UTC] edits /etc/timezone"},
		"path":               {with(content, "path", "/etc/a"), "a", "ini_setting", "s", setting, "ini_setting[s] edits /etc/a, of which file[a]"},
		"source":             {parameters{"source": "/usr/share/a"}, "/etc/a", "ini_setting", "s", setting, "ini_setting[s] edits /etc/a"},
		"absent":             {parameters{"ensure": "absent"}, "/etc/a", "ini_setting", "s", setting, "ini_setting[s] edits /etc/a, which file[/etc/a] of the service \"one\" wants absent: leave one of them out"},
		"another file":       {content, "/etc/b", "ini_setting", "s", setting, ""},
		"not replaced":       {with(content, "replace", false), "/etc/a", "ini_setting", "s", setting, ""},
		"without content":    {parameters{"mode": "0644"}, "/etc/a", "ini_setting", "s", setting, ""},
		"only looked at":     {with(content, "noop", true), "/etc/a", "ini_setting", "s", setting, ""},
		"an edit looked at":  {content, "/etc/a", "ini_setting", "s", with(setting, "noop", true), ""},
		"both absent":        {parameters{"ensure": "absent"}, "/etc/a", "ini_setting", "s", parameters{"path": "/etc/a", "setting": "k", "ensure": "absent"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "n"}}, Services: []site.Service{
				{Name: "one", Configuration: resource.Configuration{"file": {tt.path: tt.file}}},
				{Name: "two", Configuration: resource.Configuration{tt.typ: {tt.title: tt.edit}}},
			}}
			_, errs := Make(s, Applied{}, nil)
			if tt.message == "" {
				if len(errs.Errors()) > 0 {
					t.Error(errs)
				}
				return
			}
			if len(errs) != 1 || errs[0].Name != "two" || !strings.Contains(errs[0].Message, tt.message) {
				t.Errorf("got %v, want %q", errs, tt.message)
			}
		})
	}
}
