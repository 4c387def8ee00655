package rulefile

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// marshal returns the JSON of a document, which tells documents apart.
func marshal(t rapid.TB, d *ruledoc.Document) string {
	t.Helper()
	text, err := ruledoc.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkRoundTrip writes a document and reads it again.
func checkRoundTrip(t rapid.TB, d *ruledoc.Document, comments map[string]string) {
	t.Helper()
	text, err := Write(d, comments)
	if err != nil {
		t.Fatal(err)
	}
	var again ruledoc.Document
	if _, err := yamlfile.Decode("f", text, &again); err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	want := *d
	want.Rules = slices.Clone(d.Rules)
	for i := range want.Rules {
		if r := &want.Rules[i]; r.Limit == nil && len(r.Limits) == 1 && r.Limits[0].Rate() != "" {
			r.Limit, r.Limits = &r.Limits[0], nil
		}
	}
	if diff := cmp.Diff(marshal(t, &want), marshal(t, &again)); diff != "" {
		t.Fatalf("written as\n%s\n(-written +read):\n%s", text, diff)
	}
}

// texts are hard to write as YAML.
var texts = []string{"a", "", "true", "No", "null", "~", "12", "1.50", "0x1F", "1e3", "-", "- a", "? a", "a: b", "a #b", "# a", "{ip}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a",
	"a\nb", " a ", "\t", "\x00\x7f", "é\u2028", "\"", "'", "\\", "<<", strings.Repeat("<", 99), "=", ".inf", "60s", "1mo", "5xx", "404", "198.51.100.0/24", "2001:db8::/32", "80%",
	"2026-12-31T00:00:00Z", "2026-12-31", "ip:{ip}|{header.x}", "a.b[0]", "/v1/**", "**", "y", strings.Repeat("long ", 50)}

// fill sets a value to anything that documents can hold there.
func fill(t *rapid.T, v reflect.Value, tags ruledoc.Tags, depth int) {
	if forms, ok := ruledoc.FormsOf(v.Type()); ok {
		fields := ruledoc.Fields(forms)
		f := fields[rapid.IntRange(0, len(fields)-1).Draw(t, "form")]
		form := reflect.New(f.Type).Elem()
		fill(t, form, tags.With(f.Tag), depth)
		if !f.Tags.Scalar && f.Tags.Pattern != "" {
			form.SetString(rapid.StringMatching(f.Tags.Pattern).Draw(t, "text"))
		}
		setForm(t, v, form)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), tags, depth)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "time"), 0).UTC()))
			return
		}
		for _, f := range ruledoc.Fields(v.Type()) {
			if f.Tags.Need != "" || rapid.IntRange(0, depth).Draw(t, "stated") == 0 {
				fill(t, v.FieldByIndex(f.Index), f.Tags, depth+1)
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			entry := reflect.New(v.Type().Elem()).Elem()
			fill(t, entry, tags.Entry(), depth+1)
			v.SetMapIndex(reflect.ValueOf(rapid.SampledFrom(texts).Draw(t, "name")), entry)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 3))
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			entry := reflect.New(v.Type().Elem()).Elem()
			fill(t, entry, tags.Entry(), depth+1)
			v.Set(reflect.Append(v, entry))
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[json.Number]() {
			v.SetString(rapid.StringMatching(`(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?`).Draw(t, "weight"))
			return
		}
		v.SetString(rapid.SampledFrom(slices.Concat(texts, tags.Enum)).Draw(t, "text"))
		switch {
		case len(tags.Enum) == 1:
			v.SetString(tags.Enum[0])
		case tags.Example != "" && !tags.Empty && !tags.Scalar && v.Len() == 0:
			v.SetString(tags.Example)
		}
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(rapid.Int64Range(tags.Range[0], tags.Range[1]).Draw(t, "number"))
	}
}

// setForm sets a value of several forms to one of them.
func setForm(t *rapid.T, v, form reflect.Value) {
	text, err := json.Marshal(form.Interface())
	if err == nil {
		err = v.Addr().Interface().(interface{ UnmarshalJSON([]byte) error }).UnmarshalJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Normalizing takes any document, valid or not, and leaves it as it was.
func TestNormalizeTakesAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d ruledoc.Document
		fill(t, reflect.ValueOf(&d).Elem(), ruledoc.Tags{}, 0)
		before, err := ruledoc.Marshal(&d)
		if err != nil {
			t.Fatal(err)
		}
		n := ruledoc.Normalize(&d)
		if diff := cmp.Diff(n, ruledoc.Normalize(n)); diff != "" {
			t.Fatalf("normalizing again changes it (-before +after):\n%s", diff)
		}
		if after, err := ruledoc.Marshal(&d); err != nil || string(after) != string(before) {
			t.Fatalf("%v: the document was\n%s\nand is\n%s", err, before, after)
		}
		rules.Compile(&d)
		rules.Compile(n)
		ruledoc.Diff(&d, n)
	})
}

func TestWrittenDocumentsReadTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d ruledoc.Document
		fill(t, reflect.ValueOf(&d).Elem(), ruledoc.NoTags, 0)
		checkRoundTrip(t, &d, map[string]string{"": "one\ntwo \x00", "rules[0]": strings.Repeat("<", 99), "rules[0].limits[0]": "x\ny", "deny[0]": "# z", "plans.a": "p", "overrides.a.a": ": o"})
	})
}

func FuzzWrite(f *testing.F) {
	for _, text := range texts {
		f.Add("rules: [{name: " + quote(text) + ", when: {match: {" + quote(text) + ": " + quote(text) + "}}}]")
	}
	f.Add("plans: {p: {r: unlimited, s: {a: 5}}}\nrules:\n- {limits: [{anchor: 3, candidate: 80%, cost: {from: x, max: 2}}], refund_on: [404, 5xx]}\noverrides: {r: {k: {until: 2030-01-01T00:00:00Z}}}")
	f.Fuzz(func(t *testing.T, text string) {
		var d ruledoc.Document
		if _, err := yamlfile.Decode("f", []byte(text), &d); err != nil || d.Rules == nil {
			return
		}
		checkRoundTrip(t, &d, map[string]string{"": text, "rules[0]": text, "rules[0].name": text})
	})
}

// Names that documents choose may be those of fields.
func TestWhatIsNoLimit(t *testing.T) {
	checkRoundTrip(t, &ruledoc.Document{
		Rules: []ruledoc.Rule{
			{Name: "limits", Key: "k", When: &ruledoc.Selector{Match: map[string]ruledoc.Words{"limits": {"5/s", "x"}, "limit": {"5/s"}}},
				Limits: []ruledoc.Limit{{Capacity: 5, Window: "1s"}, {Capacity: 6, Window: "1m"}}},
			{Name: "limit", Key: "k", Limit: &ruledoc.Limit{Capacity: 5, Window: "1s", Burst: 6}},
		},
		Plans: map[string]ruledoc.Plan{"p": {"limits": {Capacity: ruledoc.Capacities{"": 5}}, "limit": {Capacity: ruledoc.Capacities{"capacity": 5}}}},
		Overrides: map[string]map[string]ruledoc.Override{
			"limits": {"limits": {Limits: []ruledoc.Limit{{Capacity: 5, Window: "1mo"}}}}, "limit": {"limit": {Deny: true}},
		},
	}, nil)
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"gold": "gold", "/v1/**": "/v1/**", "a.b_c-d": "a.b_c-d", "": `""`, "7": `"7"`, "1e3": `"1e3"`, "-": `"-"`, "*": `"*"`,
		"true": `"true"`, "No": `"No"`, "y": `"y"`, "null": `"null"`, "~": `"~"`, "a b": `"a b"`, "a:b": `"a:b"`, "{ip}": `"{ip}"`,
		"a#b": `"a#b"`, `a"\`: `"a\"\\"`, "\n": `"\n"`, "é": `"é"`, "<<": `"<<"`,
	} {
		if got := quote(text); got != want {
			t.Errorf("quote(%q) = %s, want %s", text, got, want)
		}
	}
	if got := oneLine("a\nb\x00c\xff"); got != "a?b?c?" {
		t.Errorf("got %q", got)
	}
}

func TestLayout(t *testing.T) {
	long := ruledoc.Limit{Name: "a-name-of-thirty-one-characters", Algorithm: "sliding_window_counter", Capacity: 4294967295, Window: "1m30s"}
	d := &ruledoc.Document{
		Defaults: &ruledoc.Defaults{OnError: "deny"},
		Deny:     []ruledoc.Selector{{CIDRs: ruledoc.Texts{"198.51.100.0/24"}}},
		Rules: []ruledoc.Rule{
			{Name: "per-ip", When: &ruledoc.Selector{Methods: ruledoc.Texts{"GET", "POST"}, Route: ruledoc.Texts{"/v1/{id}"}}, Key: "ip:{ip}", Limits: []ruledoc.Limit{{Capacity: 10, Window: "60s"}}},
			{Name: "all", Key: "all", RefundOn: ruledoc.Statuses{"404", "5xx"}, Limits: []ruledoc.Limit{long, {Name: "b", Capacity: 5, Window: "1mo"}, {Capacity: 7, Window: "1h"}}},
		},
		Plans:     map[string]ruledoc.Plan{"pro": {"per-ip": {Unlimited: true}, "all": {Capacity: ruledoc.Capacities{"b": 7}}}, "free": {}},
		Overrides: map[string]map[string]ruledoc.Override{"per-ip": {"ip:10.0.0.1": {Capacity: ruledoc.Capacities{"": 5}, Until: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)}}},
	}
	text, err := Write(d, map[string]string{"": "Made by a test.\nTwo lines.", "deny[0]": "abuse", "rules[0]": "for clients", "rules[1].limits[1]": "monthly", "plans.pro": "Pro (1)", "overrides.per-ip.ip:10.0.0.1": "ticket 7"})
	if err != nil {
		t.Fatal(err)
	}
	want := `# Made by a test.
# Two lines.
defaults: {on_error: deny}
deny:
  - {cidrs: 198.51.100.0/24} # abuse
rules:
  # for clients
  - name: per-ip
    when: {methods: [GET, POST], route: "/v1/{id}"}
    key: "ip:{ip}"
    limit: 10/60s
  - name: all
    key: all
    limits:
      - {name: a-name-of-thirty-one-characters, algorithm: sliding_window_counter, capacity: 4294967295, window: 1m30s}
      - {name: b, capacity: 5, window: 1mo} # monthly
      - 7/hour
    refund_on: [404, 5xx]
plans:
  free: {}
  pro: # Pro (1)
    all: {b: 7}
    per-ip: unlimited
overrides:
  per-ip:
    "ip:10.0.0.1": {capacity: 5, until: "2026-12-31T00:00:00Z"} # ticket 7
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
