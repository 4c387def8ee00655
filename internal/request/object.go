package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// ErrNoObject is the error of another JSON value.
var ErrNoObject = errors.New("no JSON object")

// ParseObject returns the only value of a text, a JSON object in which no object
// repeats a name. Readers of JSON differ in which of the values they take, and a
// client must not show one of them to a limiter and the other to a server. Numbers
// keep all their digits. ParseObject fails with a *json.SyntaxError, ErrNoObject or
// a *RepeatedError.
func ParseObject(data []byte) (map[string]any, error) {
	var value any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&value); err != nil || len(bytes.TrimLeft(data[d.InputOffset():], " \t\r\n")) > 0 {
		var whole json.RawMessage
		return nil, json.Unmarshal(data, &whole) // whose errors also have the place of what follows the value
	}
	if written(data) > kept(value) {
		return nil, repeated(json.NewDecoder(bytes.NewReader(data)))
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, ErrNoObject
	}
	return object, nil
}

// written returns the number of names in a valid JSON text: each has a colon.
func written(data []byte) (names int) {
	text := false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			text = !text
		case '\\':
			i++ // an escape, which only texts have
		case ':':
			if !text {
				names++
			}
		}
	}
	return names
}

// kept returns the number of names in a decoded value. It has one of those that an
// object repeats.
func kept(value any) (names int) {
	switch v := value.(type) {
	case map[string]any:
		names = len(v)
		for _, member := range v {
			names += kept(member)
		}
	case []any:
		for _, item := range v {
			names += kept(item)
		}
	}
	return names
}

// RepeatedError is the error of an object that repeats a name.
type RepeatedError struct{ path []string } // innermost first

func (e *RepeatedError) Error() string { return e.Pointer() + " is there twice" }

// Pointer returns the place of the name.
func (e *RepeatedError) Pointer() string {
	var pointer strings.Builder
	for _, step := range slices.Backward(e.path) {
		pointer.WriteString("/" + EscapePointer(step))
	}
	return pointer.String()
}

// repeated reads the next value, which must be valid JSON. It returns the first
// name that an object in it repeats; nil for none.
func repeated(d *json.Decoder) *RepeatedError {
	open, _ := d.Token()
	if open != json.Delim('{') && open != json.Delim('[') {
		return nil
	}
	names := map[string]bool{}
	for i := 0; d.More(); i++ {
		step := strconv.Itoa(i)
		if open == json.Delim('{') {
			name, _ := d.Token()
			step = name.(string)
			if names[step] {
				return &RepeatedError{[]string{step}}
			}
			names[step] = true
		}
		if twice := repeated(d); twice != nil {
			twice.path = append(twice.path, step)
			return twice
		}
	}
	_, _ = d.Token() // the end
	return nil
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// EscapePointer returns a name as a part of a JSON Pointer (RFC 6901).
func EscapePointer(name string) string { return escapes.Replace(name) }
