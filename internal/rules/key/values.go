package key

import (
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

// MakesSameKeys reports whether two templates make the same keys.
func (t *Template) MakesSameKeys(other *Template) bool {
	return slices.Equal(t.Parts, other.Parts) && (t.Hash == nil) == (other.Hash == nil)
}

// Values returns the values in a key, escaped; readable is false for a key that
// is a hash or ends in one.
func (t *Template) Values(key string) (values map[Part]string, readable bool) {
	if IsHashed(key) || t.Hash == nil && len(key) == MaxLen {
		return nil, false
	}
	return t.split(key), true
}

// Fill makes a key of values, and of the credentials in a request for sources
// without one. missing are the sources that neither has.
func (t *Template) Fill(values map[Part]string, req *request.Request) (key []byte, missing []string) {
	for _, p := range t.Parts {
		text, inRequest := p.Value(req)
		switch value, inKey := values[p]; {
		case p.Kind == Literal:
			key = append(key, p.Text...)
		case inKey:
			key = append(key, value...)
		case inRequest && p.ofCredentials():
			key = appendValue(key, text)
		default:
			missing = append(missing, p.String())
		}
	}
	return key, missing
}

// split splits a key that fits the template. Values stay escaped.
func (t *Template) split(key string) map[Part]string {
	values := map[Part]string{}
	for _, p := range t.Parts {
		n := len(p.Text)
		if p.Kind != Literal {
			if n = strings.IndexAny(key, ":|"); n < 0 {
				n = len(key)
			}
			values[p] = key[:n]
		}
		key = key[n:]
	}
	return values
}

// Outline formats what all keys of the template have in common: the text around
// their values.
func (t *Template) Outline() string {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Kind == Literal {
			b.WriteString(p.Text)
		} else {
			b.WriteString("{}")
		}
	}
	return b.String()
}
