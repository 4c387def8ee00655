package rules

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/slidegate/slidegate/internal/urlpath"
)

// longestTyped bounds the time that it takes to read a key, in bytes. What a person types is far shorter.
const longestTyped = 16 << 10

// whole returns a key as it is before it is hashed: cut, where it never is.
func (t *template) whole(key []byte) string {
	if t.hash == nil {
		key = bounded(key, 0)
	}
	return string(key)
}

// kept returns what counters, tables and logs have in the place of a key that read returned. The error is ErrHashSecret.
func (t *template) kept(key string) (string, error) {
	switch {
	case t.hash == nil:
		return key, nil
	case t.hash.missing != nil: // also for a hash: whether the document says something of its key is not known
		return "", fmt.Errorf("%w: %w", ErrHashSecret, t.hash.missing)
	}
	return t.hash.of(key), nil
}

// typedForms match keys with any text for the values: as short as it can be at the left, and as long.
type typedForms struct{ short, long *regexp.Regexp }

// forms returns them, made once for a template that is good.
func (t *template) forms() *typedForms {
	if t.typed != nil {
		return t.typed()
	}
	return &typedForms{t.pattern("(.+?)"), t.pattern("(.+)")}
}

func (t *template) pattern(value string) *regexp.Regexp {
	expr := "(?s)^"
	for _, p := range t.parts {
		if p.source == literal {
			expr += regexp.QuoteMeta(p.text)
		} else {
			expr += value
		}
	}
	return regexp.MustCompile(expr + "$")
}

// read returns the key that a person means: one as replays and logs print it, or one with values as they are. Where it makes
// a difference whether the values at the left are as short as they can be or as long, the text could be read in several ways,
// and is no key. Of a rule that hashes its keys it returns the key before that, unless the text is a hash.
func (t *template) read(text string) (key string, err error) {
	if len(text) > longestTyped {
		return "", fmt.Errorf("a key is at most %d bytes long", longestTyped)
	}
	if t.hash != nil && strings.HasPrefix(text, hmacPrefix) {
		return text, fitsHash(text)
	}
	misfit, forms := t.fits(text), t.forms()
	switch {
	case misfit == nil && t.hash == nil && len(text) == MaxKey:
		return text, nil // its end is a hash: what it was made from is not known
	case misfit == nil:
		return t.spell(forms.short.FindStringSubmatch(text)[1:], urlpath.Decode)
	case urlpath.HasEscape(text) || !forms.short.MatchString(text):
		return "", misfit // where some of it is escaped, all of it has to be
	}
	asItIs := func(value string) string { return value }
	key, err = t.spell(forms.short.FindStringSubmatch(text)[1:], asItIs)
	other, otherErr := t.spell(forms.long.FindStringSubmatch(text)[1:], asItIs)
	switch {
	case err != nil:
		return other, otherErr
	case otherErr == nil && other != key:
		return "", fmt.Errorf("it can be read in two ways: write %s or %s", key, other)
	}
	return key, nil
}

// spell returns the key that a request with these values has.
func (t *template) spell(values []string, decode func(string) string) (string, error) {
	var key []byte
	for _, p := range t.parts {
		if p.source == literal {
			key = append(key, p.text...)
			continue
		}
		typed := values[0]
		values = values[1:]
		switch {
		case typed == string(lacking):
			key = append(key, lacking)
		case p.source == fromIP:
			addr, err := parseTypedAddr(decode(typed))
			if err != nil {
				return "", err
			}
			key = appendAddr(key, &Request{IP: addr})
		default:
			key = appendValue(key, decode(typed))
		}
	}
	return t.whole(key), nil
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
