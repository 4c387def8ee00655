package ruledoc

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Texts is a list of texts. A document may write a single one without a list.
type Texts []string

// MarshalJSON writes a single text alone.
func (t Texts) MarshalJSON() ([]byte, error) { return marshalSome(t) }

// UnmarshalJSON reads a text or a list of texts.
func (t *Texts) UnmarshalJSON(data []byte) error {
	return unmarshalSome(data, (*[]string)(t), func(raw json.RawMessage) (text string, err error) {
		return text, json.Unmarshal(raw, &text)
	})
}

// Forms returns the forms of Texts.
func (Texts) Forms() any {
	return struct {
		One  string
		Some []string `items:"1 0"`
	}{}
}

// Words is a list of values to compare claims with. A document may write a
// single one without a list, and numbers and booleans without quotes, which
// compare by their text.
type Words []string

// MarshalJSON writes a single word alone.
func (w Words) MarshalJSON() ([]byte, error) { return marshalSome(w) }

// UnmarshalJSON reads a text, a number, a boolean, or a list of them.
func (w *Words) UnmarshalJSON(data []byte) error {
	return unmarshalSome(data, (*[]string)(w), scalarText)
}

// Forms returns the forms of Words. Values of the kind scalar may be numbers
// and booleans too, which count as the text that the file has.
func (Words) Forms() any {
	return struct {
		One  string   `kind:"scalar"`
		Some []string `kind:"scalar" items:"1 0"`
	}{}
}

// Statuses is a list of HTTP statuses such as "404" and classes such as "5xx".
// A document may write a single one without a list, and statuses as numbers.
type Statuses []string

// MarshalJSON writes a single status alone, and statuses such as 404 as
// numbers, which is how documents have them.
func (s Statuses) MarshalJSON() ([]byte, error) {
	statuses := make([]status, len(s))
	for i, text := range s {
		statuses[i] = status(text)
	}
	return marshalSome(statuses)
}

// UnmarshalJSON reads a status, a class, or a list of them.
func (s *Statuses) UnmarshalJSON(data []byte) error {
	return unmarshalSome(data, (*[]string)(s), scalarText)
}

// Forms returns the forms of Statuses.
func (Statuses) Forms() any {
	return struct {
		Class string   `pattern:"^[1-5]xx$"`
		Code  int64    `range:"100 599"`
		Some  []status `items:"1 0"`
	}{}
}

// status is one entry of Statuses.
type status string

// Forms returns the forms of a status.
func (status) Forms() any {
	return struct {
		Class string `pattern:"^[1-5]xx$"`
		Code  int64  `range:"100 599"`
	}{}
}

// MarshalJSON writes a number for a status of digits, and a text for a class.
func (s status) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseUint(string(s), 10, 16); err == nil {
		return marshal(n)
	}
	return marshal(string(s))
}

// UnmarshalJSON reads a status or a class.
func (s *status) UnmarshalJSON(data []byte) error {
	text, err := scalarText(data)
	*s = status(text)
	return err
}

func marshalSome[E ~string](values []E) ([]byte, error) {
	if len(values) == 1 {
		return marshal(values[0])
	}
	return marshal(values)
}

func unmarshalSome(data []byte, to *[]string, one func(json.RawMessage) (string, error)) error {
	raws := []json.RawMessage{data}
	if begins(data, '[') {
		if err := json.Unmarshal(data, &raws); err != nil {
			return err
		}
	}
	*to = make([]string, len(raws))
	for i, raw := range raws {
		var err error
		if (*to)[i], err = one(raw); err != nil {
			return err
		}
	}
	return nil
}

// scalarText returns the text of a JSON string, or a number or boolean as it is
// written.
func scalarText(raw json.RawMessage) (text string, err error) {
	if isText(raw) {
		return text, json.Unmarshal(raw, &text)
	}
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return "", fmt.Errorf("%s is not a text, a number or a boolean", raw)
	}
	return string(raw), nil
}
