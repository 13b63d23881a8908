package sequence

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

func TestMakeRequirements(t *testing.T) {
	run(t, map[string]scenario{
		"a task":                        {works: []string{"a callback n1 task:b", "b callback n1"}, want: "b | a"},
		"an item, itself excepted":      {works: []string{"a config n1=n1/items/i item:n1/items", "b callback n1/items/i/j"}, want: "b | a"},
		"an item and all below (A16)":   {works: []string{"a callback n1/items/i item:n1/items", "b callback n1/items/j/k", "c callback n1/itemset"}, want: "b c | a"},
		"a resource (A17)":              {works: []string{"a callback n1 key:res=b", "b config n1", "c config n2 title:b"}, want: "b c | a", after: map[string]string{"a": "b"}},
		"no match (B14)":                {works: []string{"a callback n1 key:none=such"}, want: "a"},
		"its own resource":              {works: []string{"a config n1 key:res=a"}, want: "a"},
		"twice the same (A05)":          {works: []string{"a config n1 task:b item:n1 key:res=b", "b config n1"}, want: "b a", after: map[string]string{"a": "b", "b": ""}},
		"unknown task":                  {works: []string{"abc callback n1", "b callback n1 task:abd"}, problems: []string{`task_validation: did you mean "abc"?`}},
		"unknown item":                  {works: []string{"b callback n1 item:n1/items/x"}, model: missing(full("n1/items/x")), problems: []string{"task_validation: requires item"}},
		"a callback that ran (A32)":     {works: []string{"a config n1 task:k"}, remembered: []string{"k callback n1"}, want: "a"},
		"cycle":                         {works: []string{"a callback n1 task:b", "b callback n1 task:c", "c callback n1 task:a"}, problems: []string{`cyclic: "a" requires "b" requires "c" requires "a"`}},
		"two cycles at once":            {works: []string{"a callback n1 task:b", "b callback n1 task:a", "c callback m task:d", "d callback m task:c"}, problems: []string{"cyclic: \"c\"", "cyclic: \"a\""}},
		"one item for many":             {works: []string{"a callback n1 item:n1/items", "b callback n1 item:n1/items", "c callback n1/items/i", "d callback n1/items/j"}, want: "c d | a b"},
		"one item among those it means": {works: []string{"a callback n1/items/i item:n1/items", "c callback n1/items/i", "d callback n1/items/j"}, want: "c d | a"},
	})
}

func missing(paths ...string) func(*testModel) {
	return func(m *testModel) { m.missing = paths }
}

func flag(path string, it Item) func(*testModel) {
	return func(m *testModel) { m.flags[full(path)] = it }
}

func TestMakeModelOrder(t *testing.T) {
	run(t, map[string]scenario{
		"sections":                       {works: []string{"a callback n1/os", "b callback n1/system"}, want: "b | a"},
		"over a section without tasks":   {works: []string{"a callback n1/routes/r", "b callback n1/system"}, want: "b | a"},
		"below a section":                {works: []string{"a callback n1/fs/f/g", "b callback n1/os/x"}, want: "b | a"},
		"not on another node":            {works: []string{"a callback n1/os", "b callback n2/system"}, want: "a b"},
		"what is named wins (A07)":       {works: []string{"a callback n1/os", "b callback n1/system task:a"}, want: "a | b"},
		"also over others":               {works: []string{"a callback n1/os", "c callback n1 task:a", "b callback n1/system task:c"}, want: "a | c | b"},
		"only for the one that is named": {works: []string{"a callback n1/os", "b callback n1/system task:a", "c callback n1/system", "d callback n1/os"}, want: "c | a | b | d"},
		"cluster service after nodes":    {works: []string{"a config n1=c1/services/s", "b config n1=n1/items/i"}, want: "b a", after: map[string]string{"a": "b"}},
		"packages have no order (G14)":   {works: []string{"a config n1=c1/services/s type:package", "b config n1=n1/items/i type:package"}, want: "b a", after: map[string]string{"a": ""}},
		"a package and something else":   {works: []string{"a config n1=c1/services/s type:package", "b config n1=n1/items/i"}, want: "b a", after: map[string]string{"a": "b"}},
		"removal is the reverse (G09)": {
			works: []string{"a callback n1/os removes", "b callback n1/system removes"}, want: "a | b",
		},
		"removal and the rest (G10)":         {works: []string{"a callback n1/os", "b callback n1/system removes"}, want: "a b"},
		"removal named wins":                 {works: []string{"a callback n1/os removes task:b", "b callback n1/system removes"}, want: "b | a"},
		"many of each":                       {works: []string{"a callback n1/os/1", "b callback n1/os/2", "c callback n1/system/1", "d callback n1/system/2"}, want: "c d | a b"},
		"not remembered is no removal (Q7)":  {works: []string{"a config n1=n1/os transient", "b config n1=n1/system"}, want: "b a", after: map[string]string{"a": "b"}},
		"not remembered is a removal (LITP)": {works: []string{"a config n1=n1/os transient", "b config n1=n1/system"}, in: func(in *Input) { in.Rules.TransientRemoves = true }, want: "a b", after: map[string]string{"a": ""}},
	})
}

// TestMakeUnkept: a requirement that has no effect is told.
func TestMakeUnkept(t *testing.T) {
	run(t, map[string]scenario{
		"another node (C17)":             {works: []string{"a callback n1 group:cluster task:b", "b callback n2 group:cluster"}, want: "a b", unkept: []string{"a task:b b"}},
		"a node from a cluster (C18)":    {works: []string{"a callback c1 task:b", "b config n1 tag:cluster"}, want: "a | b", unkept: []string{"a task:b b"}},
		"items on two nodes (C20)":       {works: []string{"a config n1=n1/os task:b", "b config n1=n2/os"}, want: "a b", unkept: []string{"a task:b b"}},
		"removal (G11)":                  {works: []string{"a config n1=n1/os task:b", "b config n1=n1/os removes"}, want: "a b", unkept: []string{"a task:b b"}},
		"one of two is kept":             {works: []string{"a callback n1 tag:management key:res=b", "b config n1 tag:management", "c config n2 title:b tag:management"}, want: "b c | a"},
		"past one that may not":          {works: []string{"a config n1=/catalog/x task:b", "b config n1=n1/os task:c", "c config n1=n2/os"}, want: "b c a", unkept: []string{"b task:c c"}, after: map[string]string{"a": "b c", "b": ""}},
		"it passes its own on (rule 94)": {works: []string{"a callback n1 task:b", "b callback n1 removes task:c", "c callback n1"}, want: "b c | a", unkept: []string{"a task:b b", "b task:c c"}},
	})
	s, _ := Make(scenario{works: []string{"a config n1=n1/os task:b", "b config n1=n2/os"}}.input(t))
	if got := s.Unkept[0].Problem(); got.Code != TaskValidation || !strings.Contains(got.Message, `task "a" requires task:b`) || s.Unkept[0].Reason != ItemNode {
		t.Error(got)
	}
}

func TestMakeLists(t *testing.T) {
	run(t, map[string]scenario{
		"an ordered list":          {works: []string{"a callback n1", "b callback n1", "c callback n1"}, ordered: [][]string{{"c", "a"}}, want: "b c | a"},
		"different nodes (B03)":    {works: []string{"a config n1", "b config n2"}, ordered: [][]string{{"a", "b"}}, problems: []string{"task_validation: can only contain tasks for the same node"}},
		"empty":                    {works: []string{"a config n1"}, ordered: [][]string{{}}, problems: []string{"task_validation: has no tasks"}},
		"unknown":                  {works: []string{"a config n1"}, ordered: [][]string{{"x"}}, problems: []string{"task_validation: names the task"}},
		"a cycle (B04)":            {works: []string{"a config n1 task:b", "b config n1"}, ordered: [][]string{{"a", "b"}}, problems: []string{"cyclic: "}},
		"pulled in, repeatedly":    {works: []string{"a callback n1 task:b"}, others: []string{"b callback n1 task:c", "c callback n1", "d callback n1"}, want: "c | b | a"},
		"the same id":              {works: []string{"a callback n1", "a callback n2"}, problems: []string{"non_unique_task: id"}},
		"the same resource (Q15)":  {works: []string{"a config n1 title:x source:p", "b config n1 title:x source:q"}, problems: []string{"non_unique_task: res[x]"}},
		"of two sources (B09)":     {works: []string{"a config n1 title:x source:p", "b config n1 title:x source:q"}, in: func(in *Input) { in.Rules.UniquePerSource = true }, want: "a b"},
		"on two nodes":             {works: []string{"a config n1 title:x", "b config n2 title:x"}, want: "a b"},
		"all problems of one step": {works: []string{"a config /n9/x", "b callback /n9/x"}, model: missing("/n9/x"), problems: []string{"task_validation: acts on", "task_validation: runs on", "task_validation: acts on"}},
		"nothing":                  {problems: []string{"empty_plan: nothing to do"}},
		"replaced twice (B17)":     {works: []string{"a config n1 replaces:t=x", "b config n1 replaces:t=x"}, problems: []string{"task_validation: both trying to replace"}},
		"replaces a task (B18)":    {works: []string{"a config n1 replaces:res=b", "b config n1"}, problems: []string{"task_validation: replace another task"}},
		"on another node (B19)":    {works: []string{"a config n1 replaces:t=x", "b config n2 replaces:t=x", "c config n2 type:t title:y"}, want: "a b c"},
	})
}

func TestMakeGroups(t *testing.T) {
	run(t, map[string]scenario{
		"the nine groups (C05)": {
			works: []string{
				"i callback c1 tag:post_cluster", "h callback c1 tag:cluster", "g callback n1 tag:node", "f callback n1 tag:storage_upgrade",
				"e callback n1 tag:upgrade_boot", "d callback c1 tag:pre_node", "c callback c1 tag:pre_cluster", "b callback n1 tag:boot", "a callback m",
			},
			want: "a | b | c | d | e | f | g | h | i",
		},
		"blocks of clusters (D10)":    {works: []string{"a callback c2", "b callback n3", "c callback c1", "d callback n1"}, want: "d | c | b | a"},
		"cluster dependencies (D02)":  {works: []string{"b callback n3", "d callback n1"}, model: func(m *testModel) { m.clusters[0].DependsOn = []string{"c2"} }, want: "b | d"},
		"unknown tag (C03)":           {works: []string{"a callback n1 tag:nonsense", "b callback m"}, want: "a b"},
		"different groups (C06)":      {works: []string{"a callback n1 task:b", "b callback n1 tag:boot"}, problems: []string{"task_validation: different groups"}},
		"resource in another (C07)":   {works: []string{"a callback n1 key:res=b", "b config n1 tag:boot"}, problems: []string{"task_validation: different groups"}},
		"item in a later one (C08)":   {works: []string{"a callback n1 tag:boot item:n1/items", "b callback n1/items/i"}, problems: []string{"task_validation: different groups"}},
		"item in an earlier one":      {works: []string{"a callback n1 item:n1/items", "b callback n1/items/i tag:boot"}, want: "b | a"},
		"task of another node (B10)":  {works: []string{"a callback n1 task:b", "b callback n2"}, problems: []string{"task_validation: different node"}},
		"item of another node (B11)":  {works: []string{"a callback n1 item:n2/items"}, problems: []string{"task_validation: different node"}},
		"item on no node (B12)":       {works: []string{"a callback n1 item:c1/services"}, problems: []string{"task_validation: doesn't relate to a node"}},
		"no cluster (C11, C12)":       {works: []string{"a callback m tag:cluster"}, problems: []string{"task_validation: lies in no cluster"}},
		"no node (E22)":               {works: []string{"a callback c1 tag:node"}, problems: []string{"task_validation: lies on no node"}},
		"management in a node (E23)":  {works: []string{"a config m tag:storage_upgrade"}, problems: []string{"task_validation: is in no cluster"}},
		"all that would never run":    {works: []string{"a config m tag:node", "b callback m tag:cluster"}, problems: []string{"task_validation: \"a\"", "task_validation: \"b\""}},
		"a group that there is not":   {works: []string{"a callback m group:nonsense"}, problems: []string{"task_validation: no such group"}},
		"boot for new nodes (68)":     {works: []string{"a callback n1 tag:boot", "b config n1"}, in: func(in *Input) { in.Policies = []Policy{{Action: LockNew}} }, want: "a | b"},
		"management to site (C19)":    {works: []string{"a callback m task:b", "b callback /sites/s"}, want: "b | a"},
		"a view error stops it (D06)": {works: []string{"a callback n1"}, model: func(m *testModel) { m.clusters[0].DependsOn = []string{"c1"} }, problems: []string{"view: depends on itself"}},
	})
}

func TestMakeLocks(t *testing.T) {
	locks := func(more func(in *Input)) func(in *Input) {
		return func(in *Input) {
			in.Locks = lockable(in.Model)
			if more != nil {
				more(in)
			}
		}
	}
	left := func(node string, policies ...Policy) func(in *Input) {
		return locks(func(in *Input) { in.LeftLocked, in.Policies = []string{full(node)}, policies })
	}
	run(t, map[string]scenario{
		"node by node (E01)":                {works: []string{"b config n4", "a config n3", "c config n1"}, in: locks(nil), want: "c | lock:n3 | a | unlock:n3 | lock:n4 | b | unlock:n4"},
		"groups in one window (E02)":        {works: []string{"a config n3", "b callback n3 tag:upgrade_boot"}, in: locks(nil), want: "lock:n3 | b | a | unlock:n3"},
		"without pairs (E03)":               {works: []string{"a config n3", "b config n4"}, want: "a b"},
		"work outside the window":           {works: []string{"a callback n3 tag:pre_node", "b callback n3 tag:cluster"}, in: locks(nil), want: "a | b"},
		"locked ones first (E04)":           {works: []string{"a config n3", "b config n4"}, in: locks(nil), model: flag("n3", Item{New: true}), want: "lock:n4 | b | unlock:n4 | a"},
		"new cluster (E16)":                 {works: []string{"a config n3"}, in: locks(nil), model: func(m *testModel) { m.clusters[1].New = true }, want: "a"},
		"new nodes too (E19)":               {works: []string{"a config n3"}, in: locks(func(in *Input) { in.Policies = []Policy{{Action: LockNew}} }), model: flag("n3", Item{New: true}), want: "lock:n3 | a | unlock:n3"},
		"no lock (E17)":                     {works: []string{"a config n3"}, in: locks(func(in *Input) { in.Policies = []Policy{{Action: LockNone}} }), want: "a"},
		"cluster left out":                  {works: []string{"a config n3"}, in: locks(func(in *Input) { in.Policies = []Policy{{LockCreate, []string{"c2"}}} }), want: "a"},
		"all must agree":                    {works: []string{"a config n3"}, in: locks(func(in *Input) { in.Policies = []Policy{{Action: LockCreate}, {Action: LockNone}} }), want: "a"},
		"left locked, with work (E06)":      {works: []string{"a config n3", "b callback c2 tag:pre_node"}, in: left("n3"), want: "b | unlock:n3 | lock:n3 | a | unlock:n3"},
		"left locked, without work (F19)":   {in: left("n3"), want: "unlock:n3"},
		"left locked, but no lock (F20)":    {in: left("n3", Policy{Action: LockNone}), problems: []string{"empty_plan: "}},
		"node order (E09)":                  {works: []string{"a config n3", "b config n4"}, in: locks(nil), model: func(m *testModel) { m.clusters[1].NodeOrder = []string{"n4", "n3"} }, want: "lock:n4 | b | unlock:n4 | lock:n3 | a | unlock:n3"},
		"node order, all wrong (E11-E13)":   {works: []string{"a config n3"}, in: locks(nil), model: func(m *testModel) { m.clusters[1].NodeOrder = []string{"n3", "x", "n3"} }, problems: []string{"view: not in the cluster", "view: more than once", "view: lacks"}},
		"node order, no list (E14)":         {works: []string{"a config n3"}, in: locks(nil), model: func(m *testModel) { m.clusters[1].BadNodeOrder = "1 is no list" }, problems: []string{"view: 1 is no list"}},
		"two providers":                     {works: []string{"a config n3"}, in: locks(func(in *Input) { in.Locks[full("n3")] = append(in.Locks[full("n3")], LockPair{}) }), problems: []string{"node_lock: 2 providers"}},
		"remote split (B15)":                {works: []string{"x remote m,n1,n3,n2 tag:management", "a callback m task:x"}, in: locks(nil), want: "x@mgmt x@n3 x@n1+n2 | a"},
		"remote not split":                  {works: []string{"x remote n1,n2"}, in: locks(nil), want: "x"},
		"remote for an item elsewhere (73)": {works: []string{"x remote n1=m/items/i tag:node"}, problems: []string{"task_validation: under a site"}},
		"a part keeps what it was (Q8)":     {works: []string{"x remote n3,n4 tag:cluster", "y callback n3 tag:cluster task:x"}, in: locks(nil), want: "x@n3 x@n4 | y"},
		"no window for what is done (E05)":  {works: []string{"a config n3", "b config n4"}, remembered: []string{"a config n3"}, in: locks(nil), want: "lock:n4 | b | unlock:n4"},
	})
}

func TestMakeMemory(t *testing.T) {
	empty := []string{"empty_plan: "}
	run(t, map[string]scenario{
		"equal (F07)":                         {works: []string{"a config n1"}, remembered: []string{"a config n1"}, problems: empty},
		"other arguments (F03)":               {works: []string{"a config n1 digest:2"}, remembered: []string{"a config n1 digest:1"}, want: "a"},
		"other item (F04)":                    {works: []string{"a config n1=n1/os"}, remembered: []string{"a config n1=n1/system"}, want: "a"},
		"other requirements (F10)":            {works: []string{"a config n1 task:b", "b config n1"}, remembered: []string{"a config n1", "b config n1"}, want: "a", after: map[string]string{"a": "b"}},
		"the same in another order":           {works: []string{"a config n1 item:n1/os task:b", "b config n1"}, remembered: []string{"a config n1 task:b item:n1/os", "b config n1"}, problems: empty},
		"its requirement changed (125)":       {works: []string{"a config n1 task:b", "b config n1 digest:2"}, remembered: []string{"a config n1 task:b", "b config n1"}, want: "b a"},
		"not remembered any more (F14)":       {works: []string{"a config n1 transient"}, remembered: []string{"a config n1"}, want: "a"},
		"read later (F09)":                    {works: []string{"a config n1 future"}, remembered: []string{"a config n1 future"}, want: "a"},
		"another group (F06)":                 {works: []string{"a config n1", "b config n1 task:a"}, remembered: []string{"a config n1 group:management"}, want: "b", after: map[string]string{"b": "a"}},
		"not known what is there (F05)":       {works: []string{"a config n1=n1/os"}, remembered: []string{"a config n1=n1/os"}, model: flag("n1/os", Item{Uncertain: true}), want: "a"},
		"nor of a further item":               {works: []string{"a config n1 also:n1/os"}, remembered: []string{"a config n1 also:n1/os"}, model: flag("n1/os", Item{Uncertain: true}), want: "a"},
		"remembered only (F02)":               {works: []string{"k callback n1"}, remembered: []string{"a config n1=n1/os"}, model: flag("n1/os", Item{Uncertain: true}), want: "k"},
		"callbacks come back (F11)":           {works: []string{"k callback n1"}, remembered: []string{"k callback n1"}, want: "k"},
		"over a remembered task (F01)":        {works: []string{"a config n1=n1/os", "c callback n1 task:b"}, remembered: []string{"b config n1 task:a", "a config n1=n1/os"}, model: flag("n1/os", Item{Uncertain: true}), want: "a | c", after: map[string]string{"c": "a b"}},
		"what it required has changed (126)":  {works: []string{"a config n1=n1/os digest:2", "c callback n1 task:b"}, remembered: []string{"b config n1 task:a", "a config n1=n1/os"}, want: "a | c", after: map[string]string{"c": "b"}},
		"what it required failed since (125)": {works: []string{"a config n1 digest:2", "b config n1 task:a"}, remembered: []string{"b config n1 task:a"}, in: func(in *Input) { in.Lost = works(t, "a config n1 digest:1") }, want: "a b"},
		"and requires it now (126)":           {works: []string{"a config n1 item:n1/os"}, remembered: []string{"b config n1=n1/os task:a", "a config n1"}, want: "a", after: map[string]string{"a": "b"}},
		"the resource of another id":          {works: []string{"new config n1=n1/os title:x", "c config n1 task:old"}, remembered: []string{"old config n1 title:x"}, want: "new c", after: map[string]string{"c": "new"}},
		"a removal that is done (F18)":        {works: []string{"a config n1 task:b"}, remembered: []string{"b config n1 removes"}, want: "a", after: map[string]string{"a": "b"}},
		"a requirement that is gone":          {works: []string{"a config n1"}, remembered: []string{"b config n1 task:gone"}, want: "a"},
		"orders others, then left (F13)":      {works: []string{"a callback n1 task:b", "b config n1 task:k", "k callback n1"}, remembered: []string{"b config n1 task:k"}, want: "k | a"},
		"a callback that it requires changed": {works: []string{"a config n1 task:k", "k callback n1 digest:2"}, remembered: []string{"a config n1 task:k", "k callback n1"}, want: "k | a"},
		"the callback's requirement changed":  {works: []string{"a config n1 task:k", "k callback n1 task:c", "c callback n1"}, remembered: []string{"a config n1 task:k", "k callback n1"}, want: "c | k | a"},
		"the same callback":                   {works: []string{"a config n1 task:k", "k callback n1"}, remembered: []string{"a config n1 task:k", "k callback n1"}, want: "k"},
		"a remote task on other nodes (55)":   {works: []string{"a config n1 task:x", "x remote n1,n2"}, remembered: []string{"a config n1 task:x", "x remote n1"}, want: "x"},
		"an older version it requires (126)":  {works: []string{"a config n1 task:b", "b config n1 digest:2"}, remembered: []string{"a config n1 task:b"}, stale: []string{"b config n1"}, want: "b a"},
		"that version again":                  {works: []string{"a config n1 task:b", "b config n1"}, remembered: []string{"a config n1 task:b"}, stale: []string{"b config n1"}, want: "b"},
		"never planned by itself":             {works: []string{"c config n1 task:a"}, remembered: []string{"a config n1 task:b"}, stale: []string{"b config n1"}, want: "c", after: map[string]string{"c": "a"}},
		"a callback that ran before (127)":    {works: []string{"k callback n1 task:b", "b config n1 task:a"}, remembered: []string{"a config n1 task:k"}, stale: []string{"k callback n1"}, want: "b | k", after: map[string]string{"b": "a"}},
		"the same, what it did is not known":  {works: []string{"a config n1=n1/os task:k", "k callback n1 item:n1/os"}, remembered: []string{"a config n1=n1/os task:k", "k callback n1 item:n1/os"}, model: flag("n1/os", Item{Uncertain: true}), want: "a | k"},
		"requirement on a remembered one":     {works: []string{"a config n1 task:b"}, remembered: []string{"b config n1"}, want: "a", after: map[string]string{"a": "b"}},
	})
}

func TestMakeRemoval(t *testing.T) {
	gone := Item{Removed: true}
	i := full("n1/items/i")
	run(t, map[string]scenario{
		"nothing known of it (G01)":         {model: flag(i, gone), want: "cleanup:" + i},
		"a resource to drop (G02)":          {remembered: []string{"a config n1=n1/items/i"}, model: flag(i, gone), want: "drop:" + i + "@n1"},
		"the plugin does it (G03)":          {works: []string{"k callback n1/items/i"}, remembered: []string{"a config n1=n1/items/i"}, model: flag(i, gone), want: "k"},
		"now of another item (G04)":         {works: []string{"b config n1=n1/items/j title:a"}, remembered: []string{"a config n1=n1/items/i"}, model: flag(i, gone), want: "b | cleanup:" + i},
		"on several nodes (G05)":            {remembered: []string{"a config n1=c1/services/s", "b config n2=c1/services/s"}, model: flag("c1/services/s", gone), want: "drop:" + full("c1/services/s@n1") + " drop:" + full("c1/services/s@n2")},
		"on a node that goes (G06)":         {remembered: []string{"a config n2=c1/services/s"}, model: func(m *testModel) { flag("c1/services/s", gone)(m); flag("n2", gone)(m) }, want: "cleanup:" + full("n2") + " cleanup:" + full("c1/services/s")},
		"tasks on a node that goes (G07)":   {works: []string{"d config n2=n2/items/i", "k callback n2/os tag:management"}, model: func(m *testModel) { flag("n2", gone)(m); flag("n2/items/i", gone)(m); flag("n2/os", gone)(m) }, want: "k | cleanup:" + full("n2") + " cleanup:" + full("n2/items/i")},
		"forgotten without a task (G08)":    {remembered: []string{"a config n1=n1/items/i"}, model: flag(i, Item{Removed: true, Types: []string{"nic"}}), in: func(in *Input) { in.Rules.NoDrop = []string{"nic"} }, want: "cleanup:" + i},
		"its resource on another node":      {remembered: []string{"a config n2=n1/items/i"}, model: flag(i, gone), want: "cleanup:" + i},
		"what was never applied, too":       {in: func(in *Input) { in.Lost = []Work{{ID: "a", Item: i, Node: full("n1"), Resource: Resource{"t", "x"}}} }, model: flag(i, gone), want: "drop:" + i + "@n1"},
		"last phase of all (G12)":           {works: []string{"a callback c1 tag:post_cluster"}, model: flag(i, gone), want: "a | cleanup:" + i},
		"the drop locks its node":           {remembered: []string{"a config n3=n3/items/i"}, model: flag("n3/items/i", gone), in: func(in *Input) { in.Locks = lockable(in.Model) }, want: "lock:n3 | drop:" + full("n3/items/i") + "@n3 | unlock:n3"},
		"two dropped resources, one task":   {remembered: []string{"a config n1=n1/items/i", "b config n1=n1/items/i"}, model: flag(i, gone), want: "drop:" + i + "@n1"},
		"one dropped, one of another (128)": {works: []string{"c config n1=n1/items/j title:b"}, remembered: []string{"a config n1=n1/items/i", "b config n1=n1/items/i"}, model: flag(i, gone), want: "drop:" + i + "@n1 c | cleanup:" + i},
	})
	s, _ := Make(scenario{remembered: []string{"a config n1=n1/items/i", "b config n1=n1/items/i type:t"}, model: flag(i, gone)}.input(t))
	if diff := cmp.Diff([]Resource{{"res", "a"}, {"t", "b"}}, s.Phases[0].Works[0].Replaces); diff != "" {
		t.Error(diff)
	}
}

func TestMakeRules(t *testing.T) {
	typed := func(types map[string]string) func(*testModel) {
		return func(m *testModel) {
			for path, typ := range types {
				m.flags[full(path)] = Item{Types: []string{typ}}
			}
		}
	}
	run(t, map[string]scenario{
		"a priority class (D1)": {
			works: []string{"a config n1", "b config n1=n1/x", "k callback n1"}, model: typed(map[string]string{"n1/x": "nic"}),
			in: func(in *Input) { in.Rules.Classes = []Class{{Name: "network", Types: []string{"nic"}}} }, want: "b | k | a",
		},
		"that ignores a requirement": {
			works: []string{"a config n1=n1/y", "b config n1=n1/x task:a"}, model: typed(map[string]string{"n1/x": "nic", "n1/y": "disk"}),
			in:   func(in *Input) { in.Rules.Classes = []Class{{Types: []string{"nic"}, Ignore: []string{"disk"}}} },
			want: "b | a",
		},
		"a selector requirement (D2)": {
			works: []string{"a callback n1/items/p", "b callback n1/items/r", "c callback n2/items/p"},
			model: typed(map[string]string{"n1/items/p": "pkg", "n1/items/r": "repo", "n2/items/p": "pkg"}),
			in:    func(in *Input) { in.Rules.First = []First{{Type: "repo", Then: "pkg"}} }, want: "b c | a",
		},
		"an alias (D3)": {
			works: []string{"a config n1=n1/fs/f", "b config n1=c1/configs/fw/rule"}, model: typed(map[string]string{"c1/configs/fw": "fw"}),
			in: func(in *Input) { in.Rules.Aliases = []Alias{{Type: "fw", Section: "routes"}} }, want: "b a", after: map[string]string{"a": "b"},
		},
		"a tag rule with another tag (D5)": {
			works: []string{"a callback n1 tag:node", "b callback n1 tag:storage_upgrade", "c callback n2 tag:node"},
			in: func(in *Input) {
				in.Rules.Tags = []TagRule{{Kind: task.Callback, Tag: "node", With: "storage_upgrade", Group: task.StorageUpgrade, Requires: "storage_upgrade"}}
			},
			want: "b | a | c",
		},
	})
}

func TestGroups(t *testing.T) {
	in := scenario{works: []string{
		"a config n1", "b config m=n1", "c remote n1", "d remote m", "e remote n1=c1", "f callback m", "g callback n1/os", "h callback c1/services/s",
		"i callback /catalog/x", "j callback n1 tag:unheard",
	}}.input(t)
	want := map[string]task.Group{
		"a": task.Node, "b": task.Management, "c": task.Node, "d": task.Management, "e": task.Management, "f": task.Management, "g": task.Node,
		"h": task.Cluster, "i": task.Management, "j": task.Management,
	}
	if diff := cmp.Diff(want, Groups(in)); diff != "" {
		t.Error(diff)
	}
	s, _ := Make(in)
	if len(s.Warnings) != 1 || !slices.Contains(s.Warnings[0].Tasks, "j") {
		t.Errorf("warnings: %v", s.Warnings)
	}
}

// TestMakeLeavesInputAlone: a schedule is made without changing what it is made from, and comes out the same again.
func TestMakeLeavesInputAlone(t *testing.T) {
	in := scenario{
		works: []string{"x remote m,n1,n3", "a config n3 task:b", "b config n3", "c callback n3 tag:boot"}, ordered: [][]string{{"a", "b"}},
		remembered: []string{"b config n3"},
		in:         func(in *Input) { in.Ordered, in.Locks = [][]string{{"b", "a"}}, lockable(in.Model) },
	}.input(t)
	before := slices.Clone(in.Works)
	for i := range before {
		before[i].Requires = slices.Clone(before[i].Requires)
	}
	first, problems := Make(in)
	if problems != nil {
		t.Fatal(problems)
	}
	again, _ := Make(in)
	if diff := cmp.Diff(before, in.Works); diff != "" {
		t.Errorf("the input changed\n%s", diff)
	}
	if diff := cmp.Diff(first.Phases, again.Phases); diff != "" {
		t.Errorf("another result\n%s", diff)
	}
}

func TestBuildWithoutWork(t *testing.T) {
	s, problems := Build(scenario{works: []string{"a config n1"}, remembered: []string{"a config n1"}}.input(t))
	if problems != nil || len(s.Phases) != 0 {
		t.Error(s, problems)
	}
}

// TestCleanupIsCommon: what lets items go waits for all clusters, whatever its items lie in.
func TestCleanupIsCommon(t *testing.T) {
	m := twoClusters()
	m.flags[full("n3/items/i")] = Item{Removed: true}
	s, problems := Make(Input{Model: m, Rules: DefaultRules(), Works: works(t, "a config n1", "b config n3")})
	if problems != nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([][]int{nil, nil, {0, 1}}, s.Tree()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
