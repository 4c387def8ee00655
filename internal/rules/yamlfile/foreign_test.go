package yamlfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// foreignDoc is a format of another program.
type foreignDoc struct {
	Name  string            `json:"name"`
	Count *int64            `json:"count"`
	On    bool              `json:"on"`
	Items []foreignDoc      `json:"items"`
	Rates map[string]string `json:"rates"`
	Other any               `json:"other"`
}

// Foreign formats state texts without quotes, and null for no value.
func TestDecodeForeign(t *testing.T) {
	var got foreignDoc
	text := "{name: 007, count: null, on: null, items: [{name: True}, {name: 1e3}, {name: .inf}, {name: ~}, {name: x}], rates: {a: -1.0, b: null}, other: null}"
	if _, err := DecodeForeign("f", []byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := foreignDoc{Name: "007", Items: []foreignDoc{{Name: "True"}, {Name: "1e3"}, {Name: ".inf"}, {}, {Name: "x"}}, Rates: map[string]string{"a": "-1.0", "b": ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeForeignErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"{name: [x]}", "f:1:8: name: must be text, and is a list"},
		{"{items: 7}", "f:1:9: items: must be a list, and is a number"},
		{"{rates: x}", "f:1:9: rates: must be a map, and is text"},
		{"{on: 1}", "f:1:6: on: must be true or false, and is a number"},
		{"{count: 1.5}", "f:1:9: count: must be a whole number in plain digits without quotes, such as 10"},
		{"{items: [null]}", ""},
	} {
		_, err := DecodeForeign("f", []byte(tt.text), &foreignDoc{})
		if err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}
