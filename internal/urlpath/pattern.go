package urlpath

import (
	"fmt"
	"path"
	"strings"

	"github.com/slidegate/slidegate/internal/problem"
)

// MaxPattern is the length of the longest pattern, in bytes.
const MaxPattern = 512

// AnyDepth is the segment that stands for any number of segments.
const AnyDepth = "**"

// Pattern matches paths: * stands for any text within a segment, and ** alone
// in a segment for any number of segments, including none, so /v1/** matches
// /v1 too. Everything else stands for itself. The zero value matches the root.
type Pattern struct {
	segments []string
	exact    matcher
	folded   matcher
}

// Parse reads a pattern. A fault says what to write instead.
func Parse(text string) (p Pattern, wrong problem.Fault) {
	bad := func(why, instead string) (Pattern, problem.Fault) {
		return Pattern{}, problem.New(problem.BadPattern, text, why, instead)
	}
	switch {
	case len(text) > MaxPattern:
		return p, problem.New(problem.TooLong, len(text), MaxPattern)
	case !strings.HasPrefix(text, "/"):
		return bad(toBegin(text))
	case path.Clean(text) != text:
		return bad("paths are cleaned before they are matched, so nothing has this form", path.Clean(text))
	case HasEscape(text):
		return bad("paths are decoded before they are matched", Decode(text))
	}
	if text != "/" {
		p.segments = strings.Split(text[1:], "/")
	}
	for _, s := range p.segments {
		if s != AnyDepth && strings.Contains(s, AnyDepth) {
			return bad("** stands alone between slashes", fmt.Sprintf("* in place of ** in %q, or /** after it", s))
		}
	}
	p.exact = newMatcher(p.segments)
	p.folded = p.exact
	if folded := fold(text); folded != text {
		p.folded = newMatcher(strings.Split(folded[1:], "/"))
	}
	return p, wrong
}

// toBegin says what to write for a pattern without a slash at its start: a
// regular expression, a URL, or a path after something else.
func toBegin(text string) (why, instead string) {
	if strings.HasPrefix(text, "^") || strings.HasSuffix(text, "$") {
		return NoRegexp, FromRegexp(text)
	}
	if _, after, ok := strings.Cut(text, "://"); ok {
		_, after, _ = strings.Cut(after, "/")
		return "a pattern has no scheme and no host", "/" + after
	}
	if at := strings.LastIndex(text, " /"); at >= 0 {
		return "a pattern is a path alone", text[at+1:]
	}
	return "a pattern begins with a slash", "/" + text
}

// NoRegexp says what is wrong with a pattern that looks like one.
const NoRegexp = "a pattern is no regular expression, and all but * is text"

// FromRegexp returns the pattern for a regular expression of usual parts, or an
// example.
func FromRegexp(text string) string {
	meant := fromRegexp.Replace(strings.TrimSuffix(strings.TrimPrefix(text, "^"), "$"))
	if !strings.HasPrefix(meant, "/") || strings.ContainsAny(meant, `\()[]+?|^$`) {
		return "one such as /v1/**"
	}
	if _, wrong := Parse(meant); wrong.Found() {
		return "one such as /v1/**"
	}
	return meant
}

// fromRegexp writes the usual parts of a regular expression as a pattern has
// them.
var fromRegexp = strings.NewReplacer("/.*", "/**", "/.+", "/**", "[^/]+", "*", "[^/]*", "*", "[0-9]+", "*", `\d+`, "*", `\.`, ".", ".*", "*", ".+", "*")

// Segments returns the pattern's segments. The caller must not change them.
func (p *Pattern) Segments() []string { return p.segments }

// Head returns the segments before the first star, such as "v1/items" of
// /v1/items/*/x, without letter case; "" for none. Every text that the pattern
// matches begins with these segments.
func (p *Pattern) Head() string {
	return p.folded.head[:max(0, strings.LastIndexByte(p.folded.head, '/'))]
}

// Match reports whether the pattern matches, letter case aside. It is for what
// limits or bans: capital letters must not help a client around it.
func (p *Pattern) Match(t *Text) bool { return p.folded.match(t.folded, t.segments) }

// MatchExactly reports whether the pattern matches in the same letter case. It
// is for what lifts a limit.
func (p *Pattern) MatchExactly(t *Text) bool { return p.exact.match(t.exact, t.segments) }

// matcher matches texts that have no slash at their start or end with one
// pattern. Most patterns are decided by their ends alone.
type matcher struct {
	head string // before the first star, each segment with a slash after it
	tail string // after the last star, without slashes around it
	core string // the longest text between a ** and the last star, likewise
	kind kind
	// How many segments a match has at least; exactly so many without a **.
	segments int
	deep     bool     // has a **
	slow     *machine // for patterns that their ends do not decide
}

type kind uint8

const (
	plain  kind = iota // has no star, so that head is all of it
	below              // head and then **, so that whatever follows matches
	ragged             // anything else
)

func newMatcher(segments []string) matcher {
	text := ""
	for _, s := range segments {
		text += s + "/"
	}
	first := strings.IndexByte(text, '*')
	if first < 0 {
		return matcher{head: text}
	}
	m := matcher{head: text[:first]}
	if text[first:] == AnyDepth+"/" {
		m.kind = below
		return m
	}
	m.kind, m.slow = ragged, newMachine(segments)
	for _, s := range segments {
		if s == AnyDepth {
			m.deep = true
		} else {
			m.segments++
		}
	}
	last := strings.LastIndexByte(text, '*')
	m.tail = strings.Trim(text[last+1:], "/")
	_, floating, _ := strings.Cut(text[:last], AnyDepth)
	for run := range strings.SplitSeq(floating, "*") {
		if run = strings.Trim(run, "/"); len(run) > len(m.core) {
			m.core = run
		}
	}
	return m
}

// match takes a text and the number of its segments.
func (m *matcher) match(text string, segments int) bool {
	switch m.kind {
	case plain:
		return len(text)+1 == len(m.head) && m.head[:len(text)] == text || m.head == "" && text == ""
	case below:
		return startsWith(text, m.head)
	}
	if !m.undecided(text, segments) {
		return false
	}
	ok, _ := m.slow.run(text)
	return ok
}

// undecided reports whether the text has what every match has.
func (m *matcher) undecided(text string, segments int) bool {
	return (segments == m.segments || m.deep && segments > m.segments) && startsWith(text, m.head) && strings.HasSuffix(text, m.tail) && strings.Contains(text, m.core)
}

// startsWith is strings.HasPrefix for a text that ends in a slash which is not
// written.
func startsWith(text, head string) bool {
	if len(head) == len(text)+1 {
		return head[len(text)] == '/' && head[:len(text)] == text
	}
	return strings.HasPrefix(text, head)
}
