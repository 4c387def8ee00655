package urlpath

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a path, or a gateway's route, that is ready to be matched with many
// patterns. It has no slash at its start and none at its end.
type Text struct {
	exact    string
	folded   string // letter case removed
	segments int
}

// NewText prepares a decoded path. It allocates only for a path that has
// capital letters or bytes outside ASCII.
func NewText(p string) Text {
	exact := strings.TrimRight(strings.TrimPrefix(p, "/"), "/")
	t := Text{exact: exact, folded: fold(exact)}
	if exact != "" {
		t.segments = strings.Count(exact, "/") + 1
	}
	return t
}

// Folded returns the text without letter case.
func (t *Text) Folded() string { return t.folded }

// Usual prepares a path as sent if it has the form of most: it is clean, has one
// meaning, and is of ASCII without capital letters and escapes. For such a path
// it does the work of Clean, Examine and NewText in one pass. ok is false for
// others.
func Usual(raw string) (t Text, ok bool) {
	if raw == "/" {
		return t, true
	}
	last := byte('.') // the start is no end of a segment
	for i := range len(raw) {
		switch c := raw[i]; {
		case c == '/':
			if i > 0 && !endsSegment(last) {
				return t, false
			}
			t.segments++
		case i == 0 || unusual[c] || c == streamMark[1] && last == streamMark[0]:
			return t, false
		}
		last = raw[i]
	}
	if !endsSegment(last) {
		return t, false
	}
	t.exact = raw[1:]
	t.folded = t.exact
	return t, true
}

// endsSegment reports whether a segment can end in a byte, and is no dot segment
// and not ambiguous.
func endsSegment(c byte) bool { return c != '/' && c != '.' && c != ' ' }

// unusual has the bytes that need a second look: those that make a path
// ambiguous, escapes, capital letters, and what is not ASCII.
var unusual = func() (of [256]bool) {
	for i := range of {
		c := byte(i)
		of[c] = c == '%' || ambiguousByte(c, false) != "" || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf
	}
	return of
}()

// fold returns the same text for all texts that strings.EqualFold takes for
// equal, and no others.
func fold(s string) string {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return strings.Map(foldRune, s)
		}
	}
	return s
}

// foldRune returns the least of the characters that differ from r in letter
// case alone, but small letters for ASCII, which most paths have.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
