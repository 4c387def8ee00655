package decideapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const documentFile = "openapi.json"

// document is the part of openapi.json that tests read.
type document struct {
	Paths map[string]map[string]struct {
		RequestBody struct {
			Content map[string]media `json:"content"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Content map[string]media `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
}

type media struct {
	Examples map[string]struct {
		Value any `json:"value"`
	} `json:"examples"`
}

func readDocument(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestExamples sends every example of a request, in the order of their names.
// The example of the answer has the same name.
func TestExamples(t *testing.T) {
	operation := read[document](t, readDocument(t)).Paths["/v1/decisions"]["post"]
	h, answered := newAPI(t, exampleRules(t)), 0
	for _, name := range slices.Sorted(maps.Keys(operation.RequestBody.Content["application/json"].Examples)) {
		body, _ := json.Marshal(operation.RequestBody.Content["application/json"].Examples[name].Value)
		got := decide(t, h, string(body))
		example, ok := operation.Responses[strconv.Itoa(got.StatusCode)].Content[got.Header.Get("Content-Type")].Examples[name]
		if diff := cmp.Diff(example.Value, read[any](t, got.body)); !ok || diff != "" {
			t.Errorf("%s: status %d, the document has it: %v\n%s", name, got.StatusCode, ok, diff)
		}
		answered++
	}
	if answered != 4 {
		t.Errorf("%d examples, want 4", answered)
	}
}

// schemas are those of the document that tests have compiled, by their names.
var schemas sync.Map

// schema returns one of the document's schemas.
func schema(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	if s, ok := schemas.Load(name); ok {
		return s.(*jsonschema.Schema)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(readDocument(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(documentFile, document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(documentFile + "#/components/schemas/" + name)
	if err != nil {
		t.Fatal(err)
	}
	schemas.Store(name, s)
	return s
}

// wantSchema validates a JSON text. It also refuses names that the document lacks.
func wantSchema(t testing.TB, name, text string) {
	t.Helper()
	s := schema(t, name)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = s.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	object, _ := value.(map[string]any)
	for member := range object {
		if s.Properties[member] == nil {
			t.Errorf("%s: the schema %s has no %s", text, name, member)
		}
	}
}

func TestServesTheDocument(t *testing.T) {
	for path, want := range map[string]string{"/openapi.json": readDocument(t), "/healthz": `{"status":"ok"}` + "\n"} {
		got := send(t, newAPIWith(t, exampleRules(t), "0123456789abcdef", quiet), "GET", path, "")
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "application/json" || got.body != want {
			t.Errorf("%s: status %d, %v, %s", path, got.StatusCode, got.Header, got.body)
		}
	}
}

// The server knows the names that the document has.
func TestNames(t *testing.T) {
	refused := decide(t, newAPI(t, exampleRules(t)), `{"method": "GET", "path": "/", "other": 1}`)
	_, list, _ := strings.Cut(read[struct{ Detail string }](t, refused.body).Detail, "the names are ")
	names := slices.Sorted(slices.Values(strings.Split(list, ", ")))
	if diff := cmp.Diff(slices.Sorted(maps.Keys(schema(t, "Request").Properties)), names); diff != "" {
		t.Error(diff)
	}
}

// FuzzDecisions: the server answers any body, and refuses what the schema refuses.
// It refuses more: names that are there twice, and values without a meaning.
func FuzzDecisions(f *testing.F) {
	for _, seed := range []string{
		`{"method": "GET", "path": "/v1/items?page=2", "ip": "203.0.113.9", "headers": {"Host": "a", "Accept": ["b", "c"]}}`,
		`{"method": "PUT", "path": "http://a/%2F", "ip": "::ffff:1.2.3.4", "jwt": {"a": [1e400, null, {"b/~": "\ud800"}]}, "apikey": "k"}`,
		`{"method": "A", "path": "*", "ip": "fe80::1%lo", "path_params": {"": ""}, "route": "GET /a", "stage": "", "rejected": true}`,
		`{"method": null, "rejected": 0}`, `[[[`, `"`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got := decide(t, newAPI(t, exampleRules(t)), body)
		name := "Decision"
		if got.StatusCode != http.StatusOK {
			name = "Problem"
		}
		wantSchema(t, name, got.body)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err == nil {
			err = schema(t, "Request").Validate(value)
		}
		if err != nil && got.StatusCode == http.StatusOK {
			t.Errorf("%s: the schema refuses it: %v", body, err)
		}
	})
}
