// Package urlpath decides what a limiter may conclude from the path of a URL:
// whether servers agree on what the path means, its clean form, and which
// patterns match it.
package urlpath

import (
	"encoding/hex"
	"path"
	"strings"
	"unicode/utf8"
)

// Ambiguity says why servers may read a path in several ways. The zero value
// is a path that they all read alike.
type Ambiguity struct {
	Kind    string // such as "a dot segment"
	Segment string // the first such segment, as the client sent it
}

// Ambiguous reports whether servers may read the path in several ways.
func (a Ambiguity) Ambiguous() bool { return a.Kind != "" }

// Examine returns what makes a path ambiguous, the first thing of several.
//
// Proxies and servers agree on few steps: one removes dot segments or merges
// slashes, another does so before it decodes, others drop ";" parameters, take
// "\" for a slash, decode twice, pass a decoded "?" on, stop at a NUL, read
// overlong UTF-8 as ASCII, or drop dots, blanks and names of streams at the end of a name, as Windows does.
// A client can combine these steps so that the server answers another path than
// the limiter sees. Paths that offer such a
// step are ambiguous; the others have one meaning, once decoded.
//
// A single slash at the end is not ambiguous. Servers disagree about it, but
// ordinary clients send it, and Clean removes it.
func Examine(raw string) Ambiguity {
	start, last := 0, byte(0) // of the current segment; last is decoded
	for i := 0; i < len(raw); {
		c, size := decodeByte(raw, i)
		kind := ambiguousByte(c, size > 1)
		switch {
		case c == '#' && kind == "": // a server may end the path here
			kind = ambiguousEnd(raw[start:i], last)
		case kind != "" || c != '/':
		case i == start && i > 0:
			kind = "an empty segment"
		default:
			kind = ambiguousEnd(raw[start:i], last)
			start = i + 1
		}
		if kind != "" {
			return Ambiguity{kind, segmentAt(raw, i)}
		}
		last = c
		i += size
	}
	if kind := ambiguousEnd(raw[start:], last); kind != "" {
		return Ambiguity{kind, raw[start:]}
	}
	return Ambiguity{}
}

// ambiguousByte returns what a decoded byte makes of any path that has it. A
// percent sign is one that a server may take for another escape.
func ambiguousByte(c byte, escaped bool) string {
	switch {
	case c == '/' && escaped:
		return "an encoded slash"
	case c == '\\':
		return "a backslash"
	case c == '%':
		return "a percent sign after decoding"
	case c == ';':
		return "a semicolon"
	case c == '?': // a server may pass it on as the beginning of the query
		return "a question mark"
	case c == '#' && !escaped: // a server may take the rest for a fragment
		return "a number sign"
	case c < ' ' || c == 0x7f:
		return "a control character"
	}
	return ""
}

// streamMark is part of the suffixes, such as "::$DATA" and
// ":$I30:$INDEX_ALLOCATION", with which Windows finds a file or a folder by
// another name.
const streamMark = ":$"

// ambiguousEnd looks at a whole segment, whose last decoded byte is given.
func ambiguousEnd(segment string, last byte) string {
	name := Decode(segment)
	switch {
	case segment == "":
		return ""
	case strings.ContainsRune(name, utf8.RuneError): // a gateway's event has U+FFFD for such bytes
		return "bytes that are not UTF-8"
	case strings.Contains(name, streamMark):
		return "a stream of Windows"
	case last == ' ':
		return "a segment that ends in a blank"
	case last != '.':
		return ""
	}
	if name == "." || name == ".." {
		return "a dot segment"
	}
	return "a segment that ends in a dot"
}

// segmentAt returns the segment around a byte of a path. A slash belongs to the
// segment before it.
func segmentAt(raw string, i int) string {
	end := strings.IndexByte(raw[i:], '/')
	if end < 0 {
		end = len(raw) - i
	}
	return raw[strings.LastIndexByte(raw[:i], '/')+1 : i+end]
}

// Clean returns the clean form of a path, as the most obliging server reads it:
// decoded once, each "\" a slash, without ";" parameters, empty segments, dot
// segments and a slash at the end. An escape that is cut short, or has other
// digits, stays as it is. A decoded byte need not be UTF-8.
func Clean(raw string) string {
	p := Decode(raw)
	if strings.ContainsAny(p, `\;`) {
		p = withoutParameters(strings.ReplaceAll(p, `\`, "/"))
	}
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return path.Clean(p)
}

// BeforeNumberSign returns the clean form of a path up to its first number sign,
// encoded or not. A server that makes a URL of the decoded path takes the rest for a
// fragment.
func BeforeNumberSign(raw string) (clean string, found bool) {
	before, _, found := strings.Cut(strings.ReplaceAll(raw, "%23", "#"), "#")
	if !found {
		return "", false // most paths: without the work to clean one
	}
	return Clean(before), true
}

// withoutParameters cuts each segment at its first semicolon.
func withoutParameters(p string) string {
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	return strings.Join(segments, "/")
}

// Decode decodes percent-escapes once. It allocates only if there is one.
func Decode(s string) string {
	if !HasEscape(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); {
		c, size := decodeByte(s, i)
		out.WriteByte(c)
		i += size
	}
	return out.String()
}

// HasEscape reports whether Decode changes a text.
func HasEscape(s string) bool {
	for i := strings.IndexByte(s, '%'); i >= 0 && i < len(s); i++ {
		if _, size := decodeByte(s, i); size > 1 {
			return true
		}
	}
	return false
}

// decodeByte returns the byte that s has at i, decoded, and how many bytes of s
// it takes: 3 for an escape, else 1.
func decodeByte(s string, i int) (c byte, size int) {
	if s[i] == '%' && i+2 < len(s) {
		var decoded [1]byte
		if _, err := hex.Decode(decoded[:], []byte(s[i+1:i+3])); err == nil {
			return decoded[0], 3
		}
	}
	return s[i], 1
}
