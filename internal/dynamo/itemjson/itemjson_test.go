package itemjson

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// FuzzAttributes reads any body. What Attributes reads, encoding/json reads too.
func FuzzAttributes(f *testing.F) {
	for _, body := range []string{
		`{"Attributes":{"k":{"S":"key"},"aC":{"N":"12"},"aL":{"B":"AAH/"}}}`, `{}`, `{"Attributes":{}}`, ``, `{"Attributes":`,
		"\t{\"Attributes\" : {\"a\":{\"N\":\"1\"} , \"b\" : {\"N\":\"2\"}}}\r\n", `{"Attributes":{"a":{"N":"1"},}}`,
		`{"Attributes":{"a":{"S":"\u0041"}}}`, `{"Attributes":{"a":{"BOOL":true}}}`, `{"Attributes":{}}{}`, `{"Other":{}}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, ok := Attributes([]byte(body))
		if !ok || !utf8.ValidString(body) {
			return
		}
		var want struct{ Attributes map[string]map[string]string }
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if len(got) != len(want.Attributes) {
			t.Fatalf("%q: %d attributes, want %d", body, len(got), len(want.Attributes))
		}
		for name, value := range want.Attributes {
			for kind, text := range value {
				if !reflect.DeepEqual(got[name], attribute(kind, text)) {
					t.Errorf("%q: %s is %#v", body, name, got[name])
				}
			}
		}
	})
}

func attribute(kind, text string) types.AttributeValue {
	switch kind {
	case "N":
		return &types.AttributeValueMemberN{Value: text}
	case "S":
		return &types.AttributeValueMemberS{Value: text}
	}
	b, _ := base64.StdEncoding.DecodeString(text)
	return &types.AttributeValueMemberB{Value: b}
}
