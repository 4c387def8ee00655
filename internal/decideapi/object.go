package decideapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readObject reads a JSON object. Numbers keep all their digits.
func readObject(body []byte) (map[string]any, *problem) {
	const want = `want a JSON object, such as {"method": "GET", "path": "/v1/items", "ip": "203.0.113.9"}`
	if !utf8.Valid(body) {
		return nil, badRequest("", "the body is not UTF-8, as JSON has to be")
	}
	var whole json.RawMessage // also bounds the depth
	if err := json.Unmarshal(body, &whole); err != nil {
		at := int64(0)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		}
		return nil, badRequest("", fmt.Sprintf("the body is no JSON: %v at byte %d: %s", err, at, want))
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := readValue(decoder)
	if twice, ok := errors.AsType[*repeatedError](err); ok {
		return nil, badRequest(twice.pointer(), "the name is there twice: remove one of them")
	}
	object, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil, badRequest("", want)
	}
	return object, nil
}

// repeatedError is the error of an object that repeats a name. Readers of JSON
// differ in which of the values they take.
type repeatedError struct{ path []string } // innermost first

func (e *repeatedError) Error() string { return e.pointer() + " is there twice" }

func (e *repeatedError) pointer() string {
	var pointer strings.Builder
	for _, step := range slices.Backward(e.path) {
		pointer.WriteString("/" + pointerEscapes.Replace(step))
	}
	return pointer.String()
}

// within adds a step to the path of a repeated name.
func within(step string, err error) error {
	if twice, ok := errors.AsType[*repeatedError](err); ok {
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
			return nil, &repeatedError{[]string{name}}
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

// pointerEscapes are those of a JSON Pointer (RFC 6901).
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
