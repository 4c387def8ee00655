// Package strictjson reads JSON in which no object repeats a name. Readers of
// JSON differ in which of the values they take, and a client must not show one of
// them to a limiter and the other to a server.
package strictjson

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

// Object returns the only value of a text, a JSON object. Numbers keep all their
// digits. Object fails with a *json.SyntaxError, ErrNoObject or a *RepeatedError.
func Object(data []byte) (map[string]any, error) {
	var whole json.RawMessage // also bounds the depth
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	value, err := readValue(decoder)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, ErrNoObject
	}
	return object, nil
}

// RepeatedError is the error of an object that repeats a name.
type RepeatedError struct{ path []string } // innermost first

func (e *RepeatedError) Error() string { return e.Pointer() + " is there twice" }

// Pointer returns the place of the name.
func (e *RepeatedError) Pointer() string {
	var pointer strings.Builder
	for _, step := range slices.Backward(e.path) {
		pointer.WriteString("/" + Escape(step))
	}
	return pointer.String()
}

// within adds a step to the path of a repeated name.
func within(step string, err error) error {
	if twice, ok := errors.AsType[*RepeatedError](err); ok {
		twice.path = append(twice.path, step)
	}
	return err
}

// readValue reads a value as encoding/json does, but refuses repeated names.
func readValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	switch {
	case err != nil:
		return nil, err
	case token == json.Delim('{'):
		return readMembers(d)
	case token == json.Delim('['):
		return readItems(d)
	}
	return token, nil
}

func readMembers(d *json.Decoder) (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if _, repeated := object[name]; repeated {
			return nil, &RepeatedError{[]string{name}}
		}
		if object[name], err = readValue(d); err != nil {
			return nil, within(name, err)
		}
	}
	_, err := d.Token() // the end
	return object, err
}

func readItems(d *json.Decoder) (any, error) {
	list := []any{}
	for d.More() {
		item, err := readValue(d)
		if err != nil {
			return nil, within(strconv.Itoa(len(list)), err)
		}
		list = append(list, item)
	}
	_, err := d.Token() // the end
	return list, err
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// Escape returns a name as a part of a JSON Pointer (RFC 6901).
func Escape(name string) string { return escapes.Replace(name) }
