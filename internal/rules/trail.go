package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxSteps is how many segments of a pattern an index looks at. What a client makes longer costs nothing more.
	maxSteps = 16
	// maxFolded is the length of the longest text that a pattern can match letter by letter: where the pattern has a k, the
	// text may have the Kelvin sign, which is three bytes long.
	maxFolded = 3 * maxPattern

	fnvOffset, fnvPrime = 14695981039346656037, 1099511628211
)

// trail is a path as an index looks at it: its first segments, by their hashes.
type trail struct {
	hashes [maxSteps]uint64
	n      int
	cut    bool // the path goes on
}

func (t *trail) segments() []uint64 { return t.hashes[:t.n] }

// trailOf cuts a path into segments as glob.match does.
func trailOf(path string) (t trail) {
	rest := strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	for ; rest != "" && t.n < maxSteps; t.n++ {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		t.hashes[t.n] = foldedHash(segment)
	}
	t.cut = rest != ""
	return t
}

// foldedHash returns the hash of a segment (FNV-1a over its characters), which is the same for all that strings.EqualFold
// takes for equal. Segments that are too long for any pattern have one between them.
func foldedHash(segment string) uint64 {
	h := uint64(fnvOffset)
	if len(segment) > maxFolded {
		return h
	}
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c >= utf8.RuneSelf {
			return foldedTail(h, segment[i:])
		}
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// foldedTail goes on with the hash at the first character outside ASCII.
func foldedTail(h uint64, tail string) uint64 {
	for _, r := range tail {
		h = (h ^ uint64(leastFold(r))) * fnvPrime
	}
	return h
}

// leastFold returns the first of the characters that differ from r in nothing but letter case.
func leastFold(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}
