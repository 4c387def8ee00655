package key

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/urlpath"
)

// maxTyped bounds the time that it takes to read a key, in bytes. What a person
// types is far shorter.
const maxTyped = 16 << 10

// Read returns the key that a person means: one as replays and logs print it,
// or one with plain values. A plain text that can be read in two ways is an
// error. For a template that hashes its keys, Read returns the key before that,
// unless the text is a hash.
func (t *Template) Read(text string) (key string, err error) {
	if len(text) > maxTyped {
		return "", fmt.Errorf("a key is at most %d bytes long", maxTyped)
	}
	if t.Hash != nil && IsHashed(text) {
		if digits := text[len(hmacPrefix):]; len(digits) != hmacDigits || strings.Trim(digits, "0123456789abcdef") != "" {
			return "", fmt.Errorf("a hashed key is %s and %d hex digits", hmacPrefix, hmacDigits)
		}
		return text, nil
	}
	if text == t.String() && text != t.Outline() && len(t.ClientSources) == 0 { // clients alone send names with braces
		return "", errors.New("it is the template: write a value in place of each pair of braces")
	}
	values, mismatch := t.split(text)
	shortest, ok := t.guess(text, false)
	switch {
	case mismatch == nil && len(values) == 0:
		return text, nil // it has no sources, or ends in a hash
	case mismatch == nil:
		return t.format(values, urlpath.Decode)
	case urlpath.HasEscape(text) || !ok: // a text with one escape must have all
		return "", mismatch
	}
	longest, _ := t.guess(text, true)
	plain := func(value string) string { return value }
	key, err = t.format(shortest, plain)
	other, otherErr := t.format(longest, plain)
	switch {
	case err != nil:
		return other, otherErr
	case otherErr == nil && other != key:
		return "", fmt.Errorf("it can be read in two ways: write %s or %s", key, other)
	}
	return key, nil
}

// Complete returns the key that a text would be with the template's own text
// before and after it; empty if the text is no value of an only source.
func (t *Template) Complete(text string) string {
	before, after, one := strings.Cut(t.Outline(), "{}")
	if whole := before + text + after; one && !strings.ContainsAny(text, ":|") && !IsHashed(text) {
		if _, err := t.Read(whole); err == nil {
			return whole
		}
	}
	return ""
}

// guess splits a text whose values may hold separators. The values at the left
// are as short as they can be, or as long; none is empty.
func (t *Template) guess(text string, long bool) (values []string, ok bool) {
	around := strings.Split(t.Outline(), "{}") // the text before, between and after the values
	first, last := 0, len(around)-2            // of the values whose text is left
	if last < 0 {
		return nil, false
	}
	text, begins := strings.CutPrefix(text, around[0])
	text, ends := strings.CutSuffix(text, around[last+1])
	values = make([]string, last+1)
	for first < last && text != "" {
		separator, at := around[first+1], 0
		if long {
			separator = around[last]
			at = strings.LastIndex(text[:len(text)-1], separator)
		} else {
			at = 1 + strings.Index(text[1:], separator)
		}
		switch {
		case at < 1:
			return nil, false
		case long:
			values[last], text, last = text[at+len(separator):], text[:at], last-1
		default:
			values[first], text, first = text[:at], text[at+len(separator):], first+1
		}
	}
	values[first] = text
	return values, begins && ends && text != ""
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
			addr, err := p.parseTypedAddr(decode(typed))
			if err != nil {
				return "", err
			}
			key = p.appendAddr(key, addr)
		default:
			key = appendValue(key, decode(typed))
		}
	}
	return t.whole(key), nil
}

// whole returns a key before it is hashed. A plain key is cut if it is too long.
func (t *Template) whole(key []byte) string {
	if t.Hash == nil {
		key = bounded(key, 0)
	}
	return string(key)
}

// Stored returns the form that counters, tables and logs have of a key that
// Read returned. The error is ErrHashSecret.
func (t *Template) Stored(key string) (string, error) {
	switch {
	case t.Hash == nil:
		return key, nil
	case t.Hash.Missing != nil: // also for a hash: the document may have an override of its key
		return "", fmt.Errorf("%w: %w", ErrHashSecret, t.Hash.Missing)
	}
	return t.Hash.Of(key), nil
}

// Translate returns the stored key by t of a caller whose key by another
// template is known, as Read returned it. It takes values from that key, else
// from the credentials of the request. missing are the sources, such as
// "jwt.tenant", that neither has.
func (t *Template) Translate(key string, by *Template, req *request.Request) (stored string, missing []string, err error) {
	values, _ := by.split(key) // none if it is a hash, or ends in one
	if len(values) == 0 && slices.Equal(t.Parts, by.Parts) && (t.Hash == nil) == (by.Hash == nil) {
		stored, err = t.Stored(key)
		return stored, nil, err
	}
	known := map[Part]string{}
	for _, p := range by.Parts {
		if p.Kind != Literal && len(values) > 0 {
			known[p], values = values[0], values[1:]
		}
	}
	var made []byte
	for _, p := range t.Parts {
		text, inRequest := p.Value(req)
		switch value, inKey := known[p]; {
		case p.Kind == Literal:
			made = append(made, p.Text...)
		case inKey:
			made = append(made, value...)
		case inRequest && p.OfCredentials():
			made = appendValue(made, text)
		default:
			missing = append(missing, p.String())
		}
	}
	if len(missing) > 0 {
		return "", missing, nil
	}
	stored, err = t.Stored(t.whole(made))
	return stored, nil, err
}
