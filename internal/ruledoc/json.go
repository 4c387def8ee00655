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
func Unmarshal(data []byte) (*Document, error) {
	d := &Document{}
	if err := decodeStrict(data, d); err != nil {
		return nil, fmt.Errorf("rules document: %w", err)
	}
	return d, nil
}

// Marshal writes a document as JSON. The same document always gives the same
// bytes.
func Marshal(d *Document) ([]byte, error) { return marshal(d) }

// UnmarshalOverride reads one override as MarshalOverride writes it. It refuses
// unknown fields, as Unmarshal does.
func UnmarshalOverride(data []byte) (*Override, error) {
	o := &Override{}
	if err := decodeStrict(data, o); err != nil {
		return nil, fmt.Errorf("not the JSON of an override: %w", err)
	}
	return o, nil
}

// MarshalOverride writes one override as JSON.
func MarshalOverride(o *Override) ([]byte, error) { return marshal(o) }

// marshal is json.Marshal, but leaves <, > and & readable.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

func marshalSome[E ~string](values []E) ([]byte, error) {
	if len(values) == 1 {
		return marshal(values[0])
	}
	return marshal(values)
}

func unmarshalSome(data []byte, to *[]string, one func(json.RawMessage) (string, error)) error {
	raws := []json.RawMessage{data}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
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

func isText(data []byte) bool   { return bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) }
func isObject(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) }
