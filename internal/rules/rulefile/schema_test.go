package rulefile

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/test/golden"
	"github.com/slidegate/slidegate/internal/test/oracle"
)

// read loads a document. What Parse takes, the schema has to take too.
func read(t testing.TB, file, document string) error {
	t.Helper()
	_, err := Parse(file, []byte(document))
	if err == nil {
		if err := oracle.Validate(t, document); err != nil {
			t.Errorf("the schema refuses what Parse takes: %v\nof:\n%.2000s", err, document)
		}
	}
	return err
}

// The schema in docs is that of the current types.
func TestSchema(t *testing.T) {
	golden.Check(t, oracle.SchemaFile(), string(Schema()))
}

// Places where a document may have fields, each as a document around one field that is unknown everywhere.
var placesOfFields = []struct{ pointer, document string }{
	{"", "{FIELD, rules: []}"},
	{"/$defs/defaults", "{defaults: {FIELD}, rules: []}"},
	{"/$defs/denied", "{denied: {FIELD, status: 503}, rules: []}"},
	{"/$defs/clientIP", "{client_ip: {FIELD, trusted_hops: 1}, rules: []}"},
	{"/$defs/proxySecret", "{client_ip: {header: x, secret: {FIELD, header: y, env: E}}, rules: []}"},
	{"/$defs/authentication", "{authentication: {FIELD, jwt: [{issuer: 'https://a.example', audience: x}]}, rules: []}"},
	{"/$defs/keySource", "{authentication: {api_key: {FIELD}}, rules: []}"},
	{"/$defs/tokenIssuer", "{authentication: {jwt: [{FIELD, issuer: 'https://a.example', audience: x}]}, rules: []}"},
	{"/$defs/hashSecret", "{hash_secret: {FIELD, env: E, check: 1a2b3c4d}, rules: [{name: r, key: k, hash: true, limits: [{capacity: 1, window: 1s}]}]}"},
	{"/$defs/selector", "{deny: [{FIELD, methods: GET}], rules: []}"},
	{"/$defs/selector", "{skip: [{FIELD, methods: GET}], rules: []}"},
	{"/$defs/planSource", "{plan: {FIELD, overrides: '{apikey}'}, rules: []}"},
	{"/$defs/rule", "{rules: [{FIELD, name: r, key: k, limits: [{capacity: 1, window: 1s}]}]}"},
	{"/$defs/selector", "{rules: [{name: r, when: {FIELD, methods: GET}, key: k, limits: [{capacity: 1, window: 1s}]}]}"},
	{"/$defs/selector", "{rules: [{name: r, unless: {FIELD, methods: GET}, key: k, limits: [{capacity: 1, window: 1s}]}]}"},
	{"/$defs/cost/anyOf/1", "{rules: [{name: r, key: k, cost: {FIELD, from: jwt.n, max: 1}, limits: [{capacity: 1, window: 1s}]}]}"},
	{"/$defs/limit/anyOf/1", "{rules: [{name: r, key: k, limits: [{FIELD, capacity: 1, window: 1s}]}]}"},
	{"/$defs/cost/anyOf/1", "{rules: [{name: r, key: k, limits: [{cost: {FIELD, from: jwt.n, max: 1}, capacity: 1, window: 1s}]}]}"},
	{"/$defs/anchor/anyOf/1", "{rules: [{name: r, key: k, limits: [{capacity: 1, window: 1mo, anchor: {FIELD, from: jwt.n}}]}]}"},
	{"/$defs/override", "{rules: [{name: r, key: k, overrides: true, limits: [{capacity: 1, window: 1s}]}], overrides: {r: {k: {FIELD, deny: true}}}}"},
	{"/$defs/overrideLimit/anyOf/1", "{rules: [{name: r, key: k, limits: [{capacity: 1, window: 1s}]}], overrides: {r: {k: {limits: [{FIELD, capacity: 1, window: 1s}]}}}}"},
	{"/$defs/planOverride", "{plan: {overrides: k}, rules: [], overrides: {plan: {k: {FIELD, deny: true}}}}"},
}

// misplacedFields are known to the decoder, so that package rules can say where
// they belong.
var misplacedFields = map[string][]string{
	"/$defs/override": {"plan"}, "/$defs/planOverride": {"capacity", "limits", "unlimited"}, "/$defs/overrideLimit/anyOf/1": {"candidate", "in_flight", "expires"},
}

var fieldsKnown = regexp.MustCompile(`xyzzyxyzzy: unknown field: there are (?:(.*) and )?(.*)$`)

// The schema has exactly the fields that the decoder lists, and both refuse any
// other field.
func TestSchemaFields(t *testing.T) {
	var schema any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, tt := range placesOfFields {
		good, bad := strings.NewReplacer("FIELD, ", "", "FIELD", "").Replace(tt.document), strings.ReplaceAll(tt.document, "FIELD", "xyzzyxyzzy: 1")
		if err := read(t, "f", good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
		if err := oracle.Validate(t, bad); err == nil {
			t.Errorf("the schema takes %s", bad)
		}
		err := read(t, "f", bad)
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one", bad, err)
			continue
		}
		found := fieldsKnown.FindStringSubmatch(err.Error())
		if found == nil {
			t.Errorf("%s: %v", bad, err)
			continue
		}
		want := append(strings.FieldsFunc(found[1], func(r rune) bool { return r == ',' || r == ' ' }), found[2])
		slices.Sort(want)
		want = slices.DeleteFunc(want, func(f string) bool { return slices.Contains(misplacedFields[tt.pointer], f) })
		got := slices.Sorted(maps.Keys(at(t, schema, tt.pointer)["properties"].(map[string]any)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: fields (-parser +schema):\n%s", tt.pointer, diff)
		}
	}
}

// at follows a JSON Pointer.
func at(t *testing.T, v any, pointer string) map[string]any {
	t.Helper()
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if name == "" {
			break
		}
		if list, ok := v.([]any); ok {
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(list) {
				t.Fatalf("nothing at %s", pointer)
			}
			v = list[i]
			continue
		}
		v = v.(map[string]any)[name]
	}
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("nothing at %s", pointer)
	}
	return m
}

// The schema refuses values that no field can hold.
func TestSchemaValues(t *testing.T) {
	rule := func(fields string) string {
		return "{rules: [{name: r, key: k, limits: [{capacity: 1, window: 1s}], " + fields + "}]}"
	}
	limit := func(fields string) string { return "{rules: [{name: r, key: k, limits: [{" + fields + "}]}]}" }
	for _, document := range []string{
		"{}", "[]", "{rules: {}}", "{rules: [7]}", "{unmatched: maybe, rules: []}", "{defaults: {on_error: never}, rules: []}",
		"{defaults: {instances: 0}, rules: []}", "{defaults: {instances: 2147483648}, rules: []}", "{client_ip: {trusted_hops: 33}, rules: []}",
		"{client_ip: {header: x, secret: {header: y}}, rules: []}", "{client_ip: {header: x, secret: {header: y, env: '1'}}, rules: []}",
		"{headers: none, rules: []}", "{denied: {status: 399}, rules: []}", "{denied: {status: 600}, rules: []}", "{denied: 503, rules: []}",
		"{deny: [{methods: []}], rules: []}", "{deny: [{cidrs: 7}], rules: []}", "{deny: [{caller: somebody}], rules: []}",
		"{deny: [{match: {jwt.x: {}}}], rules: []}", "{deny: {methods: GET}, rules: []}",
		"{rules: [{}]}", "{rules: [{name: r, key: k}]}", "{rules: [{name: r, limits: [{capacity: 1, window: 1s}]}]}",
		"{rules: [{name: R, key: k, limits: [{capacity: 1, window: 1s}]}]}", "{rules: [{name: r, key: k, limits: []}]}",
		rule("when: []"), rule("trusted: []"), rule("overrides: 7"), rule("counter: C"), rule("cost: -1"), rule("cost: {max: 1}"), rule("cost: {from: jwt.n}"),
		rule("cost: {from: jwt.n, max: 0}"), rule("cost: {from: jwt.n, max: 1, settle: 1}"), rule("refund_on: 99"), rule("refund_on: [600]"), rule("refund_on: 6xx"),
		rule("mode: on"), rule("atomic: 1"), rule("on_error: x"), rule("headers: none"),
		limit("window: 1s"), limit("capacity: 1"), limit("capacity: 0, window: 1s"), limit("capacity: 1000000000000000, window: 1s"), limit("capacity: 1.5, window: 1s"),
		limit("capacity: '1', window: 1s"), limit("capacity: 1, window: 60"), limit("capacity: 1, window: 1s, algorithm: bucket"), limit("capacity: 1, window: 1s, over: x"),
		limit("capacity: 1, window: 1s, candidate: 0"), limit("capacity: 1, window: 1s, candidate: 0%"), limit("capacity: 1, window: 1s, name: N"),
		limit("capacity: 1, window: 1mo, anchor: 32"), limit("capacity: 1, window: 1mo, anchor: {from: jwt.n, default: 0}"),
		"{rules: [{name: r, key: k, limit: 100}]}", "{rules: [{name: r, key: k, limit: 0/minute}]}", "{rules: [{name: r, key: k, limit: 100/min}]}",
		"{rules: [{name: r, key: k, limit: [100/minute]}]}", "{rules: [{name: r, key: k, limit: {capacity: 1}}]}", "{rules: [{name: r, key: k, limits: 100/minute}]}",
		"{rules: [{name: r, key: k, limits: [100]}]}", rule("limit: 100/minute"),
		"{plan: {from: jwt.p}, plans: {p: {r: none}}, rules: []}", "{plan: {from: jwt.p}, plans: {p: {r: {l: unlimited}}}, rules: []}", "{plan: {from: jwt.p}, plans: {'': {}}, rules: []}",
		"{overrides: {r: {k: {capacity: 0}}}, rules: []}", "{overrides: {r: {k: {limits: []}}}, rules: []}", "{overrides: {r: {k: {plan: p}}}, rules: []}",
		"{overrides: {plan: {k: {capacity: 1}}}, rules: []}", "{overrides: {r: {k: {limits: [{capacity: 1, window: 1s, candidate: 1}]}}}, rules: []}",
		"{overrides: {r: {k: {limits: [{capacity: 1, window: 1mo, anchor: {from: jwt.n}}]}}}, rules: []}",
	} {
		if oracle.Validate(t, document) == nil {
			t.Errorf("the schema takes %s", document)
		}
		if read(t, "f", document) == nil {
			t.Errorf("Load takes %s", document)
		}
	}
}
