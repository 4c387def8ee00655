package ruletable

import "encoding/json"

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
