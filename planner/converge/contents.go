package converge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// What a controller sends of a content: lines `part N`, each with N bytes after it, and at its end `part 0`, or
// `failed TEXT` where it cannot be sent whole.
const (
	contentPart   = "part "
	contentFailed = "failed "
)

// partSize bounds a part of a content, in bytes.
const partSize = 32 << 10

// WantLimit bounds the contents that a node asks for at once.
const WantLimit = 500

// SendContent writes a content as a helper reads it, each part with one call of write. The error is that of write.
func SendContent(content io.Reader, write func([]byte) error) error {
	buffer := make([]byte, partSize)
	for {
		n, err := io.ReadFull(content, buffer)
		if n > 0 {
			if err := write(append(fmt.Appendf(nil, "%s%d\n", contentPart, n), buffer[:n]...)); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return write([]byte(contentPart + "0\n"))
		case err != nil:
			return SendFailure(err, write)
		}
	}
}

// SendFailure says in place of a content, or of its rest, why it does not come.
func SendFailure(why error, write func([]byte) error) error {
	text := strings.ReplaceAll(resource.Visible(why.Error()), "\n", " ")
	return write(fmt.Appendf(nil, "%s%s\n", contentFailed, bounded(text, messageLimit)))
}

// part is a part of a content as it came. One without bytes ends it; failed says why, when it is not whole.
type part struct {
	bytes  []byte
	failed string
}

// asking asks a controller for contents, and reads them from its input.
type asking struct {
	write func(Message) error
	parts chan part
}

// contents is a [types.Contents].
func (a *asking) contents(ctx context.Context, sums []string,
	use func(sum string, content io.Reader) error) (err error) {
	for len(sums) > 0 {
		some := sums[:min(len(sums), WantLimit)]
		sums = sums[len(some):]
		if err := a.write(Message{Want: some}); err != nil {
			return err
		}
		for _, sum := range some { // also when one has failed: all of them come
			content := &incoming{ctx: ctx, parts: a.parts}
			if err == nil {
				err = use(sum, content)
			}
			_, _ = io.Copy(io.Discard, content) // what use left: its failure is no failure of use
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// incoming is a content on its way.
type incoming struct {
	ctx   context.Context
	parts <-chan part
	rest  []byte
	ended error
}

func (c *incoming) Read(p []byte) (int, error) {
	for len(c.rest) == 0 && c.ended == nil {
		select {
		case next := <-c.parts:
			switch c.rest = next.bytes; {
			case next.failed != "":
				c.ended = errors.New(next.failed)
			case len(next.bytes) == 0:
				c.ended = io.EOF
			}
		case <-c.ctx.Done():
			c.ended = context.Cause(c.ctx)
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	if n == 0 && len(p) > 0 {
		return 0, c.ended
	}
	return n, nil
}

// listen reads what follows a manifest to its end, and returns why it ended. While nobody takes a part of a content,
// because the disk is slow, nothing is read, so alive is called after each interval.
func (a *asking) listen(ctx context.Context, in io.Reader, interval time.Duration, alive func()) error {
	r := bufio.NewReaderSize(in, partSize)
	for last := ""; ; {
		line, err := r.ReadString('\n')
		if err != nil {
			if last+line == SessionEnd {
				return errEnded
			}
			if errors.Is(err, io.EOF) {
				err = errHangUp
			}
			return err
		}
		if last = ""; line == SessionEnd {
			last = line
		}
		next, isContent, err := readPart(r, line)
		if err != nil {
			return err
		}
		if !isContent {
			continue
		}
		waiting := time.NewTicker(max(interval, time.Millisecond))
		for sent := false; !sent; {
			select {
			case a.parts <- next:
				sent = true
			case <-waiting.C:
				alive()
			case <-ctx.Done():
				sent = true // nobody takes it any more, and the input is read to its end
			}
		}
		waiting.Stop()
	}
}

// readPart reads the part of a content that a line begins, if it does.
func readPart(r io.Reader, line string) (p part, isContent bool, err error) {
	line = strings.TrimSuffix(line, "\n")
	if why, failed := strings.CutPrefix(line, contentFailed); failed {
		return part{failed: why}, true, nil
	}
	size, isPart := strings.CutPrefix(line, contentPart)
	if !isPart {
		return part{}, false, nil
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > partSize {
		return part{}, false, fmt.Errorf("the controller sent a part of a content of %q bytes", size)
	}
	p.bytes = make([]byte, n)
	if _, err := io.ReadFull(r, p.bytes); err != nil {
		return part{}, false, errHangUp
	}
	return p, true, nil
}
