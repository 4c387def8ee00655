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
