package rules

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// MaxKey is the length of the longest key, in bytes. A key that would take
	// MaxKey or more is cut: it is its first hashedPrefix bytes, a tilde and
	// hashDigits hex digits of its SHA-256. No other key is that long, so no
	// request can send a cut one.
	MaxKey = hashedPrefix + 1 + hashDigits

	hashedPrefix = 480
	hashDigits   = 24
)

// lacking stands for what a request does not have. A value that is sent as a
// hyphen is escaped.
const lacking = '-'

// bounded replaces a key, dst[start:], that is too long by its cut form.
func bounded(dst []byte, start int) []byte {
	if len(dst)-start < MaxKey {
		return dst
	}
	sum := sha256.Sum256(dst[start:])
	dst = append(dst[:start+hashedPrefix], '~')
	return hex.AppendEncode(dst, sum[:hashDigits/2])
}

// key appends the key of a request that the selector matches, as counters,
// tables and logs have it.
func (t *template) key(dst []byte, req *Request, s *selector) []byte {
	if t.hash != nil {
		var whole [256]byte
		return t.hash.append(dst, t.append(whole[:0], req, s))
	}
	start := len(dst)
	return bounded(t.append(dst, req, s), start)
}

// append appends the whole key of a request that the selector matches.
//
// An empty value counts as lacking: a gateway may drop an empty field or add
// one, few backends distinguish the two, and a stage or a path parameter has no
// other way to be absent. So requests share a counter only if all their parts
// are alike or lacking alike.
func (t *template) append(dst []byte, r *Request, s *selector) []byte {
	for _, p := range t.parts {
		switch p.source {
		case literal:
			dst = append(dst, p.text...)
		case fromIP:
			dst = appendAddr(dst, r)
		case fromHeader:
			dst = appendValues(dst, r.header(p.text))
		case fromQuery:
			dst = appendValues(dst, r.Query[p.text])
		case fromPath:
			dst = appendValue(dst, r.PathParams[p.text])
		case fromMethod:
			dst = appendValue(dst, r.Method)
		case fromRoute:
			dst = appendRoute(dst, r, s)
		case fromStage:
			dst = appendValue(dst, r.Stage)
		case fromClaim, fromAPIKey:
			text, _ := p.only(r)
			dst = appendValue(dst, text)
		}
	}
	return dst
}

// appendAddr appends an IPv4 address, or the /64 network of an IPv6 address,
// because a host can choose any address of its network.
func appendAddr(dst []byte, r *Request) []byte {
	addr := r.work().addr
	switch {
	case !addr.IsValid():
		return append(dst, lacking)
	case addr.Is4():
		return addr.AppendTo(dst)
	}
	network, _ := addr.Prefix(64) // fails only for more bits than an address has
	var text [64]byte
	return appendEscaped(dst, network.AppendTo(text[:0]))
}

func appendRoute(dst []byte, r *Request, s *selector) []byte {
	f := r.work()
	if f.template != "" {
		return appendValue(dst, f.template)
	}
	return appendValue(dst, s.routePattern(f))
}

// appendValues joins the values of a repeated field with commas, as RFC 9110,
// section 5.3, does for headers.
func appendValues(dst []byte, values []string) []byte {
	switch len(values) {
	case 0:
		return append(dst, lacking)
	case 1:
		return appendValue(dst, values[0])
	}
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendEscaped(dst, v)
	}
	return dst
}

func appendValue(dst []byte, value string) []byte {
	switch value {
	case "":
		return append(dst, lacking)
	case string(lacking):
		return appendEscape(dst, lacking)
	}
	return appendEscaped(dst, value)
}

func appendEscaped[T string | []byte](dst []byte, value T) []byte {
	for i := 0; i < len(value); i++ {
		if c := value[i]; mustEscape(c) {
			dst = appendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// mustEscape reports whether a byte of a value has a meaning in keys or is not
// printable ASCII: keys end up in tables, logs and headers, and text that is
// not UTF-8 survives none of them.
func mustEscape(c byte) bool { return c == '%' || isSeparator(c) || c < ' ' || c > '~' }

func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}
