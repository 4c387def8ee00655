package key

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
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

// IPv6 addresses count by a network, because a host can choose any address of
// its own. IPv4 addresses count whole.
const (
	defaultBits = request.NetworkBits // of {ip}
	wholeBits   = 128                 // of {ip/128}
	// leastBits is a provider's own network. Fewer bits are probably a mistake
	// for a network of IPv4 addresses, such as {ip/24}.
	leastBits = 32
)

// parsePrefix reads the number of {ip/64}.
func parsePrefix(text string) (p Part, wrong problem.Fault) {
	n, err := strconv.ParseUint(text, 10, 8)
	switch {
	case err != nil || n < leastBits || n > wholeBits || text[0] == '0':
		return p, problem.New(problem.KeyPrefix, text, defaultBits, leastBits, wholeBits)
	case n == defaultBits:
		return Part{Kind: FromIP}, wrong
	}
	return Part{Kind: FromIP, Text: text}, wrong
}

// bits returns how many bits of an IPv6 address count.
func (p *Part) bits() int {
	if p.Text == "" {
		return defaultBits
	}
	n, _ := strconv.Atoi(p.Text) // parsePrefix has read it
	return n
}

// Evadable returns the sources of which a client can send a new value with every
// request: those that it fills in, and addresses within its own network.
func (t *Template) Evadable() []string {
	sources := slices.Clone(t.ClientSources)
	for _, p := range t.Parts {
		if p.Kind == FromIP && p.bits() > defaultBits {
			sources = append(sources, "{"+p.String()+"}")
		}
	}
	return sources
}

// appendAddr appends an IPv4 address, or the network by which an IPv6 address
// counts.
func (p *Part) appendAddr(dst []byte, addr netip.Addr) []byte {
	if !addr.IsValid() {
		return append(dst, absent)
	}
	var text [64]byte
	return appendEscaped(dst, request.AppendNetwork(text[:0], addr, p.bits()))
}

// parseTypedAddr reads an address, or the network by which an IPv6 one counts.
func (p *Part) parseTypedAddr(text string) (netip.Addr, error) {
	if addr := request.ParseAddr(text); addr.IsValid() {
		return addr, nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil || network.Addr().Is4() || network.Bits() != p.bits() || network != request.CanonicalNetwork(network) {
		if p.bits() == wholeBits {
			return netip.Addr{}, fmt.Errorf("{%s} is an address, such as 203.0.113.9 or 2001:db8::1", p)
		}
		return netip.Addr{}, fmt.Errorf("{%s} is an address, such as 203.0.113.9, "+
			"or the /%d network of one, such as 2001:db8::/%[2]d", p, p.bits())
	}
	return network.Addr(), nil
}
