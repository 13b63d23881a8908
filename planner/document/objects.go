package document

import (
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// The functions below read an object of a site and return its name too.

func (r *reader) node(n *yaml.Node, path string) (out site.Node, name string) {
	r.object(n, path,
		key{"name", true, r.intoText(&out.Name)},
		key{"address", false, r.intoText(&out.Address)},
		key{"rack", false, r.intoText(&out.Rack)},
		key{"tags", false, r.intoTexts(&out.Tags)},
		key{"labels", false, r.intoTextMap(&out.Labels)},
		key{"roles", false, r.intoTexts(&out.Roles)},
		key{"connect", false, func(n *yaml.Node, path string) { out.Connection = r.connection(n, path) }},
	)
	return out, out.Name
}

func (r *reader) connection(n *yaml.Node, path string) (c site.Connection) {
	secrets := r.eitherPlace(
		key{"private_key", false, r.intoSecret(&c.PrivateKey)},
		key{"passphrase", false, r.intoSecret(&c.Passphrase)},
		key{"sudo_password", false, r.intoSecret(&c.SudoPassword)},
	)
	r.object(n, path, append(secrets,
		key{"user", false, r.intoText(&c.User)},
		key{"port", false, r.intoPort(&c.Port)},
		key{"private_key_file", false, r.intoText(&c.PrivateKeyFile)},
		key{"certificate", false, r.intoText(&c.Certificate)},
		key{"agent", false, r.intoFlag(&c.Agent)},
		key{"known_hosts", false, r.intoTexts(&c.KnownHosts)},
		key{"known_hosts_file", false, r.intoText(&c.KnownHostsFile)},
		key{"host_key_policy", false, r.intoText(&c.HostKeyPolicy)},
		key{"bastions", false, func(n *yaml.Node, path string) {
			c.Bastions = []site.Bastion{}
			for i, item := range r.list(n, path) {
				c.Bastions = append(c.Bastions, r.bastion(item, index(path, i)))
			}
		}},
		key{"sudo", false, r.intoFlag(&c.Sudo)},
		key{"connect_timeout", false, r.intoDuration(&c.ConnectTimeout)},
		key{"transport", false, r.intoText(&c.Transport)},
		key{"root", false, r.intoText(&c.Root)},
	)...)
	return c
}

func (r *reader) bastion(n *yaml.Node, path string) (b site.Bastion) {
	r.object(n, path, append(r.eitherPlace(key{"private_key", false, r.intoSecret(&b.PrivateKey)}),
		key{"host", true, r.intoText(&b.Host)},
		key{"port", false, r.intoPort(&b.Port)},
		key{"user", false, r.intoText(&b.User)},
		key{"private_key_file", false, r.intoText(&b.PrivateKeyFile)},
	)...)
	return b
}

// eitherPlace returns the keys of an object whose secrets are either below `credentials`, as in slipway_node, or beside
// the other keys, as in documents and states of slipway 0.1.0.
func (r *reader) eitherPlace(secrets ...key) []key {
	const apart = "credentials"
	given := make(map[string]bool, len(secrets))
	for i, k := range secrets {
		secrets[i].read = func(n *yaml.Node, path string) {
			if given[k.name] {
				r.report(n, path, Schema, "stands beside %s and in it; keep one", apart)
				return
			}
			given[k.name] = true
			k.read(n, path)
		}
	}
	return append(secrets, key{apart, false, func(n *yaml.Node, path string) { r.object(n, path, secrets...) }})
}

// siteGroup reads a group of a site document. Its keys are those of slipway_group; Airship's depends_on means
// depends_on_groups.
func (r *reader) siteGroup(n *yaml.Node, path string) (g site.Group, name string) {
	var parents *yaml.Node
	dependsOn := func(n *yaml.Node, path string) {
		if parents != nil {
			r.report(n, path, Schema, "stands beside depends_on_groups, which means the same; keep one")
			return
		}
		parents = n
		g.DependsOn = r.texts(n, path)
	}
	r.object(n, path,
		key{"name", true, r.intoText(&g.Name)},
		key{"critical", true, r.intoBoolean(&g.Critical)},
		key{"depends_on_groups", false, dependsOn},
		key{"depends_on", false, dependsOn},
		key{"selectors", true, func(n *yaml.Node, path string) { g.Selectors = r.selectors(n, path) }},
		key{"success_criteria", false, func(n *yaml.Node, path string) { g.SuccessCriteria = r.criteria(n, path) }},
		key{"rolling", false, func(n *yaml.Node, path string) { g.Rolling = r.rolling(n, path) }},
		key{"prepare_timeout", false, r.intoDuration(&g.PrepareTimeout)},
		key{"deploy_timeout", false, r.intoDuration(&g.DeployTimeout)},
	)
	return g, g.Name
}

func (r *reader) rolling(n *yaml.Node, path string) *site.Rolling {
	out := &site.Rolling{MaxParallel: 1}
	const noBound = -1
	r.object(n, path,
		key{"max_parallel", false, func(n *yaml.Node, path string) {
			if number, ok := r.integer(n, path, noBound); ok {
				out.MaxParallel = number
			}
		}},
		key{"lock", false, r.intoText(&out.Lock)},
		key{"unlock", false, r.intoText(&out.Unlock)},
		key{"lock_new_nodes", false, func(n *yaml.Node, path string) {
			out.SpareNew = !r.boolean(n, path)
		}},
		key{"node_order", false, r.intoTexts(&out.NodeOrder)},
	)
	return out
}

func (r *reader) override(n *yaml.Node, path string) (o site.Override, name string) {
	r.object(n, path,
		key{"name", true, r.intoText(&o.Name)},
		key{"groups", false, r.intoTexts(&o.Groups)},
		key{"roles", false, r.intoTexts(&o.Roles)},
		key{"nodes", false, r.intoTexts(&o.Nodes)},
		key{"merge", false, r.intoText(&o.Merge)},
		key{"configuration", true, r.intoConfiguration(&o.Configuration)},
		key{"options", false, func(n *yaml.Node, path string) {
			r.object(n, path,
				key{"create", false, r.intoFlag(&o.Options.Create)},
				key{"types_filter", false, r.intoTexts(&o.Options.TypesFilter)},
				key{"titles_filter", false, r.intoTexts(&o.Options.TitlesFilter)},
				key{"types_create_exception", false, r.intoTexts(&o.Options.TypesCreateException)},
				key{"titles_create_exception", false, r.intoTexts(&o.Options.TitlesCreateException)},
				key{"defaults", false, r.intoDefaults(&o.Options.Defaults)},
			)
		}},
	)
	return o, o.Name
}
