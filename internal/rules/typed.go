package rules

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
)

// longestTyped bounds the time that it takes to read a key, in bytes. What a person types is far shorter.
const longestTyped = 16 << 10

// reader returns a function that reads the keys of overrides as people write them. of names what they belong to.
func (t *template) reader(of string) func(text string) (key string, err error) {
	short, long := t.pattern("(.+?)"), t.pattern("(.+)")
	return func(text string) (string, error) {
		key, err := t.read(text, short, long)
		if err != nil {
			return "", fmt.Errorf("%q is no key of the overrides of %s, which look like %s: %w", text, of, t.text(), err)
		}
		return key, nil
	}
}

// pattern matches keys with any text for the values.
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

// read returns the key that a person means: one as replays and logs print it, or one with values as they are. short and
// long match with the values at the left as short as they can be, and as long. Where those differ, the text could be read
// in several ways, and is no key.
func (t *template) read(text string, short, long *regexp.Regexp) (key string, err error) {
	if len(text) > longestTyped {
		return "", fmt.Errorf("a key is at most %d bytes long", longestTyped)
	}
	misfit := t.fits(text)
	switch {
	case misfit == nil && len(text) == MaxKey:
		return text, nil // hashed: what it was made from is not known
	case misfit == nil:
		return t.spell(short.FindStringSubmatch(text)[1:], unescape)
	case hasEscape(text) || !short.MatchString(text):
		return "", misfit // where some of it is escaped, all of it has to be
	}
	asItIs := func(value string) string { return value }
	key, err = t.spell(short.FindStringSubmatch(text)[1:], asItIs)
	other, otherErr := t.spell(long.FindStringSubmatch(text)[1:], asItIs)
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
	return string(bounded(key, 0)), nil
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
