package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// jsonl reads an object on each line. Its fields:
//
//	time     RFC 3339, or Unix seconds as a number or a string; fractions are kept to the nanosecond. Required.
//	method   GET where it is missing
//	path     as sent, with the query string if there was one; / where it is missing
//	ip       the client's address; unknown where it is missing, empty or "-"
//	headers  an object of strings, or of lists of strings
//	route    the gateway's template, such as "/users/{id}"
//	apikey   the id of a verified API key, never the key itself
//	jwt      the claims of a verified token, an object; also an empty one makes its caller known
//
// Other fields are passed over.
type jsonl struct{}

var (
	errHeaders = errors.New("headers are strings or lists of strings, by name")
	errClaims  = errors.New("jwt is the claims of a token, an object, and not the token itself")
)

type jsonLine struct {
	Time    json.RawMessage       `json:"time"`
	Method  string                `json:"method"`
	Path    string                `json:"path"`
	IP      string                `json:"ip"`
	Route   string                `json:"route"`
	Headers map[string]jsonValues `json:"headers"`
	APIKey  string                `json:"apikey"`
	JWT     jsonClaims            `json:"jwt"`
}

func (jsonl) parse(line string) (*Entry, error) {
	var j jsonLine
	if err := json.Unmarshal([]byte(line), &j); err != nil {
		return nil, plainly(err)
	}
	f := fields{method: j.Method, target: j.Path, ip: j.IP, route: j.Route, apiKey: j.APIKey, claims: j.JWT}
	var err error
	if f.time, err = jsonTime(j.Time); err != nil {
		return nil, err
	}
	if len(j.Headers) > 0 {
		f.headers = make(map[string][]string, len(j.Headers))
		for name, values := range j.Headers {
			f.headers[name] = values
		}
	}
	return f.entry()
}

// jsonTime keeps a number's digits: a float would lose nanoseconds.
func jsonTime(raw json.RawMessage) (time.Time, error) {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return time.Time{}, err
		}
	}
	if text == "null" {
		return time.Time{}, errNoTime
	}
	return parseTime(text)
}

// jsonValues is a header's values: one string or a list of them.
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

// jsonClaims are claims whose numbers keep their digits, as those of a token that a gateway has verified do.
type jsonClaims map[string]any

// UnmarshalJSON reads an object; null is no token.
func (c *jsonClaims) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode((*map[string]any)(c)) != nil {
		return errClaims
	}
	return nil
}

// plainly says what is wrong with a line without speaking of Go's types.
func plainly(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return errors.New("line is no JSON object")
	case errors.As(err, &kind):
		return fmt.Errorf("field %s is of the wrong type: %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("line is no JSON: %w", err)
	}
	return err
}
