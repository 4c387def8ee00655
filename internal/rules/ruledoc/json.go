package ruledoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Unmarshal reads a document as Marshal and published versions write it. It
// refuses fields that it does not know: an older process must not misread
// rules written for a newer one.
func Unmarshal(data []byte) (*Document, error) { return unmarshal[Document](data, "rules document") }

// Marshal writes a document or an override as JSON. The same value always gives
// the same bytes.
func Marshal[T Document | Override](v *T) ([]byte, error) { return marshal(v) }

// UnmarshalOverride reads one override as Marshal writes it. It refuses
// unknown fields, as Unmarshal does.
func UnmarshalOverride(data []byte) (*Override, error) {
	return unmarshal[Override](data, "not the JSON of an override")
}

func unmarshal[T any](data []byte, message string) (*T, error) {
	v := new(T)
	if err := decodeStrict(data, v); err != nil {
		return nil, fmt.Errorf("%s: %w", message, err)
	}
	return v, nil
}

// marshal is json.Marshal, but leaves <, > and & readable.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// marshalForm writes a value in the form that it has.
func marshalForm(u Union) ([]byte, error) { return marshal(formsIn(u)[0].value.Interface()) }

func decodeStrict(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text after the end of the document")
	}
	return nil
}

// unmarshalForm reads JSON that begins with mark into form, and other JSON into
// other.
func unmarshalForm(data []byte, mark byte, form, other any) error {
	if begins(data, mark) {
		return decodeStrict(data, form)
	}
	return json.Unmarshal(data, other)
}

func isText(data []byte) bool { return begins(data, '"') }

func begins(data []byte, mark byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == mark
}

// List is a list of texts, which documents have in the forms of E. A document
// may write a single one without a list.
type List[E ~string] []string

// Texts is a list of texts.
type Texts = List[string]

// Words is a list of values to compare claims with. Documents may write numbers
// and booleans without quotes, which compare by their text.
type Words = List[word]

// Statuses is a list of HTTP statuses such as "404" and classes such as "5xx".
// Documents write statuses as numbers.
type Statuses = List[status]

// MarshalJSON writes a single entry alone.
func (l List[E]) MarshalJSON() ([]byte, error) {
	entries := make([]E, len(l))
	for i, text := range l {
		entries[i] = E(text)
	}
	if len(entries) == 1 {
		return marshal(entries[0])
	}
	return marshal(entries)
}

// UnmarshalJSON reads an entry or a list of entries.
func (l *List[E]) UnmarshalJSON(data []byte) error {
	entries := make([]E, 1)
	if err := unmarshalForm(data, '[', &entries, &entries[0]); err != nil {
		return err
	}
	*l = make(List[E], len(entries))
	for i, entry := range entries {
		(*l)[i] = string(entry)
	}
	return nil
}

// Forms returns the forms of a List.
func (List[E]) Forms() any {
	return struct {
		One  E
		Some []E `items:"1 0"`
	}{}
}

// word is one entry of Words.
type word string

// Forms returns the form of a word. Numbers and booleans count as the text
// that the file has.
func (word) Forms() any {
	return struct {
		Text string `scalar:"true"`
	}{}
}

// UnmarshalJSON reads a text, or a number or boolean as it is written.
func (w *word) UnmarshalJSON(data []byte) error { return unmarshalScalar(data, (*string)(w)) }

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
func (s *status) UnmarshalJSON(data []byte) error { return unmarshalScalar(data, (*string)(s)) }

// unmarshalScalar reads the text of a JSON string, or a number or boolean as it
// is written.
func unmarshalScalar(data []byte, text *string) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, text)
	case '{', '[', 'n':
		return fmt.Errorf("%s is not a text, a number or a boolean", data)
	}
	*text = string(data)
	return nil
}
