package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

var (
	errHeaders = errors.New("headers are strings or lists of strings, by name")
	errNGINX   = errors.New("JSON with names of NGINX's variables: give its log_format by --log-format")
	errMessage = errors.New("a message of a program's log: it has no method and no path")
	errClaims  = errors.New("jwt is the claims of a token, an object, and not the token itself")
)

// jsonLine is a line of JSON Lines, an object with the fields of record and
// these. It may have other fields, which are ignored.
type jsonLine struct {
	record
	// Time is RFC 3339, or Unix seconds as a number or a string, with any
	// fraction down to the nanosecond. It is required.
	Time    json.RawMessage       `json:"time"`
	Headers map[string]jsonValues `json:"headers"`
	// Remote is a name of NGINX's variables, which JSON Lines does not have.
	Remote any `json:"remote_addr"`
	// Level and Message mark a line of a program's log, such as that of
	// slidegate serve.
	Level   any `json:"level"`
	Message any `json:"msg"`
}

// decisionMessage is the message of the lines in which serve logs decisions.
const decisionMessage = "decision"

// isDecision reports whether the line is a decision in the log of serve.
func (j *jsonLine) isDecision() bool { return j.Level != nil && j.Message == decisionMessage }

// isMessage reports whether the line is one of a program's log about anything
// but a request.
func (j *jsonLine) isMessage() bool {
	return j.Level != nil && j.Message != nil && !j.isDecision() && j.Method == "" && j.Target == ""
}

func parseJSONL(line string, r *record) (_ bool, err error) {
	var j jsonLine
	if err := json.Unmarshal([]byte(line), &j); err != nil {
		return false, plainError(err)
	}
	if j.isMessage() {
		return false, errMessage
	}
	if j.Remote != nil && j.IP == "" {
		return false, errNGINX
	}
	if j.time, err = jsonTime(j.Time); err != nil {
		if o, _ := parseObject(line); errors.Is(err, errNoTime) {
			err = noTime([]string{"time"}, o)
		}
		return false, err
	}
	for name, values := range j.Headers {
		for _, value := range values {
			if value != absent || j.isDecision() {
				j.headers = append(j.headers, header{name, value})
			}
		}
	}
	j.bytes = r.bytes
	*r = j.record
	r.dropAbsent()
	r.Target = belowStage(r.Target, r.Stage, r.Route)
	return true, r.check()
}

// dropAbsent drops the values that API Gateway logs as absent. Without any claim
// there is no token.
func (r *record) dropAbsent() {
	for _, text := range []*string{&r.Method, &r.Target, &r.Route, &r.APIKey, &r.Stage} {
		if *text == absent {
			*text = ""
		}
	}
	stated := len(r.Claims)
	if maps.DeleteFunc(r.Claims, func(_ string, claim any) bool { return claim == absent }); stated > 0 && len(r.Claims) == 0 {
		r.Claims = nil
	}
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
	return target[len("/"+stage):] // SplitTarget makes "/" of an empty path
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
		text = ""
	}
	return parseTime(text)
}

// UnmarshalJSON reads a number or a text, as API Gateway logs it.
func (s *status) UnmarshalJSON(data []byte) error {
	*s = statusOf(strings.Trim(string(data), `"`))
	return nil
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
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return errors.New("line is not a JSON object")
		}
		return fmt.Errorf("field %s is of the wrong type: %s", e.Field[strings.LastIndexByte(e.Field, '.')+1:], e.Value)
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line is not JSON: %w", err)
	}
	return err
}
