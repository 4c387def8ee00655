package limitlambda_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
)

// FuzzWrap: every event, whatever kind of handler gets it, causes an error or an
// answer. Nothing panics, because that would end the function's process.
func FuzzWrap(f *testing.F) {
	files, err := filepath.Glob("testdata/*.event.json")
	if err != nil || len(files) < len(kinds) {
		f.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	answers := []int{200, 400, 403, 429, 503}
	g := newGate(f, `
client_ip: {trusted_hops: 1}
deny: [{path: /banned}]
rules: [{name: r, key: "{method}|{route}|{jwt.sub}|{path.id}", limit: 5/minute}]`)
	var handlers []lambda.Handler
	for _, kind := range kinds {
		handlers = append(handlers, lambda.NewHandler(kind.wrap(g)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, handler := range handlers {
			answer, err := handler.Invoke(t.Context(), data)
			var read struct{ StatusCode int }
			if err == nil && (json.Unmarshal(answer, &read) != nil || !slices.Contains(answers, read.StatusCode)) {
				t.Errorf("answer %s", answer)
			}
		}
	})
}
