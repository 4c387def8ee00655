package ruletable

import (
	"bytes"
	"encoding/json"
)

// JSONText is a JSON value as the table has it, such as the document of an
// override or the claims of an API key; "" for none. Reports have the value
// itself, and a text only for one that is no JSON.
type JSONText string

// MarshalJSON writes the value itself.
func (o JSONText) MarshalJSON() ([]byte, error) {
	if json.Valid([]byte(o)) {
		return []byte(o), nil
	}
	return json.Marshal(string(o))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *JSONText) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(o))
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, data)
	*o = JSONText(compact.String())
	return err
}
