// Package site holds the desired state of a site as plain values: nodes, groups, services, overrides and plugins, and
// the errors found in them. It is pure and knows nothing of Terraform, of documents or of the network.
package site

import (
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
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
	// Values are those that callbacks of earlier runs returned: service -> attribute with modifier r -> value. They are
	// known.
	Values map[string]map[string]any
}

// Node is a machine, or a folder that stands for one (Connection.Root).
type Node struct {
	Name       string
	Address    string // host name or address; empty for a local node
	Rack       string
	Tags       []string
	Labels     map[string]string
	Roles      []string
	Connection Connection
}

// Connection says how a node is reached. A nil pointer or an empty value is unset: the provider's default counts
// (see [Connection.Over]).
type Connection struct {
	Transport      string // "ssh" (default) or "local"
	Root           string // local only: the folder that is the node's file system; empty is the machine itself
	User           string
	Port           int
	PrivateKey     string // PEM text; secret
	PrivateKeyFile string
	Passphrase     string // of the private key; secret
	Certificate    string // OpenSSH certificate text that belongs to the private key
	Agent          *bool  // use the agent at SSH_AUTH_SOCK
	KnownHosts     []string
	KnownHostsFile string
	HostKeyPolicy  string // "strict" (default), "accept-new" (trust on first use, remembered in KnownHostsFile)
	Bastions       []Bastion
	Sudo           *bool  // become root through sudo
	SudoPassword   string // secret
	ConnectTimeout time.Duration
}

// Bastion is one hop of a chain: the first is dialled from the controller, each next through the one before.
// Unset credentials are those of the connection it serves.
type Bastion struct {
	Host           string
	Port           int
	User           string
	PrivateKey     string // secret
	PrivateKeyFile string
}

// Group is a named set of nodes that is rolled out together.
type Group struct {
	Name            string
	Critical        bool
	DependsOn       []string
	Selectors       Selectors
	SuccessCriteria *SuccessCriteria
	Rolling         *Rolling
	PrepareTimeout  time.Duration // of one prepare call; 0 is 30 minutes (airship.md 10)
	DeployTimeout   time.Duration // of one deploy call; 0 is one hour (airship.md 10)
}

// SuccessCriteria are judged one by one; any that fails, fails the group (airship.md 8). nil is "not given".
type SuccessCriteria struct {
	PercentSuccessfulNodes *int // 0..100
	MinimumSuccessfulNodes *int // >= 0
	MaximumFailedNodes     *int // >= 0
}

// Rolling limits how many nodes of a group are worked on at once, each between lock and unlock.
type Rolling struct {
	MaxParallel int    // >= 1
	Lock        string // command run on the node before its tasks; empty: none. A lock needs an unlock
	Unlock      string // command run on the node after its tasks, whatever their outcome; empty: none
	SpareNew    bool   // nodes on which nothing is applied yet are worked on without Lock and Unlock (litp.md 78)
	// NodeOrder names the nodes of the group in the order in which they are locked (litp.md 82); [OtherNodes] stands for
	// those that it does not name. Empty: by name.
	NodeOrder []string
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
	Name          string
	Groups        []string
	Roles         []string
	Nodes         []string
	Merge         string // "parameter" (default) or "title"
	Configuration resource.Configuration
	Options       OverrideOptions
}

// OverrideOptions are seed 004's configuration_options.
type OverrideOptions struct {
	Create                *bool // default true
	TypesFilter           []string
	TitlesFilter          []string
	TypesCreateException  []string
	TitlesCreateException []string
	Defaults              map[string]map[string]any // type -> parameter -> value
}
