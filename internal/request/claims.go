package request

import (
	"encoding/json"
	"reflect"
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
	for token := range strings.SplitSeq(name[1:], "/") {
		at = child(at, strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
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
	// A Go program may pass on types of its own, such as an int64.
	switch v := reflect.ValueOf(claim); {
	case v.Kind() == reflect.String:
		return v.String(), true
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), true
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10), true
	}
	return "", false
}

// The kinds of callers, by their credentials, as rules documents name them.
const (
	Anonymous = "anonymous" // no credentials
	Known     = "known"     // verified ones
	Rejected  = "rejected"  // invalid ones
)

// Caller returns Anonymous, Known or Rejected.
func (r *Request) Caller() string {
	switch {
	case r.Rejected:
		return Rejected
	case r.Claims != nil || r.APIKey != "":
		return Known
	}
	return Anonymous
}
