package logs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

var (
	errSpread    = errors.New("JSON without an object on each line: jq -c . FILE writes one, and jq -c '.[]' FILE those of a list")
	errTextFirst = errors.New("other text stands before the JSON: cut it by sed 's/^[^{]*//', or, if the time is in it, have the server write JSON alone, as Caddy's format json does")
	errInCSV     = errors.New(`the lines are values of a CSV file: take them out by sed -E 's/^[^,]*,"?//; s/"$//; s/""/"/g'`)
	errUnknown   = errors.New("is in no known format: name it by --format, or NGINX's log_format by --log-format")
	errHeaders   = errors.New("headers are strings or lists of strings, by name")
	errNGINX     = errors.New("JSON with remote_addr in place of ip: rename it by jq -c '.ip = .remote_addr', or give NGINX's log_format by --log-format")
	errClaims    = errors.New("jwt is the claims of a token, an object, and not the token itself")
)

// jsonLines has the fields of JSON Lines, which CSV has too. Its time is RFC 3339,
// or Unix seconds with any fraction down to the nanosecond.
var jsonLines = table{
	times: []timeField{{"time", anyTime}},
	path:  []string{"path"},
	fields: []field{
		{[]string{"method"}, setMethod},
		{[]string{"ip"}, setIP},
		{[]string{"route"}, setRoute},
		{[]string{"status"}, setStatus},
		{[]string{"apikey"}, setAPIKey},
		{[]string{"stage"}, setStage},
	},
	finish: func(l namedFields, r *record) error {
		o, _ := l.(jsonObject)
		if o.value("remote_addr") != "" && r.IP == "" {
			return errNGINX
		}
		var headers map[string]jsonValues
		if err := cmp.Or(o.decode("headers", &headers), o.decode("jwt", &r.Claims), o.decode("path_params", &r.PathParams)); err != nil {
			return err
		}
		isDecision := o.value("msg") == decisionMessage && o.value("level") != ""
		for name, values := range headers {
			for _, value := range values {
				if value != absent || isDecision {
					r.headers = append(r.headers, header{name, value})
				}
			}
		}
		stated := len(r.Claims) // API Gateway logs "-" for a claim that is absent, and without any there is no token
		if maps.DeleteFunc(r.Claims, func(_ string, claim any) bool { return claim == absent }); stated > 0 && len(r.Claims) == 0 {
			r.Claims = nil
		}
		return nil
	},
}

// decisionMessage is the message of the lines in which serve logs decisions. It
// logs headers as they were sent, and none as "-" for absent.
const decisionMessage = "decision"

// decode reads a field that is an object; nothing if it is missing.
func (o jsonObject) decode(name string, into any) error {
	if o[name] == nil {
		return nil
	}
	err := json.Unmarshal(o[name], into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("field %s is of the wrong type: %s", name, wrong.Value)
	}
	return err
}

// belowStage removes the stage from the beginning of a target. API Gateway logs
// paths with it, and rules see paths without it. A path of as many segments as
// its route does not begin with the stage.
func belowStage(target, stage, route string) string {
	path, _, _ := strings.Cut(target, "?")
	segments := func(path string) int { return strings.Count(strings.TrimSuffix(path, "/"), "/") }
	if stage == "" || !strings.HasPrefix(path+"/", "/"+stage+"/") || segments(path) == segments(route) {
		return target
	}
	return target[len("/"+stage):] // SetTarget makes "/" of an empty path
}

// jsonValues are a header's values: one string or a list of them.
type jsonValues []string

// UnmarshalJSON reads either form; null is no value.
func (v *jsonValues) UnmarshalJSON(data []byte) error {
	var one *string
	if json.Unmarshal(data, &one) == nil {
		if one != nil {
			*v = jsonValues{*one}
		}
		return nil
	}
	if json.Unmarshal(data, (*[]string)(v)) != nil {
		return errHeaders
	}
	return nil
}

// claims are the claims of a token. Numbers keep all their digits, as in a token
// that a gateway has verified.
type claims map[string]any

// UnmarshalJSON reads an object, also an empty one; null is no token.
func (c *claims) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode((*map[string]any)(c)) != nil {
		return errClaims
	}
	return nil
}

// plainError explains a line that does not fit, without the names of Go types.
func plainError(err error) error {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return errors.New("line is not a JSON object")
	}
	return fmt.Errorf("line is not JSON: %w", err)
}
