package key

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/slidegate/slidegate/internal/urlpath"
)

// maxTyped bounds the time that it takes to read a key, in bytes. What a person types is far shorter.
const maxTyped = 16 << 10

// Whole returns a key as it is before it is hashed: cut, where it never is.
func (t *Template) Whole(key []byte) string {
	if t.Hash == nil {
		key = bounded(key, 0)
	}
	return string(key)
}

// Stored returns what counters, tables and logs have in the place of a key that read returned. The error is ErrHashSecret.
func (t *Template) Stored(key string) (string, error) {
	switch {
	case t.Hash == nil:
		return key, nil
	case t.Hash.Missing != nil: // also for a hash: whether the document says something of its key is not known
		return "", fmt.Errorf("%w: %w", ErrHashSecret, t.Hash.Missing)
	}
	return t.Hash.Of(key), nil
}

// typedForms match keys with any text for the values: as short as it can be at the left, and as long.
type typedForms struct{ short, long *regexp.Regexp }

// patterns returns them, made once for a template that is good.
func (t *Template) patterns() *typedForms {
	if t.typed != nil {
		return t.typed()
	}
	return &typedForms{t.pattern("(.+?)"), t.pattern("(.+)")}
}

func (t *Template) pattern(value string) *regexp.Regexp {
	expr := "(?s)^"
	for _, p := range t.Parts {
		if p.Kind == Literal {
			expr += regexp.QuoteMeta(p.Text)
		} else {
			expr += value
		}
	}
	return regexp.MustCompile(expr + "$")
}

// Read returns the key that a person means: one as replays and logs print it, or one with values as they are. Where it makes
// a difference whether the values at the left are as short as they can be or as long, the text could be read in several ways,
// and is no key. Of a rule that hashes its keys it returns the key before that, unless the text is a hash.
func (t *Template) Read(text string) (key string, err error) {
	if len(text) > maxTyped {
		return "", fmt.Errorf("a key is at most %d bytes long", maxTyped)
	}
	if t.Hash != nil && strings.HasPrefix(text, hmacPrefix) {
		return text, CheckHash(text)
	}
	mismatch, forms := t.Check(text), t.patterns()
	switch {
	case mismatch == nil && t.Hash == nil && len(text) == MaxLen:
		return text, nil // its end is a hash: what it was made from is not known
	case mismatch == nil:
		return t.format(forms.short.FindStringSubmatch(text)[1:], urlpath.Decode)
	case urlpath.HasEscape(text) || !forms.short.MatchString(text):
		return "", mismatch // where some of it is escaped, all of it has to be
	}
	asItIs := func(value string) string { return value }
	key, err = t.format(forms.short.FindStringSubmatch(text)[1:], asItIs)
	other, otherErr := t.format(forms.long.FindStringSubmatch(text)[1:], asItIs)
	switch {
	case err != nil:
		return other, otherErr
	case otherErr == nil && other != key:
		return "", fmt.Errorf("it can be read in two ways: write %s or %s", key, other)
	}
	return key, nil
}

// format returns the key that a request with these values has.
func (t *Template) format(values []string, decode func(string) string) (string, error) {
	var key []byte
	for _, p := range t.Parts {
		if p.Kind == Literal {
			key = append(key, p.Text...)
			continue
		}
		typed := values[0]
		values = values[1:]
		switch {
		case typed == string(absent):
			key = append(key, absent)
		case p.Kind == FromIP:
			addr, err := parseTypedAddr(decode(typed))
			if err != nil {
				return "", err
			}
			key = appendAddr(key, addr.Unmap().WithZone(""))
		default:
			key = appendValue(key, decode(typed))
		}
	}
	return t.Whole(key), nil
}

// parseTypedAddr reads an address, or the /64 network by which an IPv6 one counts.
func parseTypedAddr(text string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr, nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil || network.Addr().Is4() || network.Bits() != 64 || network != network.Masked() {
		return netip.Addr{}, errors.New("{ip} is an address, such as 203.0.113.9, or the /64 network of one, such as 2001:db8::/64")
	}
	return network.Addr(), nil
}
