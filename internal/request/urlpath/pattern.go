package urlpath

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
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
	meant = regexp.MustCompile(`/(:\w+|<[^/>]+>|\[\w+\])`).ReplaceAllString(meant, "/*") // parameters
	if _, wrong := Parse(meant); wrong.Found() || !strings.HasPrefix(meant, "/") || strings.ContainsAny(meant, `\()[]<>+?|^$`) {
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
// pattern. Most paths are decided by texts that every match has, in one pass. For
// others it compares at most as many segments as the path has, times those of the
// pattern between two **, and each in one pass.
type matcher struct {
	head     string   // before the first star, each segment with a slash after it
	tail     string   // after the last star, without slashes around it
	between  []string // the texts between stars, likewise; a match has them in this order
	segments []string // of a pattern with a star; nil for others
	least    int      // how many segments a match has; exactly so many without a **
	deep     bool     // has a **
}

func newMatcher(segments []string) matcher {
	text := ""
	for _, s := range segments {
		text += s + "/"
	}
	first, last := strings.IndexByte(text, '*'), strings.LastIndexByte(text, '*')
	if first < 0 {
		return matcher{head: text}
	}
	m := matcher{head: text[:first], tail: strings.Trim(text[last+1:], "/"), segments: segments}
	for _, s := range segments {
		if s == AnyDepth {
			m.deep = true
		} else {
			m.least++
		}
	}
	for literal := range strings.SplitSeq(text[first:last], "*") {
		if literal = strings.Trim(literal, "/"); literal != "" {
			m.between = append(m.between, literal)
		}
	}
	return m
}

// match takes a text and the number of its segments.
func (m *matcher) match(text string, segments int) bool {
	if m.segments == nil {
		return len(text)+1 == len(m.head) && m.head[:len(text)] == text || m.head == "" && text == ""
	}
	if !m.mayMatch(text, segments) {
		return false
	}
	matches, _ := m.matchSegments(text)
	return matches
}

// mayMatch reports whether a text has what every match of a pattern with a star
// has. It looks at each byte once.
func (m *matcher) mayMatch(text string, segments int) bool {
	if segments < m.least || segments > m.least && !m.deep || !startsWith(text, m.head) || !strings.HasSuffix(text, m.tail) {
		return false
	}
	for _, literal := range m.between {
		_, after, found := strings.Cut(text, literal)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// matchSegments compares segment by segment, and returns how many comparisons it
// took. Where one differs, the last ** takes one segment more.
func (m *matcher) matchSegments(text string) (matches bool, steps int) {
	at, deep, retry := 0, -1, 0 // in the pattern; the last **, and where the text after it begins
	for rest := 0; rest < len(text); steps++ {
		segment, _, _ := strings.Cut(text[rest:], "/")
		switch {
		case at < len(m.segments) && m.segments[at] == AnyDepth:
			if at++; at == len(m.segments) {
				return true, steps
			}
			deep, retry = at, rest
		case at < len(m.segments) && matchStars(m.segments[at], segment):
			at++
			rest += len(segment) + 1
		case deep >= 0:
			segment, _, _ = strings.Cut(text[retry:], "/")
			retry += len(segment) + 1
			at, rest = deep, retry
		default:
			return false, steps
		}
	}
	for at < len(m.segments) && m.segments[at] == AnyDepth {
		at++
	}
	return at == len(m.segments), steps
}

// matchStars compares one segment. The text between two stars is looked for once:
// if it stands in several places, the first leaves the most for what follows.
func matchStars(pattern, text string) bool {
	literal, pattern, star := strings.Cut(pattern, "*")
	if !star {
		return literal == text
	}
	text, found := strings.CutPrefix(text, literal)
	for found {
		if literal, pattern, star = strings.Cut(pattern, "*"); !star {
			return strings.HasSuffix(text, literal)
		}
		_, text, found = strings.Cut(text, literal)
	}
	return false
}

// startsWith is strings.HasPrefix for a text that ends in a slash which is not
// written.
func startsWith(text, head string) bool {
	if len(head) == len(text)+1 {
		return head[len(text)] == '/' && head[:len(text)] == text
	}
	return strings.HasPrefix(text, head)
}
