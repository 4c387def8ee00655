package apigw

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func proxy(value string) map[string]string { return map[string]string{"proxy": value} }

func TestPathBelowTheRoot(t *testing.T) {
	for name, test := range map[string]struct {
		resource, path string
		parameters     map[string]string
		want           string
	}{
		"a base path":               {"/{proxy+}", "/api/v1/items", proxy("v1/items"), "/v1/items"},
		"two segments of it":        {"/{proxy+}", "/my/api/v1/items", proxy("v1/items"), "/v1/items"},
		"a parameter, decoded":      {"/v1/{id}", "/api/v1/a%20b", map[string]string{"id": "a b"}, "/v1/a%20b"},
		"a parameter, as sent":      {"/v1/{id}", "/api/v1/a%20b", map[string]string{"id": "a%20b"}, "/v1/a%20b"},
		"the root":                  {"/", "/", nil, "/"},
		"the root of a base path":   {"/", "/api", nil, "/"},
		"a template without params": {"/v1/items", "/api/v1/items", nil, "/v1/items"},
		"no parameters given":       {"/{proxy+}", "/v1/items", nil, "/v1/items"},
		"no resource":               {"", "/v1/items", nil, "/v1/items"},
		"an empty path":             {"/{proxy+}", "", proxy("x"), ""},
	} {
		if got, _ := pathBelow(test.path, test.resource, test.parameters); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestPathBelowTheStage(t *testing.T) {
	for name, test := range map[string]struct {
		stage, template, path string
		parameters            map[string]string
		want                  string
	}{
		"a template":                       {"dev", "/v1/items", "/dev/v1/items", nil, "/v1/items"},
		"a parameter":                      {"dev", "/v1/{id}", "/dev/v1/7", map[string]string{"id": "7"}, "/v1/7"},
		"the stage in the path":            {"dev", "/{proxy+}", "/dev/dev/items", proxy("dev/items"), "/dev/items"},
		"a base path":                      {"dev", "/{proxy+}", "/shop/v1/items", proxy("v1/items"), "/v1/items"},
		"the catch-all route":              {"dev", "", "/dev/v1/items", nil, "/v1/items"},
		"its root with a slash":            {"dev", "", "/dev/", nil, "/"},
		"a path that begins alike":         {"dev", "", "/device", nil, "/device"},
		"slashes after the stage":          {"dev", "", "/dev//v1", nil, "//v1"},
		"no stage in the path":             {"dev", "", "/v1/items", nil, "/v1/items"},
		"its name in a path":               {"$default", "", "/$default/v1", nil, "/$default/v1"},
		"the default stage and a template": {"$default", "/v1/items", "/v1/items", nil, "/v1/items"},
		"a number sign":                    {"$default", "", "/tags/c#", nil, "/tags/c%23"},
		"a number sign below a base path":  {"dev", "/tags/{id}", "/shop/tags/c#", map[string]string{"id": "c#"}, "/tags/c%23"},
	} {
		if got := pathBelowStage(test.path, test.stage, test.template, test.parameters); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// slowPathBelow is the definition of pathBelow: the longest end of the path
// that equals the filled-in template with its dots, else the longest that is
// equivalent.
func slowPathBelow(ev *event) string {
	below, ok := filledIn(ev.Resource, ev.PathParameters)
	if !ok {
		return ev.Path
	}
	clean := path.Clean(below)
	if withoutEmpty(below) != clean {
		if end, ok := longestEnd(ev.Path, func(p string) bool { return withoutEmpty(p) == withoutEmpty(below) }); ok {
			return end
		}
	}
	if end, ok := longestEnd(ev.Path, func(p string) bool { return path.Clean(p) == clean }); ok || clean != "/" {
		return end
	}
	return clean
}

func pathOf(ev *event) string {
	below, _ := pathBelow(ev.Path, ev.Resource, ev.PathParameters)
	return below
}

func withoutEmpty(p string) string { return "/" + strings.Join(segments(p), "/") }

// longestEnd returns the longest end of a path that is wanted, as sent or
// decoded; the path itself if there is none.
func longestEnd(p string, wanted func(string) bool) (end string, ok bool) {
	for i := range len(p) {
		if p[i] != '/' {
			continue
		}
		decoded, err := url.PathUnescape(p[i:])
		if wanted(p[i:]) || err == nil && wanted(decoded) {
			return p[i:], true
		}
	}
	return p, false
}

func TestPathBelowTheRootByDefinition(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	text := func() string {
		var b strings.Builder
		for range random.IntN(7) {
			b.WriteString([]string{"/", "/", "/a", "/b", "/ab", "/.", "/..", "%2F", "%2f..", "%", "a", "%61"}[random.IntN(12)])
		}
		return b.String()
	}
	for range 50_000 {
		ev := &event{Resource: "/{proxy+}", Path: text(), PathParameters: proxy(text())}
		if got, want := pathOf(ev), slowPathBelow(ev); got != want {
			t.Fatalf("seed %d: path %q, parameter %q: %q, want %q", seed, ev.Path, ev.PathParameters["proxy"], got, want)
		}
	}
}

// TestPathBelowTheRootIsQuick would take minutes in quadratic time.
func TestPathBelowTheRootIsQuick(t *testing.T) {
	for _, step := range []string{"/.", "/a/..", "%2F.", "/"} {
		ev := &event{Resource: "/{proxy+}", Path: "/v1" + strings.Repeat(step, 1<<18), PathParameters: proxy("v1")}
		if got := pathOf(ev); got != ev.Path {
			t.Errorf("%s: %d bytes of %d", step, len(got), len(ev.Path))
		}
	}
}

// TestContextMap: Map has what the JSON of a context has, and the names in JSON
// are in the order in which a map has them.
func TestContextMap(t *testing.T) {
	var c Context
	var names []string
	for field, value := range reflect.ValueOf(&c).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		value.SetString(field.Name)
		names = append(names, name)
	}
	encoded, err := json.Marshal(&c)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(encoded, &want); err != nil {
		t.Fatal(err)
	}
	if got := c.Map(); !maps.Equal(got, want) || len(got) != len(names) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %v", names)
	}
	c.Claims, want["claim_sub"] = map[string]string{"claim_sub": "7"}, "7"
	if got := c.Map(); !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := (&Context{}).Map(); len(got) != 0 {
		t.Errorf("an empty context has %v", got)
	}
}
