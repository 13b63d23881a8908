// Package site holds the desired state of a site as plain values: nodes, groups, services, overrides and plugins, and
// the errors found in them. It is pure and knows nothing of Terraform or of the network. The tag `key` of a field is
// its key in documents, see package document.
package site

import (
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Site is everything that one deployment rolls out. The order of Groups is the user's and decides ties
// (airship.md 6); the order of the other lists carries no meaning.
type Site struct {
	Name      string
	Nodes     []Node
	Groups    []Group // nil: the default strategy (airship.md 12); empty: no group at all
	Services  []Service
	Overrides []Override
	Plugins   []Plugin
	// Ordering is what the catalog says of the order of tasks beyond requirements; nil for nothing. It is never
	// changed.
	Ordering *catalog.Ordering
	Bounds
	// Values are those that callbacks of earlier runs returned: service -> attribute with modifier r -> value. They are
	// known.
	Values map[string]map[string]any
	// Facts are what nodes said of their machines, by node; a node that has not said it yet has none.
	Facts map[string]*resource.Facts `json:",omitempty"`
	// Partly says that there may be more nodes with something to do, because something is not known yet: a run that ends
	// for approval may end at each batch that is not approved.
	Partly bool
	// Unknown are the attributes of nodes that are not known yet, by node: their values are those that are certain.
	Unknown map[string][]string `json:",omitempty"`
}

// Node is a machine, or a folder that stands for one (Connection.Root).
type Node struct {
	Name       string            `key:"name,required"`
	Address    string            `key:"address"` // host name or address; empty for a local node
	Rack       string            `key:"rack"`
	Tags       []string          `key:"tags,set"`
	Labels     map[string]string `key:"labels"`
	Roles      []string          `key:"roles,set"`
	Zone       string            `key:"zone"` // of the workers that reach it; empty: any worker does
	Connection Connection        `key:"connect"`
}

// Connection says how a node is reached. A nil pointer or an empty value is unset: the provider's default counts
// (see [Connection.Over]).
type Connection struct {
	Transport string `key:"transport"` // "ssh" (default) or "local"
	// local only: the folder that is the node's file system; empty is the machine itself
	Root           string   `key:"root"`
	User           string   `key:"user"`
	Port           int      `key:"port,port"`
	PrivateKey     string   `key:"private_key,secret"` // PEM text
	PrivateKeyFile string   `key:"private_key_file"`
	Passphrase     string   `key:"passphrase,secret"` // of the private key
	Certificate    string   `key:"certificate"`       // OpenSSH certificate text that belongs to the private key
	Agent          *bool    `key:"agent"`             // use the agent at SSH_AUTH_SOCK
	KnownHosts     []string `key:"known_hosts"`
	KnownHostsFile string   `key:"known_hosts_file"`
	// "strict" (default), "accept-new" (trust on first use, remembered in KnownHostsFile)
	HostKeyPolicy  string        `key:"host_key_policy"`
	Bastions       []Bastion     `key:"bastions"`
	SSHConfig      *bool         `key:"ssh_config"` // what is not set comes from ~/.ssh/config
	Sudo           *bool         `key:"sudo"`       // become root through sudo
	SudoPassword   string        `key:"sudo_password,secret"`
	ConnectTimeout time.Duration `key:"connect_timeout"`
	// Names are attributes -> how the user wrote them, where that is not below the connection of the provider. See
	// [Connection.Named].
	Names map[string]string `json:",omitempty"`
}

// Bastion is one hop of a chain: the first is dialled from the controller, each next through the one before.
// Unset credentials are those of the connection it serves.
type Bastion struct {
	Host           string `key:"host,required"`
	Port           int    `key:"port,port"`
	User           string `key:"user"`
	PrivateKey     string `key:"private_key,secret"`
	PrivateKeyFile string `key:"private_key_file"`
}

// Group is a named set of nodes that is rolled out together.
type Group struct {
	Name            string           `key:"name,required"`
	Critical        bool             `key:"critical,required"`
	DependsOn       []string         `key:"depends_on_groups"`
	Selectors       Selectors        `key:"selectors,required,some=a selector"`
	SuccessCriteria *SuccessCriteria `key:"success_criteria,some=success criteria"`
	Rolling         *Rolling         `key:"rolling"`
	PrepareTimeout  time.Duration    `key:"prepare_timeout"` // of one prepare call; 0 is 30 minutes (airship.md 10)
	DeployTimeout   time.Duration    `key:"deploy_timeout"`  // of one deploy call; 0 is one hour (airship.md 10)
	OnShortfall     string           `key:"on_shortfall"`    // empty: OnShortfallStop with Rolling, else OnShortfallContinue
	Maintenance     *Maintenance     `key:"maintenance"`     // nil: its nodes may be started at any time
}

// What a group does when it can no longer meet its success criteria.
const (
	OnShortfallStop     = "stop"     // it starts no further node
	OnShortfallContinue = "continue" // it works on all nodes, as Airship does
)

// Stops reports whether the group starts no further node when it can no longer meet its success criteria.
func (g Group) Stops() bool {
	return g.OnShortfall == OnShortfallStop || g.OnShortfall == "" && g.Rolling != nil
}

// Judged reports whether nodes that fail can fail the group: by its criteria, or by those of a batch, of which all
// nodes must succeed where nothing else is given. Any other group succeeds whatever its nodes do (airship.md 8).
func (g Group) Judged() bool {
	return g.SuccessCriteria != nil || g.Rolling != nil && g.Rolling.batched()
}

// SuccessCriteria are judged one by one; any that fails, fails the group (airship.md 8). nil is "not given".
type SuccessCriteria struct {
	PercentSuccessfulNodes *int `key:"percent_successful_nodes,most=100"` // 0..100
	MinimumSuccessfulNodes *int `key:"minimum_successful_nodes"`          // >= 0
	MaximumFailedNodes     *int `key:"maximum_failed_nodes"`              // >= 0
}

// Rolling limits how many nodes of a group are worked on at once, each between lock and unlock.
type Rolling struct {
	MaxParallel int `key:"max_parallel"` // >= 1
	// commands run on the node before its tasks, and after them whatever their outcome; empty: none. A lock needs an
	// unlock
	Lock     string `key:"lock"`
	Unlock   string `key:"unlock"`
	SpareNew bool   // nodes on which nothing is applied yet are worked on without Lock and Unlock (litp.md 78)
	// NodeOrder names the nodes of the group in the order in which they are locked (litp.md 82); [OtherNodes] stands for
	// those that it does not name. Empty: by name.
	NodeOrder []string `key:"node_order"`
	// Batches are cumulative shares of the nodes that the group works on, "1" or "10%": each batch ends before the next
	// one starts, after HealthCheck, Soak and HealthCheck again (design.md 6). See [Rolling.Split].
	Batches     []string      `key:"batches"`
	Approve     []string      `key:"approve"` // those of Batches, or "100%", after which the run waits for approval
	HealthCheck *HealthCheck  `key:"health_check"`
	Soak        time.Duration `key:"soak"`
	OnFailure   string        `key:"on_failure"` // of a batch; empty is OnFailureStop
}

// OtherNodes stands in [Rolling.NodeOrder] for all nodes of the group that it does not name, by name.
const OtherNodes = "*"

// Service is what is placed on nodes by selectors: an instance of an entity, or configuration as it is. Exactly one of
// Entity and Configuration is given; an empty Configuration that is not nil counts as given.
type Service struct {
	Name          string
	Selectors     Selectors
	Configuration resource.Configuration
	// resolved; nil for configuration as it is. It is never changed, so services share it
	Entity     *catalog.Entity
	Attributes map[string]any       // of an instance, as the user gave them
	Lifecycle  *lifecycle.Lifecycle // of an instance; nil: the one that the entity names
	Gates      map[string]bool      // of an instance: opens (true) and closes the gates of the lifecycle
	// RollbackOnFailure brings the attributes back that were deployed before, when an update of an instance fails.
	RollbackOnFailure bool
	TargetState       string // of an instance: the state that is asked for; empty: none
	// Complete says that Attributes are a whole attribute set, as the site's inventory keeps it: what slipway sets is
	// in it.
	Complete bool
}

// Override changes configuration resources, or adds some, for one scope. At most one of Groups, Roles and Nodes is
// set; none of them is the whole site (design.md 5.3).
type Override struct {
	Name          string                 `key:"name,required"`
	Groups        []string               `key:"groups,set"`
	Roles         []string               `key:"roles,set"`
	Nodes         []string               `key:"nodes,set"`
	Merge         string                 `key:"merge"` // "parameter" (default) or "title"
	Configuration resource.Configuration `key:"configuration,required"`
	Options       OverrideOptions        `key:"options"`
}

// OverrideOptions are seed 004's configuration_options.
type OverrideOptions struct {
	Create                *bool                     `key:"create"` // default true
	TypesFilter           []string                  `key:"types_filter,set"`
	TitlesFilter          []string                  `key:"titles_filter,set"`
	TypesCreateException  []string                  `key:"types_create_exception,set"`
	TitlesCreateException []string                  `key:"titles_create_exception,set"`
	Defaults              map[string]map[string]any `key:"defaults"` // type -> parameter -> value
}

// Validate reports everything that can be checked without the schemas of configuration resources: names, nodes, groups
// and their dependencies, placement of services, scopes of overrides. It ignores groups when they are nil; the caller
// sets the default strategy first. All errors are returned together, sorted (design.md 9).
func (s Site) Validate() invalid.Errors {
	var errs invalid.Errors
	if m := CheckFileName(s.Name); m != "" {
		errs = append(errs, invalid.Error{Object: "deployment", Name: s.Name, Attribute: "site", Code: invalid.BadName,
			Message: m})
	}
	errs = append(errs, validateNodes(s.Nodes)...)
	errs = append(errs, ValidateGroups(s.Groups, s.Nodes)...)
	errs = append(errs, validateServices(s.Services, NewNodeIndex(s.Nodes))...)
	errs = append(errs, validateOverrides(s)...)
	errs = append(errs, s.validateBounds()...)
	errs.Sort()
	return errs
}
