package rules

import (
	"encoding/json"
	"strconv"
	"strings"
)

// claim returns a claim of the request's token: by its exact name, or by a JSON
// Pointer (RFC 6901) if the name begins with a slash; nil for none.
func (r *Request) claim(name string) any {
	if r.Rejected {
		return nil
	}
	if !strings.HasPrefix(name, "/") {
		return r.Claims[name]
	}
	var at any = r.Claims
	for rest := name; rest != ""; {
		token, after, more := strings.Cut(rest[1:], "/")
		if rest = ""; more {
			rest = "/" + after
		}
		at = child(at, unescapePointer(token))
	}
	return at
}

func child(of any, name string) any {
	switch v := of.(type) {
	case map[string]any:
		return v[name]
	case []any:
		i, err := strconv.ParseUint(name, 10, 31)
		if err == nil && int(i) < len(v) && strconv.FormatUint(i, 10) == name {
			return v[i]
		}
	}
	return nil
}

func unescapePointer(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// plain returns the text of a claim that is a string, a number or a boolean; ok
// is false for anything else. Numbers keep the text that was sent.
func plain(claim any) (text string, ok bool) {
	switch v := claim.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// only returns the one value that the request has for a source. ok is false if
// it has none, several, or a value that is no text. The route and the address
// have forms of their own in keys, and none here.
func (p *part) only(r *Request) (text string, ok bool) {
	one := func(values []string) (string, bool) {
		if len(values) != 1 {
			return "", false
		}
		return values[0], true
	}
	switch p.source {
	case fromClaim:
		return plain(r.claim(p.text))
	case fromAPIKey:
		if r.Rejected {
			return "", false
		}
		return r.APIKey, r.APIKey != ""
	case fromHeader:
		return one(r.header(p.text))
	case fromQuery:
		return one(r.Query[p.text])
	case fromPath:
		text, ok = r.PathParams[p.text]
		return text, ok
	case fromMethod:
		return r.Method, true
	case fromStage:
		return r.Stage, r.Stage != ""
	}
	return p.text, p.source == literal
}

// each calls yield with every text that a condition on the source compares,
// case-sensitively: the entries of a claim that is a list, the words of scope,
// which spaces separate (RFC 8693, section 4.2), else the one value.
func (p *part) each(r *Request, yield func(text string)) {
	if p.source != fromClaim {
		if text, ok := p.only(r); ok {
			yield(text)
		}
		return
	}
	claim := r.claim(p.text)
	if list, ok := claim.([]any); ok {
		for _, entry := range list {
			if text, ok := plain(entry); ok {
				yield(text)
			}
		}
		return
	}
	switch text, ok := plain(claim); {
	case !ok:
	case p.text == "scope" || p.text == "/scope":
		for word := range strings.FieldsSeq(text) {
			yield(word)
		}
	default:
		yield(text)
	}
}

// condition holds for requests whose value of a source is one of several.
type condition struct {
	part  part
	words []string
}

func (c *condition) holds(r *Request) (holds bool) {
	c.part.each(r, func(text string) { holds = holds || c.names(text) })
	return holds
}

func (c *condition) names(text string) bool {
	for _, w := range c.words {
		if w == text {
			return true
		}
	}
	return false
}

// caller says which credentials a request has; a selector combines several.
type caller uint8

const (
	anonymous caller = 1 << iota // no credentials
	known                        // verified ones
	rejected                     // invalid ones
)

var callers = []string{"anonymous", "known", "rejected"}

func (r *Request) caller() caller {
	switch {
	case r.Rejected:
		return rejected
	case r.Claims != nil || r.APIKey != "":
		return known
	}
	return anonymous
}
