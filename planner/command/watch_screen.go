package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/server"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// isTerminal reports whether a stream is a terminal on which lines can be replaced.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
}

// framesPerSecond bounds how often the terminal is written to, however fast events come.
const framesPerSecond = 10

// watchScreen shows a run on a terminal until it has ended, and then how it ended.
func watchScreen(ctx context.Context, store *journal.Store, run journal.Run, in io.Reader, out io.Writer) error {
	pace, err := paceOf(ctx, store)
	if err != nil {
		return err
	}
	s := &screen{watched: newWatched(run, pace), ctx: ctx, store: store, width: 80, height: 24, clock: time.Now}
	if f, ok := out.(*os.File); ok { // a run may end before a message says the size
		if width, height, err := term.GetSize(f.Fd()); err == nil && width > 0 {
			s.width, s.height = width, height
		}
	}
	if _, err := tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler()).Run(); err != nil {
		return err
	}
	p := &printer{w: out}
	if s.run.Status == journal.Running {
		p.printf("run %s: no longer watched; it goes on\n", harmless(run.ID))
		return p.err
	}
	groups, all := s.tallies()
	for _, line := range append(s.head(time.Now(), groups, all, s.width), s.body(time.Now(), groups, s.width, false)...) {
		p.printf("%s\n", ansi.Strip(line))
	}
	return p.err
}

// earlierRuns bounds the runs of which the time that is left is estimated.
const earlierRuns = 20

// paceOf returns what a node of each group took in the newest of the earlier runs in which the group was deployed,
// without the time in which the group only waited.
func paceOf(ctx context.Context, store *journal.Store) (map[string]time.Duration, error) {
	runs, err := store.Runs(ctx, earlierRuns)
	if err != nil {
		return nil, err
	}
	pace := map[string]time.Duration{}
	for _, r := range runs {
		if r.Status == journal.Running {
			continue
		}
		groups, held := map[string]*spent{}, false
		for e, err := range store.Each(ctx, r.ID, 0, journal.PhaseStarted, journal.NodeFinished, journal.GroupFinished,
			journal.Paused, journal.Decided, journal.Note) {
			if err != nil {
				return nil, err
			}
			was := held
			held = e.Kind == journal.Decided && e.Action == journal.Hold || held && e.Action != journal.Resume
			if e.Group == "" { // what a person decides about the run
				for _, g := range groups {
					g.add(e, was, held)
				}
				continue
			}
			g := groups[e.Group]
			if g == nil {
				g = &spent{}
				groups[e.Group] = g
			}
			if g.add(e, was, held); e.Kind == journal.GroupFinished && e.Status == string(strategy.Deployed) &&
				pace[e.Group] == 0 && g.nodes > 0 && !g.began.IsZero() {
				pace[e.Group] = max(1, (e.Time.Sub(g.began)-g.waited)/time.Duration(g.nodes))
			}
		}
	}
	return pace, nil
}

// spent is the time of a group in a run: since its first phase began, and for how long it only waited: for approval,
// for its maintenance window, for the soak of a batch, or because a person paused the run.
type spent struct {
	began  time.Time
	waited time.Duration
	nodes  int       // that ended
	asked  bool      // it waits for approval
	closed time.Time // until when its maintenance window is closed, or a batch soaks
	idle   time.Time // since when it only waits; zero: it does not
}

// add takes the next event of the group, or of the run; held says whether the run is paused, and was, whether it was
// before the event.
func (s *spent) add(e journal.Recorded, was, held bool) {
	if !s.idle.IsZero() && !s.asked && !was && !s.closed.After(e.Time) { // the window opened meanwhile
		s.ends(s.closed)
	}
	switch e.Kind { //nolint:exhaustive // the others are not read
	case journal.PhaseStarted:
		if s.began.IsZero() {
			s.began = e.Time
		}
	case journal.NodeFinished: // the node was worked on until now
		s.nodes++
		if !s.idle.IsZero() {
			s.idle = e.Time
		}
	case journal.Paused:
		s.asked = true
	case journal.Decided:
		s.asked = s.asked && e.Action != journal.Approve
	case journal.Note:
		if at := server.Opens(e.Message); !at.IsZero() {
			s.closed = at
		} else if e.Action == journal.Soak {
			_, text, _ := strings.Cut(e.Message, " soaks for ")
			long, _ := time.ParseDuration(text) // a text of another form takes no time
			s.closed = e.Time.Add(long)
		}
	}
	waits := !s.began.IsZero() && (s.asked || held || s.closed.After(e.Time))
	if waits && s.idle.IsZero() {
		s.idle = e.Time
	} else if !waits && !s.idle.IsZero() {
		s.ends(e.Time)
	}
}

// ends ends the wait of a group.
func (s *spent) ends(at time.Time) {
	s.waited += at.Sub(s.idle)
	s.idle = time.Time{}
}

// screen is a watched run on a terminal: what is shown of it, and what keys do.
type screen struct {
	*watched
	ctx   context.Context
	store *journal.Store
	clock func() time.Time

	after         int64 // the newest event that was read
	width, height int
	top           int // the first line of the body that is shown
	onlyFailures  bool
	help          bool
	asked         *question
	said          string // the last decision or error, until the next one
	unread        string // why the journal could not be read the last time
}

// question is a decision that waits for its confirmation and its reason.
type question struct {
	text   string
	reason string
	needed bool // the reason must be given
	decide journal.Decision
}

// news is what was read of the journal since the last time.
type news struct {
	run    journal.Run
	events []journal.Recorded
	err    error
	more   bool // there are more events already
	ended  bool
}

// said is the outcome of a decision.
type said string

// Init starts to read the journal.
func (s *screen) Init() tea.Cmd { return s.read }

// read reads the events since the last time, for as long as one frame is shown.
func (s *screen) read() tea.Msg {
	var n news
	// Read the run before its events: once it has ended, no event is missed.
	if n.run, n.err = s.store.Run(s.ctx, s.run.ID); n.err != nil {
		return n
	}
	after := s.after
	for deadline := time.Now().Add(time.Second / framesPerSecond); time.Now().Before(deadline); {
		events, err := s.store.Events(s.ctx, s.run.ID, after, page)
		n.events, n.err = append(n.events, events...), err
		if err != nil || len(events) < page {
			n.ended = err == nil && n.run.Status != journal.Running
			return n
		}
		after = events[len(events)-1].Seq
	}
	n.more = true
	return n
}

// Update takes what was read, and keys.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
	case said:
		s.said = harmless(string(msg))
	case news:
		if s.unread != "" && msg.err == nil {
			s.said, s.unread = "the journal can be read again; before: "+s.unread, ""
		}
		for _, e := range msg.events {
			s.add(e)
			s.after = e.Seq
		}
		switch {
		case msg.err != nil:
			s.unread = harmless(msg.err.Error())
			s.said = "the journal cannot be read, and is tried again: " + s.unread
		case msg.ended:
			s.run = msg.run
			return s, tea.Quit
		case msg.more:
			return s, s.read
		}
		return s, tea.Tick(pollInterval, func(time.Time) tea.Msg { return s.read() })
	case tea.KeyPressMsg:
		if s.asked != nil {
			return s, s.answer(msg)
		}
		return s, s.key(msg.String())
	}
	return s, nil
}

// keys are what [screen.key] knows, for people.
const keys = "f failures only   a approve   p pause   r resume   c cancel   q quit (the run goes on)   arrows, page up/down, home, end scroll   ? help"

// key does what a key asks for.
func (s *screen) key(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "?":
		s.help = !s.help
	case "f":
		s.onlyFailures, s.top = !s.onlyFailures, 0
	case "up", "k":
		s.top--
	case "down", "j":
		s.top++
	case "pgup":
		s.top -= s.height / 2
	case "pgdown", "space":
		s.top += s.height / 2
	case "home":
		s.top = 0
	case "end":
		s.top = 1 << 30
	case "a":
		g := s.waiting()
		if g == nil {
			s.said = "no batch waits for approval"
			break
		}
		s.asked = &question{text: fmt.Sprintf("Approve batch %d of group %s?", g.approval, g.Name),
			decide: journal.Decision{Action: journal.Approve, Group: g.recorded, Batch: g.approval}}
	case "p":
		s.asked = &question{text: "Pause the run?", decide: journal.Decision{Action: journal.Hold}}
	case "r":
		s.asked = &question{text: "Resume the run?", decide: journal.Decision{Action: journal.Resume}}
	case "c":
		s.asked = &question{text: "Cancel the run?", needed: true, decide: journal.Decision{Action: journal.Cancel}}
	}
	return nil
}

// answer takes a key of the answer to a question.
func (s *screen) answer(key tea.KeyPressMsg) tea.Cmd {
	q := s.asked
	switch key.String() {
	case "esc", "ctrl+c":
		s.asked = nil
	case "backspace":
		if r := []rune(q.reason); len(r) > 0 {
			q.reason = string(r[:len(r)-1])
		}
	case "enter":
		if q.needed && strings.TrimSpace(q.reason) == "" {
			return nil
		}
		s.asked = nil
		run, d := s.run, q.decide
		d.Person, d.Reason = person(), strings.TrimSpace(q.reason)
		return func() tea.Msg {
			e, err := d.Record(s.ctx, s.store, run)
			if err != nil {
				return said(err.Error())
			}
			return said(fmt.Sprintf("run %s: %s", run.ID, e.Decision()))
		}
	default:
		q.reason += harmless(key.Text)
	}
	return nil
}

func (q *question) String() string {
	needed := "optional"
	if q.needed {
		needed = "required"
	}
	return fmt.Sprintf("%s Enter confirms, Esc goes back. Reason (%s): %s_", q.text, needed, q.reason)
}

// View returns the whole screen.
func (s *screen) View() tea.View {
	v := tea.NewView(s.text(s.clock()))
	v.AltScreen = true
	return v
}

// text returns what the screen shows, as wide and high as it is.
func (s *screen) text(now time.Time) string {
	groups, all := s.tallies()
	head := append(s.head(now, groups, all, s.width), "")
	var foot []string
	if s.said != "" {
		foot = append(foot, inYellow.Render(s.said))
	}
	switch {
	case s.asked != nil:
		foot = append(foot, strings.Split(ansi.Wrap(inBold.Render(s.asked.String()), s.width, ""), "\n")...)
	case s.help:
		foot = append(foot, strings.Split(ansi.Wrap(keys, s.width, ""), "\n")...)
	default:
		foot = append(foot, inFaint.Render("f failures only   q quit   ? help"))
	}
	body := s.body(now, groups, s.width, s.onlyFailures)
	room := max(1, s.height-len(head)-len(foot))
	s.top = max(0, min(s.top, len(body)-room))
	shown := body[s.top:min(len(body), s.top+room)]
	lines := append(head, shown...)
	for len(lines) < s.height-len(foot) {
		lines = append(lines, "")
	}
	lines = append(lines, foot...)
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, s.width, "…")
	}
	return strings.Join(lines[:min(len(lines), max(1, s.height))], "\n")
}
