package rules

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// maxRead bounds what is read of one path, in bytes of all its readings together. A path of 300 bytes can be as intricate as
// it likes; one of 10 KB that has all the tricks would come to a megabyte, and to read it would cost more than to answer it.
const maxRead = 128 << 10

// otherReadings returns how a backend may read a path that was not sent clean, other than as what cleanPath makes of it.
// Backends differ. net/http cuts a path into segments first and decodes each then, so that %2F is no slash, and %2e%2e a
// segment like any other; some decode the path first and clean nothing; some clean it and let an escaped slash be. Some
// remove dots as RFC 3986 does, section 5.2.4, to which an empty segment is one like any other: "/a//../b" is "/a/b" there,
// and "/b" where slashes are merged first. Proxies do either before anything is decoded, and leave what is escaped to those
// behind them. Tomcat, Jetty and Spring drop what follows a semicolon in a segment (a path parameter, RFC 3986, section 3.3)
// before they clean, some before they decode. Windows takes a backslash for a slash.
//
// What limits or bans must hold for all of them, or a client could spell its way past it. So the steps are taken in the order
// in which a request meets them, each of them also left out: a proxy that removes dots, parameters that are dropped, decoding,
// which may leave slashes escaped, parameters again, and cleaning. A path with an escape, a slash or a parameter too many has
// one or two readings more, one with a ".." a few; one that has all of it may have 200. It reports false where that is
// more than maxRead: no client sends such a path in good faith.
func otherReadings(raw, clean string) (others []string, ok bool) {
	r, sent := readings{clean: clean, left: maxRead}, rooted(raw)
	whole := unescape(sent)
	if r.addUncleaned(whole, clean); !isIntricate(sent, whole) {
		return r.others, r.left >= 0
	}
	var ways, decoded [10]string // on the stack
	for _, p := range appendPassedOn(ways[:0], sent) {
		for _, d := range appendDecoded(decoded[:0], p) {
			r.add(d)
			if hasParameters(d) { // now that they are decoded
				r.add(withoutParameters(d))
			}
		}
		if strings.IndexByte(whole, '\\') >= 0 {
			r.add(unescape(backslashes.Replace(p)))
		}
		if r.left < 0 {
			return nil, false
		}
	}
	return r.others, true
}

// isIntricate reports whether there is more to a path than an empty segment, an escape or a slash at its end.
func isIntricate(sent, whole string) bool {
	return !isPlain(whole) || strings.Contains(whole, "/.") || strings.HasPrefix(sent, "//") || hasEscapedSlash(sent)
}

func hasEscapedSlash(p string) bool { return strings.Contains(p, "%2F") || strings.Contains(p, "%2f") }

var backslashes = strings.NewReplacer(`\`, "/", "%5C", "/", "%5c", "/")

// isPlain reports whether all backends read a path alike that is clean.
func isPlain(clean string) bool {
	return !hasParameters(clean) && strings.IndexByte(clean, '\\') < 0
}

// appendPassedOn appends what a backend may get, or work on, in the place of the path that was sent: it has no dots, no empty
// segments, neither, or it begins elsewhere. Some take %2e for a dot, and those that merge slashes do so before or after.
func appendPassedOn(dst []string, sent string) []string {
	dst = append(dst, sent, withoutEmpty(sent))
	for _, p := range [...]string{sent, unescapeSome(sent, isDot)} {
		if strings.Contains(p, "/.") {
			undotted := withoutDots(p)
			dst = append(dst, undotted, withoutEmpty(undotted), path.Clean(p))
		}
	}
	if strings.HasPrefix(sent, "//") || strings.IndexByte(sent, '\\') >= 0 {
		dst = append(dst, withoutHost(sent), urlPath(sent))
	}
	return distinct(dst)
}

// urlPath returns the path that the URL Standard finds in what was sent, read as a reference: servers in JavaScript often
// take it apart by new URL.
func urlPath(sent string) string {
	p := unescapeSome(strings.ReplaceAll(sent, `\`, "/"), isDot)
	return withoutDots(withoutHost(p))
}

// withoutHost drops what parsers of URLs take for the name of a host: what follows two slashes.
func withoutHost(p string) string {
	if !strings.HasPrefix(p, "//") {
		return p
	}
	_, rest, _ := strings.Cut(strings.TrimLeft(p, "/"), "/")
	return "/" + rest
}

// appendDecoded appends the path decoded, whole and but for slashes, and the same without its parameters.
func appendDecoded(dst []string, p string) []string {
	dst = append(dst, unescape(p))
	if hasEscapedSlash(p) {
		dst = append(dst, unescapeSome(p, isNoSlash))
	}
	if hasParameters(p) {
		dst = appendDecoded(dst, withoutParameters(p))
	}
	return dst
}

func isDot(c byte) bool     { return c == '.' }
func isNoSlash(c byte) bool { return c != '/' }

// readings are those of one path, each of them once.
type readings struct {
	clean  string
	others []string
	left   int // of maxRead
}

// add adds a path that has been decoded, in its clean form, as it is, and with nothing but its dots or its empty segments
// taken out, or one after the other.
func (r *readings) add(p string) {
	if r.left < 0 {
		return
	}
	cleaned := path.Clean(p)
	r.addOne(cleaned)
	r.addUncleaned(p, cleaned)
}

func (r *readings) addUncleaned(p, cleaned string) {
	if p == cleaned {
		return
	}
	r.addOne(p)
	if !strings.Contains(p, "/.") || !strings.Contains(p, "//") {
		return // one of them is all there is to take out
	}
	undotted := withoutDots(p)
	r.addOne(undotted)
	r.addOne(withoutEmpty(undotted))
	r.addOne(withoutEmpty(p))
}

// addOne adds a path without a slash at its end, which patterns do not mind.
func (r *readings) addOne(p string) {
	if q := strings.TrimSuffix(p, "/"); q != "" && !strings.HasSuffix(q, "/") {
		p = q
	}
	if r.left -= len(p); r.left < 0 || p == r.clean || slices.Contains(r.others, p) {
		return
	}
	r.others = append(r.others, p)
}

func distinct(all []string) []string {
	kept := all[:0]
	for _, p := range all {
		if !slices.Contains(kept, p) {
			kept = append(kept, p)
		}
	}
	return kept
}

func hasParameters(p string) bool { return strings.IndexByte(p, ';') >= 0 }

// withoutParameters cuts each segment at its first semicolon.
func withoutParameters(p string) string {
	var out strings.Builder
	out.Grow(len(p))
	dropping := false
	for i := range len(p) {
		if dropping = p[i] == ';' || dropping && p[i] != '/'; !dropping {
			out.WriteByte(p[i])
		}
	}
	return out.String()
}

// withoutDots removes the segments "." and ".." of a path that begins with a slash, with what the latter take back, an empty
// segment too: RFC 3986, section 5.2.4.
func withoutDots(p string) string {
	out := make([]byte, 0, len(p))
	for segment, rest, more := "", p[1:], true; more; {
		segment, rest, more = strings.Cut(rest, "/")
		if segment != "." && segment != ".." {
			out = append(append(out, '/'), segment...)
			continue
		}
		if segment == ".." {
			out = out[:max(0, bytes.LastIndexByte(out, '/'))]
		}
		if !more {
			out = append(out, '/') // a path that ends in dots ends in a slash
		}
	}
	return string(out)
}

// withoutEmpty merges slashes.
func withoutEmpty(p string) string {
	if !strings.Contains(p, "//") {
		return p
	}
	var out strings.Builder
	out.Grow(len(p))
	for i := range len(p) {
		if p[i] != '/' || i == 0 || p[i-1] != '/' {
			out.WriteByte(p[i])
		}
	}
	return out.String()
}

func rooted(p string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return "/" + p
}
