package apigw

import "testing"

func TestPathBelowTheRoot(t *testing.T) {
	proxy := func(value string) map[string]string { return map[string]string{"proxy": value} }
	for name, test := range map[string]struct {
		resource, path string
		parameters     map[string]string
		want           string
	}{
		"no base path":              {"/{proxy+}", "/v1/items", proxy("v1/items"), "/v1/items"},
		"a base path":               {"/{proxy+}", "/api/v1/items", proxy("v1/items"), "/v1/items"},
		"two segments of it":        {"/{proxy+}", "/my/api/v1/items", proxy("v1/items"), "/v1/items"},
		"it looks like the rest":    {"/{proxy+}", "/v1/v1", proxy("v1"), "/v1"},
		"a parameter, decoded":      {"/v1/{id}", "/api/v1/a%20b", map[string]string{"id": "a b"}, "/v1/a%20b"},
		"a parameter, as sent":      {"/v1/{id}", "/api/v1/a%20b", map[string]string{"id": "a%20b"}, "/v1/a%20b"},
		"an escaped slash":          {"/{proxy+}", "/api/v1%2Fitems", proxy("v1/items"), "/v1%2Fitems"},
		"a slash at the end":        {"/{proxy+}", "/api/v1/items/", proxy("v1/items"), "/v1/items/"},
		"the root":                  {"/", "/", nil, "/"},
		"the root of a base path":   {"/", "/api", nil, "/"},
		"a template without params": {"/v1/items", "/api/v1/items", nil, "/v1/items"},
		"no parameters given":       {"/{proxy+}", "/v1/items", nil, "/v1/items"},
		"no resource":               {"", "/v1/items", nil, "/v1/items"},
		"an empty path":             {"/{proxy+}", "", proxy("x"), ""},
	} {
		ev := &RequestEvent{Resource: test.resource, Path: test.path, PathParameters: test.parameters}
		if got := pathBelow(ev); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
