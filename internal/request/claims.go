package request

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Claim returns a claim of the request's token: by its exact name, or by a JSON
// Pointer (RFC 6901) if the name begins with a slash; nil for none.
func (r *Request) Claim(name string) any {
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

// Plain returns the text of a claim that is a string, a number or a boolean; ok
// is false for anything else. Numbers keep the text that was sent.
func Plain(claim any) (text string, ok bool) {
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

// Caller says which credentials a request has; a selector combines several.
type Caller uint8

// The kinds of callers, a bit each.
const (
	Anonymous Caller = 1 << iota // no credentials
	Known                        // verified ones
	Rejected                     // invalid ones
)

// Callers are the names of callers, in the order of their bits.
var Callers = []string{"anonymous", "known", "rejected"}

// Caller returns which credentials the request has.
func (r *Request) Caller() Caller {
	switch {
	case r.Rejected:
		return Rejected
	case r.Claims != nil || r.APIKey != "":
		return Known
	}
	return Anonymous
}

// String returns the names of the callers, such as "anonymous or known".
func (c Caller) String() string {
	var names []string
	for i, name := range Callers {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// ParseCallers returns the callers that are named; 0 for all three, which is
// as good as none.
func ParseCallers(names []string) (named Caller) {
	for _, name := range names {
		if i := slices.Index(Callers, name); i >= 0 {
			named |= 1 << i
		}
	}
	if named == Anonymous|Known|Rejected {
		return 0
	}
	return named
}
