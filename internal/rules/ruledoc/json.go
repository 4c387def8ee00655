package ruledoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
