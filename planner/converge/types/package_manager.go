package types

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// packageManager is what packageType needs of apt, dnf and apk.
type packageManager interface {
	// state reads what the node has under a name, from the manager's own database.
	state(ctx context.Context, s *Session, name string) (packageState, error)
	// newest returns the newest version that the node's index has of each package that is there, without refreshing the
	// index; a package of which it knows none is left out. options are the install options.
	newest(ctx context.Context, s *Session, names []string, options ...string) (map[string]string, error)
	// matches reports whether the version that is there is the one wanted.
	matches(is, should string) bool
	// known finds out, for each want, whether the index has what is to be installed, refreshing the index when it has not.
	// The errors answer wants one by one.
	known(ctx context.Context, s *Session, wants []packageWant) []error
	// transact brings all wants, which have the same install options, about in one transaction as far as the manager can.
	transact(ctx context.Context, s *Session, wants []packageWant) error
	// capture completes b with what the manager needs for undo. differs says that there will be a transaction, alongside
	// lists the wants that may share it.
	capture(
		ctx context.Context, s *Session, want packageWant, differs bool, alongside []packageWant, b *packageBefore,
	) error
	// finish completes what an interrupted transaction left unfinished, and describes that; it is empty when there is
	// nothing. That a single package cannot be completed is no error: the state of the package says it.
	finish(ctx context.Context, s *Session) (was string, err error)
	// undo brings back b.
	undo(ctx context.Context, s *Session, b packageBefore) error
}

// restorer is implemented by package managers of which an undo that was cut off leaves more to do than an installation.
type restorer interface {
	// restore is finish for packages that are to stay, and brings back what an undo that was cut off has half removed.
	restore(ctx context.Context, s *Session, b packageBefore) (was string, err error)
}

// marker is implemented by package managers that can keep a package from being changed, or from going with those that
// need it.
type marker interface {
	// auto reports whether a package is there only because others need it.
	auto(s *Session, name string) (bool, error)
	// mark sets the marks that are wanted and that are not yet as they should be.
	mark(ctx context.Context, s *Session, wants []packageWant) error
}

// selfReliant is what dnf and apk have in common: they refresh their index by themselves, where a transaction needs
// that, and remember which packages came along for others, and take them away with the last of those.
type selfReliant struct{}

func (selfReliant) known(_ context.Context, _ *Session, wants []packageWant) []error {
	return make([]error, len(wants))
}

func (selfReliant) capture(context.Context, *Session, packageWant, bool, []packageWant, *packageBefore) error {
	return nil
}

// packageManagers is the table of the package managers of nodes, with where each one's program is. The first that is
// there is the node's own.
var packageManagers = []struct {
	provider string
	paths    []string
	manager  packageManager
}{
	{"apt", []string{"/usr/bin/apt-get"}, apt{}},
	{"dnf", []string{"/usr/bin/dnf"}, dnf{}},
	{"apk", []string{"/sbin/apk", "/usr/sbin/apk", "/usr/bin/apk"}, apk{}},
}

// packageTimeout bounds one transaction.
const packageTimeout = 30 * time.Minute

// packageCondition is how much of a package is there.
type packageCondition int

const (
	conditionGone      packageCondition = iota
	conditionConffiles                  // removed, its configuration files are kept
	conditionBroken                     // begun and not finished
	conditionInstalled
)

// packageState is what a node has under a package's name.
type packageState struct {
	condition packageCondition
	versions  []string // several where the manager allows it (kernels)
	trouble   string   // why it does not count as installed although it is there: half-configured
	held      bool
	auto      bool // there only because others need it; known where that is asked for
}

// The marks besides hold and none: manual keeps a package that others brought along, auto is what it was before.
const markManual, markedAuto = "manual", "auto"

func (s packageState) there() bool {
	return s.condition == conditionInstalled || s.condition == conditionBroken
}

// mark returns its mark, of the two of which the one that should be is one.
func (s packageState) mark(should string) string {
	switch {
	case should != markManual && should != markedAuto:
	case s.auto:
		return markedAuto
	default:
		return markManual
	}
	if s.held {
		return "hold"
	}
	return "none"
}

func (s packageState) String() string {
	switch {
	case s.trouble != "":
		return strings.Join(append(slices.Clone(s.versions), s.trouble), ", ")
	case s.condition == conditionInstalled && s.held:
		return strings.Join(append(slices.Clone(s.versions), "on hold"), ", ")
	case s.condition == conditionInstalled:
		return strings.Join(s.versions, ", ")
	case s.condition == conditionConffiles:
		return "absent, configuration files kept"
	default:
		return "absent"
	}
}

// packageWant is what is wanted of one package.
type packageWant struct {
	name   string
	ensure string // installed, latest, absent, purged or a version
	// options are the install options with a zero byte after each, so that wants can be compared.
	options string
	mark    string // hold, none, manual, or empty: left as it is
}

// installOptions returns the arguments that an installation gets besides.
func (w packageWant) installOptions() []string {
	if w.options == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(w.options, "\x00"), "\x00")
}

func (w packageWant) install() bool { return w.ensure != "absent" && w.ensure != "purged" }

// version returns the version wanted, empty for any.
func (w packageWant) version() string {
	if w.install() && w.ensure != "installed" && w.ensure != "latest" {
		return w.ensure
	}
	return ""
}

// argument is what apt takes for a package that is to be installed.
func (w packageWant) argument() string {
	if v := w.version(); v != "" {
		return w.name + "=" + v
	}
	return w.name
}

// packageBefore is what Capture records.
type packageBefore struct {
	Name      string `json:"name"`
	Provider  string `json:"provider"`
	Install   bool   `json:"install"` // slipway wanted it installed, as opposed to absent or purged
	Present   bool   `json:"present"` // installed, or begun and not finished
	Version   string `json:"version,omitempty"`
	Held      bool   `json:"held,omitempty"`
	Marked    bool   `json:"marked,omitempty"`    // the resource says whether it is held
	Auto      bool   `json:"auto,omitempty"`      // installed only because others need it
	Manual    bool   `json:"manual,omitempty"`    // the resource says that it is to stay without these
	Conffiles bool   `json:"conffiles,omitempty"` // removed, its configuration files kept
	// Came lists the packages that the transaction brings besides, Without the recommendations that the node did without
	// until then.
	Came    []string `json:"came,omitempty"`
	Without []string `json:"without,omitempty"`
	// CameConffiles lists those of Came of which configuration files were there before.
	CameConffiles []string `json:"came_conffiles,omitempty"`
	// Leaving lists those of Came that an undo was about to take away.
	Leaving []string `json:"leaving,omitempty"`
	// Went lists the packages that the transaction takes away.
	Went []packageGone `json:"went,omitempty"`
}

// packageGone is a package that a transaction takes away.
type packageGone struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Auto    bool   `json:"auto,omitempty"`
}

// managerOf returns the package manager that r asks for, or the node's own.
func managerOf(s *Session, r resource.Resource) (packageManager, string, error) {
	return findManager(s, r.Parameters.String("provider"))
}

func findManager(s *Session, provider string) (packageManager, string, error) {
	for _, l := range languages {
		if provider == l.provider {
			return l, provider, nil
		}
	}
	for _, m := range packageManagers {
		if provider != "" && provider != m.provider {
			continue
		}
		found, err := s.FirstThere(m.paths...)
		if err != nil {
			return nil, "", err
		}
		if found != "" {
			return m.manager, m.provider, nil
		}
	}
	if provider != "" {
		return nil, "", fmt.Errorf("provider %q: the node does not have it; leave provider out to use the node's own",
			provider)
	}
	return nil, "", errors.New("the node has none of the package managers apt, dnf and apk")
}
