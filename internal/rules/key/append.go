package key

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

const (
	// MaxLen is the length of the longest key, in bytes. A key of MaxLen bytes
	// or more is cut to its first cutPrefix bytes, a tilde and hashDigits hex
	// digits of its SHA-256. Only a cut key has this length, so no request can
	// send text that looks like one.
	MaxLen = cutPrefix + 1 + hashDigits

	cutPrefix  = 480
	hashDigits = 24
)

// absent stands for a value that the request lacks. A value that is sent as a
// hyphen is escaped.
const absent = '-'

// bounded replaces a key, dst[start:], that is too long by its cut form.
func bounded(dst []byte, start int) []byte {
	if len(dst)-start < MaxLen {
		return dst
	}
	sum := sha256.Sum256(dst[start:])
	dst = append(dst[:start+cutPrefix], '~')
	return hex.AppendEncode(dst, sum[:hashDigits/2])
}

// AppendValue appends a key that is one value, as the template {x} would.
func AppendValue(dst []byte, value string) []byte {
	start := len(dst)
	return bounded(appendValue(dst, value), start)
}

// Append appends the key of a request, as counters, tables and logs have it.
// route is the value of {route}: the gateway's template or a pattern of the
// rules, because clients must not choose it.
func (t *Template) Append(dst []byte, req *request.Request, route string) []byte {
	if t.Hash != nil {
		var whole [256]byte
		return t.Hash.append(dst, t.appendWhole(whole[:0], req, route))
	}
	start := len(dst)
	return bounded(t.appendWhole(dst, req, route), start)
}

// appendWhole appends the key of a request, before it is hashed or cut.
//
// An empty value counts as absent: a gateway may drop an empty field or add
// one, few backends distinguish the two, and a stage or a path parameter has no
// other way to be absent. So requests share a counter only if all their parts
// are equal or absent.
func (t *Template) appendWhole(dst []byte, r *request.Request, route string) []byte {
	for i := range t.Parts {
		p := &t.Parts[i]
		switch p.Kind {
		case Literal:
			dst = append(dst, p.Text...)
		case FromIP:
			dst = p.appendAddr(dst, r.Addr())
		case FromHeader:
			dst = appendValues(dst, r.Header(p.Text))
		case FromQuery:
			dst = appendValues(dst, r.Query[p.Text])
		case FromRoute:
			dst = appendValue(dst, route)
		default:
			text, _ := p.Value(r)
			dst = appendValue(dst, text)
		}
	}
	return dst
}

// appendValues joins the values of a repeated field with commas, as RFC 9110,
// section 5.3, does for headers.
func appendValues(dst []byte, values []string) []byte {
	switch len(values) {
	case 0:
		return append(dst, absent)
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
		return append(dst, absent)
	case string(absent):
		return appendEscape(dst, absent)
	}
	return appendEscaped(dst, value)
}

// Escape returns a value as people may write it in a key for Read. It changes
// only "-", which stands for a missing value, and a percent sign, which would
// start an escape.
func Escape(value string) string {
	if value != string(absent) && !strings.Contains(value, "%") {
		return value
	}
	return string(appendValue(nil, value))
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
// printable ASCII. Keys end up in tables, logs and headers, which do not keep
// text that is not UTF-8.
func mustEscape(c byte) bool { return c == '%' || isSeparator(c) || c < ' ' || c > '~' }

func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}
