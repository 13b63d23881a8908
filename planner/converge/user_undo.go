package converge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// userBefore is what Capture records.
type userBefore struct {
	Name    string   `json:"name"`
	Want    bool     `json:"want"` // slipway wanted it to be there
	Existed bool     `json:"existed"`
	UID     int      `json:"uid,omitempty"`
	GID     int      `json:"gid,omitempty"`
	Groups  []string `json:"groups,omitempty"` // without the primary one
	Comment string   `json:"comment,omitempty"`
	Home    string   `json:"home,omitempty"`
	Shell   string   `json:"shell,omitempty"`
	Hash    string   `json:"hash,omitempty"` // the name of a kept file that holds it: the ledger holds no secrets
	// Private is the group of the user's name, which userdel takes along with the user.
	Private *groupBefore `json:"private,omitempty"`
	// MakesHome is the home directory that comes with the user, empty when it was there or is not slipway's to manage.
	MakesHome string `json:"makes_home,omitempty"`
}

// Moved reports another user, or one that is now to go instead of to come, or the other way round.
func (userType) Moved(before json.RawMessage, r resource.Resource) (bool, error) {
	var b userBefore
	err := json.Unmarshal(before, &b)
	return b.Name != accountOf(r) || b.Want != wantsAccount(r), err
}

func (t userType) Capture(_ context.Context, s *System, r resource.Resource) (json.RawMessage, error) {
	b, err := captureUser(s, r)
	if err != nil {
		return nil, wrapUser(accountOf(r), err)
	}
	return json.Marshal(b)
}

func captureUser(s *System, r resource.Resource) (userBefore, error) {
	b := userBefore{Name: accountOf(r), Want: wantsAccount(r)}
	users, err := s.Users()
	if err != nil {
		return b, err
	}
	groups, err := s.Groups()
	if err != nil {
		return b, err
	}
	if private := captureGroup(groups, b.Name, true); private.Existed {
		b.Private = &private
	}
	u, existed := users[b.Name]
	if b.Existed = existed; !existed {
		b.MakesHome, err = homeToMake(s, b.Name, r.Parameters)
		return b, err
	}
	b.UID, b.GID, b.Comment, b.Home, b.Shell = u.UID, u.GID, u.Comment, u.Home, u.Shell
	b.Groups = supplementary(u, groups)
	if u.Hash != "" {
		b.Hash, err = keepHash(s, u.Hash)
	}
	return b, err
}

// homeToMake returns the home directory that useradd is going to make, empty when it makes none or finds one.
func homeToMake(s *System, name string, p resource.Parameters) (string, error) {
	if !wantsAccount(resource.Resource{Parameters: p}) || !p.Bool("managehome") {
		return "", nil
	}
	home := p.String("home")
	if home == "" {
		base := "/home"
		defaults, err := s.ReadFile("/etc/default/useradd")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for line := range strings.Lines(string(defaults)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "HOME="); ok && v != "" {
				base = v
			}
		}
		home = path.Join(base, name)
	}
	there, err := exists(s, home)
	if err != nil || there {
		return "", err
	}
	return home, nil
}

// hashFile is where a hash passes through on its way to its name. What a crash leaves there, the engine drops with all that no
// ledger entry names.
const hashFile = backupPath + "/hash"

// keepHash keeps a hash as a file that only root can read, as /etc/shadow is.
func keepHash(s *System, hash string) (name string, err error) {
	for _, dir := range []string{home, backupPath} {
		if err := s.ownDirectory(dir); err != nil {
			return "", err
		}
	}
	secret := fs.FileMode(0o600)
	if err := s.WriteFile(hashFile, []byte(hash), Attributes{Mode: &secret}); err != nil {
		return "", err
	}
	name, err = s.Keep(hashFile)
	return name, errors.Join(err, s.Remove(hashFile))
}

func (userType) Undo(ctx context.Context, s *System, title string, before json.RawMessage) error {
	var b userBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return fmt.Errorf("user %q: the ledger's record of what was there before: %w", title, err)
	}
	return wrapUser(b.Name, undoUser(ctx, s, b))
}

// undoUser deletes a user that slipway made, and gives one that was there before what it had, or itself, back. The content of
// a home directory that was removed does not come back.
func undoUser(ctx context.Context, s *System, b userBefore) error {
	users, err := s.Users()
	if err != nil {
		return err
	}
	u, there := users[b.Name]
	if !b.Existed {
		if !there || !b.Want {
			return nil
		}
		// Only the directory that was made with the user goes with it.
		if err := deleteUser(ctx, s, b.Name, b.MakesHome != "" && b.MakesHome == u.Home); err != nil {
			return err
		}
		return bringPrivateGroup(ctx, s, b)
	}
	if !there {
		if err := bringPrivateGroup(ctx, s, b); err != nil {
			return err
		}
	}
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	p := formerParameters(b, groups)
	if !there {
		home, err := exists(s, b.Home)
		if err != nil {
			return err
		}
		p["managehome"] = !home
		err = runShadow(ctx, s, "useradd", userAddArguments(b.Name, p, true)...)
		if err != nil {
			return err
		}
	} else if args := userModArguments(u, groups, p); len(args) > 0 {
		if err := runShadow(ctx, s, "usermod", append(args, b.Name)...); err != nil {
			return err
		}
	}
	return bringHash(ctx, s, b, u.Hash)
}

// formerParameters are those of a resource that makes the user as it was.
func formerParameters(b userBefore, groups map[string]Group) resource.Parameters {
	p := resource.Parameters{
		"uid": int64(b.UID), "gid": strconv.Itoa(b.GID), "comment": b.Comment, "home": b.Home, "membership": inclusive,
	}
	if b.Shell != "" {
		p["shell"] = b.Shell
	}
	list := []any{}
	for _, g := range b.Groups {
		if _, there := groups[g]; there {
			list = append(list, g)
		}
	}
	p["groups"] = list
	return p
}

// bringPrivateGroup makes the group of the user's name again, if it was there before slipway and went with the user.
func bringPrivateGroup(ctx context.Context, s *System, b userBefore) error {
	if b.Private == nil {
		return nil
	}
	groups, err := s.Groups()
	if err != nil {
		return err
	}
	if _, there := groups[b.Name]; there {
		return nil
	}
	private := *b.Private
	private.Members = slices.DeleteFunc(slices.Clone(private.Members), func(m string) bool { return m == b.Name })
	return undoGroup(ctx, s, private)
}

// bringHash sets the password that the user had.
func bringHash(ctx context.Context, s *System, b userBefore, is string) error {
	if b.Hash == "" {
		return nil
	}
	hash, err := s.ReadFile(backupPath + "/" + b.Hash)
	if err != nil {
		return fmt.Errorf("the copy of its former password's hash: %w", err)
	}
	if string(hash) == is {
		return nil
	}
	return setHash(ctx, s, b.Name, string(hash))
}
