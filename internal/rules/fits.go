package rules

import (
	"errors"
	"fmt"
	"strings"
)

// fits reports why the template can never have made a key, hashed ones aside; nil if it can have.
func (t *template) fits(key string) error {
	if t.hash == nil && len(key) >= MaxKey {
		return fitsCut(key)
	}
	rest := key
	for _, p := range t.parts {
		if p.source == literal {
			tail, ok := strings.CutPrefix(rest, p.text)
			if !ok {
				return fmt.Errorf("%q is not in its place", p.text)
			}
			rest = tail
			continue
		}
		n := len(rest)
		if i := strings.IndexAny(rest, ":|"); i >= 0 {
			n = i
		}
		if err := checkValue(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if rest != "" {
		return fmt.Errorf("%q is too much: a : or | inside a value is written %%3A or %%7C", rest)
	}
	return nil
}

func fitsCut(key string) error {
	if len(key) > MaxKey {
		return fmt.Errorf("a key is at most %d bytes long", MaxKey)
	}
	if key[hashedPrefix] != '~' || strings.Trim(key[hashedPrefix+1:], "0123456789abcdef") != "" {
		return fmt.Errorf("a key of %d bytes ends in ~ and %d hex digits", MaxKey, hashDigits)
	}
	return nil
}

// checkValue reports why a value cannot have been written by appendValue or appendValues.
func checkValue(v string) error {
	if v == "" {
		return fmt.Errorf("a part that a request lacks is written %c", lacking)
	}
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '%' && !isEscape(v[i:]):
			return errors.New("a % inside a value is written %25")
		case c == '%':
			b := unhex(v[i+1])<<4 | unhex(v[i+2])
			if !mustEscape(b) && v != "%2D" || v[i:i+3] != strings.ToUpper(v[i:i+3]) {
				return fmt.Errorf("%s is not how a key spells %q", v[i:i+3], b)
			}
			i += 2
		case mustEscape(c):
			return fmt.Errorf("a byte outside printable ASCII is written as an escape, here %s", appendEscape(nil, c))
		}
	}
	return nil
}
