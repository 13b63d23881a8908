package types

import (
	"math/rand/v2"
	"testing"
)

func TestLinesKeepEveryByte(t *testing.T) {
	for _, text := range []string{"", "\n", "a", "a\n", "a\r\n", "a\rb\n", "a\r", "\r\n\r\n", "a\nb", "a\r\n\nb\r", "\n\n", "\x00\xff\n"} {
		if got := string(parseLines([]byte(text)).bytes()); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
}

func TestLinesInsert(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		at         int
		want       string
	}{
		{"empty file", "", 0, "x\ny\n"},
		{"start", "a\n", 0, "x\ny\na\n"},
		{"end", "a\n", 1, "a\nx\ny\n"},
		{"last line without an end", "a\nb", 2, "a\nb\nx\ny"},
		{"before a last line without an end", "a\nb", 1, "a\nx\ny\nb"},
		{"DOS", "a\r\nb\r\n", 1, "a\r\nx\r\ny\r\nb\r\n"},
		{"DOS, last line without an end", "a\r\nb", 2, "a\r\nb\r\nx\r\ny"},
		{"a text that closes with \\r", "b\r", 1, "b\r\r\nx\ny"},
	} {
		if got := string(parseLines([]byte(tt.text)).insert(tt.at, "x", "y").bytes()); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What is taken out comes back, wherever it was, also through the bytes of a file.
func TestLinesPutBack(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		text := randomText(r, []string{"", "a", "b", "c", "c\r", " "})
		l := parseLines([]byte(text))
		if len(l) == 0 {
			continue
		}
		from := r.IntN(len(l))
		s := span{from, from + 1 + r.IntN(len(l)-from)}
		b := l.blocks([]span{s})[0]
		left := parseLines(l.remove(s).bytes())
		back, _ := left.putBack(b, nil, 0, 0)
		if got := string(back.bytes()); got != text {
			t.Fatalf("seed %d: %q without %v is %q, and came back as %q", seed, text, s, left.bytes(), got)
		}
		at := r.IntN(len(l) + 1)
		more := parseLines(l.insert(at, "x", "y").bytes())
		if got := string(more.remove(span{at, at + 2}).bytes()); got != text {
			t.Fatalf("seed %d: %q with lines at %d is %q, and without them %q", seed, text, at, more.bytes(), got)
		}
	}
}

// A block goes back between its neighbours when lines came or went elsewhere.
func TestLinesPutBackAmongForeignEdits(t *testing.T) {
	l := parseLines([]byte("one\ntwo\nthree\nfour\n"))
	b := l.blocks([]span{{2, 3}})[0]
	for _, tt := range []struct{ now, want string }{
		{"zero\nzero\none\ntwo\nfour\n", "zero\nzero\none\ntwo\nthree\nfour\n"},
		{"four\n", "three\nfour\n"},
		{"x\ntwo\n", "x\ntwo\nthree\n"},
		{"", "three\n"},
		{"a\nb\nc\nd\n", "a\nb\nthree\nc\nd\n"},
	} {
		back, _ := parseLines([]byte(tt.now)).putBack(b, nil, 0, 0)
		if got := string(back.bytes()); got != tt.want {
			t.Errorf("into %q: %q, want %q", tt.now, got, tt.want)
		}
	}
}
