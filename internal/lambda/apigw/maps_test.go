package apigw_test

import (
	"strings"
	"testing"
)

// TestBothMaps: the kinds with two maps of header fields and of query parameters are
// read alike, whichever of the maps has a value.
func TestBothMaps(t *testing.T) {
	events := map[string]string{
		"REST":     `"resource": "/x", "path": "/x", "httpMethod": "GET", "requestContext": {"stage": "s", "identity": {"sourceIp": "192.0.2.1"}}`,
		"HTTP 1.0": `"version": "1.0", "resource": "/x", "path": "/x", "httpMethod": "GET", "requestContext": {"stage": "s", "identity": {"sourceIp": "192.0.2.1"}}`,
		"$connect": `"requestContext": {"routeKey": "$connect", "stage": "s", "identity": {"sourceIp": "192.0.2.1"}}`,
	}
	for name, test := range map[string]struct{ headers, all, query, allQuery, want string }{
		"one value":                 {`{"X-User": "a"}`, `null`, `{"page": "1"}`, `null`, "a|1"},
		"all values":                {`null`, `{"x-user": ["a", "b"]}`, `null`, `{"page": ["1", "2"]}`, "a,b|1,2"},
		"both":                      {`{"X-User": "b"}`, `{"X-User": ["a", "b"]}`, `{"page": "2"}`, `{"page": ["1", "2"]}`, "a,b|1,2"},
		"both, in other case":       {`{"x-user": "c"}`, `{"X-User": ["a"]}`, `{"page": "3"}`, `{"page": ["1"]}`, "a|1"},
		"both, empty":               {`{}`, `{}`, `{}`, `{}`, "-|-"},
		"both, null":                {`null`, `null`, `null`, `null`, "-|-"},
		"all values, empty":         {`{"X-User": "a"}`, `{}`, `{"page": "1"}`, `{}`, "a|1"},
		"no list":                   {`{"X-User": "a"}`, `{"x-user": null, "y": ["z"]}`, `{"page": "1"}`, `{"page": null}`, "a|1"},
		"an empty list":             {`{"X-User": "a"}`, `{"X-User": [], "y": ["z"]}`, `{"page": "1"}`, `{"page": []}`, "a|1"},
		"a list of null":            {`{"X-User": "a"}`, `{"X-User": [null]}`, `{"page": "1"}`, `{"page": [null]}`, "a|1"},
		"an empty list beside both": {`{"x-user": "c", "Y": "y"}`, `{"X-User": ["a"], "Y": []}`, `{"page": "3", "y": ""}`, `{"page": ["1"], "y": []}`, "a|1"},
	} {
		for kind, event := range events {
			a, store := kindAuthorizer(t, `rules: [{name: r, key: "{header.x-user}|{query.page}", limits: [{capacity: 1, window: 60s}]}]`)
			_, err := a.Handle(t.Context(), []byte(`{"type": "REQUEST", "methodArn": "arn:aws:execute-api:eu-west-1:1:a/s/GET/x", `+event+
				`, "headers": `+test.headers+`, "multiValueHeaders": `+test.all+
				`, "queryStringParameters": `+test.query+`, "multiValueQueryStringParameters": `+test.allQuery+`}`))
			want := "r|" + test.want + "|"
			if keys := keysOf(store); err != nil || len(keys) != 1 || !strings.HasPrefix(keys[0], want) {
				t.Errorf("%s, %s: counted by %q, error %v; want %s", kind, name, keys, err, want)
			}
		}
	}
	for field, value := range map[string]string{"headers": `"a"`, "multiValueHeaders": `{"a": "b"}`, "queryStringParameters": `["a"]`, "multiValueQueryStringParameters": `"a"`} {
		for kind, event := range events {
			a, _ := kindAuthorizer(t, "rules: []")
			_, err := a.Handle(t.Context(), []byte(`{"type": "REQUEST", "methodArn": "arn:aws:execute-api:eu-west-1:1:a/s/GET/x", `+event+`, "`+field+`": `+value+`}`))
			if err == nil || !strings.Contains(err.Error(), "another form than AWS documents") {
				t.Errorf("%s with %s %s: error %v", kind, field, value, err)
			}
		}
	}
}
