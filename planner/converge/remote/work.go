package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// crowded bounds the commas between the values of a message: those of the largest ledger, and some for the rest.
const crowded = schema.MostResources + 64

// roomy bounds the room for each value of a message, in bytes: a digest, and a title that is far longer than most.
const roomy = 512

var (
	errLong    = errors.New("the line is too long")
	errCrowded = errors.New("the line has too many values")
)

// line reads one line without its end: of at most most bytes and [roomy] more for each value of it as JSON, of which it
// has about [crowded]. All is counted while it is read, so that a node cannot make much of it. A last line without an
// end comes with io.EOF.
func (f *far) line(most int) ([]byte, error) {
	var line []byte
	commas, text, escaped := 0, false, false
	for {
		part, err := f.out.ReadSlice('\n')
		line = append(line, part...)
		for _, c := range part {
			switch {
			case escaped:
				escaped = false
			case text && c == '\\':
				escaped = true
			case c == '"':
				text = !text
			case c == ',' && !text:
				commas++
			}
		}
		switch {
		case commas > crowded:
			return line, errCrowded
		case len(line) > most+commas*roomy:
			return line, errLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// work hands the manifest, as body, to the running helper and takes its results. A node that sends more of them, or
// asks for more contents, than the manifest allows is given up.
func (f *far) work(ctx context.Context, body []byte, manifest converge.Manifest, each func(converge.Result)) (
	converge.Summary, error) {
	most, limit, wanted := manifest.Most(), manifest.Limit(), 0
	over := make(chan struct{})
	fed := sync.OnceFunc(func() { close(over) })
	defer fed()
	f.feeding.Go(func() { f.feed(ctx, over, body) })

	// When ctx ends, the feeder closes the helper's input; what is left after the grace is ended.
	stop := context.AfterFunc(ctx, func() {
		grace := time.NewTimer(f.grace)
		defer grace.Stop()
		select {
		case <-grace.C:
			f.end(context.Cause(ctx))
		case <-f.life.Done():
		}
	})
	defer stop()

	said, live, liveSize := false, 0, 0
	for results, size := 0, 0; ; {
		line, err := f.line(converge.ResultLimit)
		switch {
		case errors.Is(err, errLong) && bytes.HasPrefix(line, []byte(`{"result"`)):
			return converge.Summary{}, flood("a result of more than %d bytes", converge.ResultLimit)
		case errors.Is(err, errLong):
			return converge.Summary{}, flood("a line of more than %d bytes with too few values for that; it begins with %s",
				converge.ResultLimit, shown(string(line)))
		case errors.Is(err, errCrowded):
			return converge.Summary{}, tooMany()
		case len(line) == 0 && err != nil && !said:
			return converge.Summary{}, f.unsaid()
		case err != nil:
			return converge.Summary{}, f.lost()
		case bytes.HasSuffix(line, []byte(f.mark+" "+saysAgain)):
			fed()
			f.feeding.Wait()
			_ = f.session.Stdin().Close()
			return converge.Summary{}, f.lost()
		case len(line) == 0:
			return converge.Summary{}, failed(converge.CodeProtocol, "the helper sent an empty line, which is not a message")
		}
		said = true
		m, err := decode(line)
		if err != nil {
			return converge.Summary{}, failed(converge.CodeProtocol, "the helper sent a line that is not a message (%v): %s",
				err, shown(string(line)))
		}
		if m.Want != nil {
			if wanted += len(m.Want); manifest.Contents == nil || wanted > manifest.MostWanted() {
				return converge.Summary{}, flood("requests for more contents than its manifest has")
			}
			f.supply(ctx, manifest.Contents, m.Want)
			continue
		}
		if m.Result != nil && m.Result.Status == converge.Printing {
			live++
			liveSize += len(line)
			if live > converge.LiveMessages || liveSize > converge.LiveLimit {
				return converge.Summary{}, flood("more of what commands print while they run than %d messages, or %d bytes",
					converge.LiveMessages, converge.LiveLimit)
			}
			each(*m.Result)
			continue
		}
		if m.Result != nil {
			results++
			size += len(line)
			switch {
			case results > most:
				return converge.Summary{}, flood("more than the %d results that it was asked for", most)
			case len(line) > converge.ResultLimit:
				return converge.Summary{}, flood("a result of more than %d bytes", converge.ResultLimit)
			case size > limit:
				return converge.Summary{}, flood("results of more than %d bytes together", limit)
			}
			each(*m.Result)
			continue
		}
		fed()
		if excess := m.Summary.Excess(); excess != "" {
			return converge.Summary{}, flood("%s", excess)
		}
		return f.judge(*m.Summary)
	}
}

// tooMany returns the error of a ledger that no slipway has written.
func tooMany() error {
	return failed(converge.CodeProtocol, "the node reports more than %d resources of the site, the most that it may have, "+
		"and was given up; its ledger must not be trusted before somebody has looked at it", schema.MostResources)
}

// flood returns the error of a node that sends more than slipway's helper would.
func flood(format string, args ...any) error {
	return failed(converge.CodeProtocol, "the node sent "+format+", and was given up; look at what runs there in place "+
		"of slipway's helper", args...)
}

// feed sends the manifest, then signs of life, until the work is over or ctx ends; in the latter case it closes the
// helper's input. A write that fails shows as the end of the session.
func (f *far) feed(ctx context.Context, over <-chan struct{}, body []byte) {
	in := f.session.Stdin()
	if f.write(append(body, '\n')) != nil {
		return
	}
	tick := time.NewTicker(f.beat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if f.write([]byte("\n")) != nil {
				return
			}
		case <-ctx.Done():
			f.writing.Lock()
			defer f.writing.Unlock()
			_, _ = io.WriteString(in, converge.SessionEnd) // without it, the helper takes this side for gone
			f.ended = true
			_ = in.Close()
			return
		case <-over:
			return
		}
	}
}

// write sends something whole to the helper.
func (f *far) write(text []byte) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	if f.ended {
		return io.ErrClosedPipe
	}
	_, err := f.session.Stdin().Write(text)
	return err
}

// supply sends the contents that the helper asks for, and what is wrong with those that cannot be had. A write that
// fails shows as the end of the session.
func (f *far) supply(ctx context.Context, contents types.Contents, sums []string) {
	for _, sum := range sums {
		var broken error
		err := contents(ctx, []string{sum}, func(_ string, content io.Reader) error {
			broken = converge.SendContent(content, f.write)
			return nil
		})
		if err != nil {
			broken = converge.SendFailure(err, f.write)
		}
		if broken != nil {
			return
		}
	}
}

// judge looks at a summary and sees the helper off. Neither the status with which the helper ends, nor a connection
// that breaks now, takes anything from the summary.
func (f *far) judge(s converge.Summary) (converge.Summary, error) {
	done := f.within(f.grace)
	f.feeding.Wait()
	again := false
	if !f.ended {
		line, err := f.line(noise)
		again = err == nil && string(line) == f.mark+" "+saysAgain
	}
	if !again {
		_ = f.session.Stdin().Close()
		// What follows is not from the helper, but from a job of a login script, say.
		if _, err := io.Copy(io.Discard, io.LimitReader(f.out, noise)); err == nil {
			_ = f.finish()
		}
	}
	f.waits = done() && again
	switch {
	case len(s.Ledger) > schema.MostResources:
		return converge.Summary{}, tooMany()
	case s.Error != nil:
		return s, s.Error
	case s.Protocol != converge.Protocol:
		return s, failed(converge.CodeProtocol, "the helper speaks protocol %d, this build %d", s.Protocol, converge.Protocol)
	}
	return s, nil
}

// unsaid explains a helper that ended before it said anything.
func (f *far) unsaid() error {
	err := f.finish()
	var exit *transport.ExitError
	if errors.As(err, &exit) && (exit.Status == 126 || exit.Status == 127) {
		return failed(converge.CodeNoExec, "the helper in %s cannot be executed: the node printed %s. The file system "+
			"must not be mounted noexec, "+
			"and the node's security policy must allow it", f.helpers.directory, shown(f.errs.text()))
	}
	return f.lost()
}

// decode reads one message.
func decode(line []byte) (converge.Message, error) {
	var m converge.Message
	if err := resource.DecodeStrictly(line, &m); err != nil {
		return m, err
	}
	given := 0
	for _, is := range []bool{m.Result != nil, m.Summary != nil, m.Want != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return m, errors.New("one of result, summary and want is wanted")
	}
	m.Legible()
	return m, nil
}
