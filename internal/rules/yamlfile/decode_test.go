package yamlfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// decode decodes a rules document; message is the text of the error, if any.
func decode(text string) (d ruledoc.Document, p *Positions, message string) {
	p, err := Decode("f", []byte(text), &d)
	if err != nil {
		message = err.Error()
	}
	return d, p, message
}

const head = "rules:\n  - name: r\n"
const limits = "    limits: [{capacity: 10, window: 60s}]\n"

// Single mistakes whose place or wording is easy to get wrong.
func TestPlaces(t *testing.T) {
	const fields = "there are defaults, client_ip, authentication, unmatched, ambiguous_paths, headers, retry_jitter, denied, deny, skip, hash_secret, plan, rules, plans and overrides"
	override := func(fields string) string { return "rules: []\noverrides: {r: {k: {" + fields + "}}}\n" }
	for _, tt := range []struct{ name, document, want string }{
		{"character columns", "rules: []\n\"é\": 1\n", "f:2:1: é: unknown field: " + fields},
		{"after CRLF and comments", "# one\r\n# two\r\nrules: # three\r\n  - name: r\r\n    key: all\r\n    limits: [{capacity: x, window: 60s}]\r\n",
			"f:6:25: rules[0].limits[0].capacity: must be a whole number in plain digits without quotes, such as 10"},
		{"map in a list", "rules:\n  -\n    nam: r\n    keys: all\n    x: y\n", "f:3:5: rules[0].nam: unknown field: did you mean name?\n" +
			"f:4:5: rules[0].keys: unknown field: did you mean key?\n" +
			"f:5:5: rules[0].x: unknown field: there are name, when, unless, key, hash, trusted, overrides, counter, cost, limit, limits, refund_on, settle_within, reservations, mode, atomic, lease, on_error, headers and denied"},
		{"misspelled field is decoded all the same", head + "    key: all\n    limts: [{capacity: 0, window: 60s}]\n",
			"f:4:5: rules[0].limts: unknown field: did you mean limits?\n" +
				"f:4:24: rules[0].limits[0].capacity: 0 is out of range: write a number from 1 to 999999999999999"},
		{"misspelled beside the right one", head + "    key: all\n" + limits + "    limts: 7\n",
			"f:5:5: rules[0].limts: unknown field: did you mean limits?"},
		{"unquoted key", head + "    key: {header.x-user}\n" + limits, "f:3:10: rules[0].key: {header.x-user} without quotes is a YAML map: write \"{header.x-user}\""},
		{"key is a map", head + "    key: {ip: x}\n" + limits, "f:3:10: rules[0].key: must be text, such as \"ip:{ip}\", and is a map"},
		{"names that are no fields are not quoted", "rules: []\n\"a\\nb\": 1\n", `f:2:1: unknown field: ` + fields},
		{"names of the document stay on their line", "rules: []\noverrides: {\"a\\nb\": 1}\n", `f:2:21: overrides.a\nb: must be a map, such as {"user:241531": {capacity: 100}}, and is a number`},
		{"control characters", "rules: []\noverrides: {\"a\\e[31m\": 1}\n", "f:2:24: overrides.a\uFFFD[31m: must be a map, such as {\"user:241531\": {capacity: 100}}, and is a number"},
		{"twice", "rules: []\nunmatched: allow\nrules: 7\n", "f:3:1: rules: is there twice, first in line 1: remove one of them"},
		{"name is a number", "rules: [{name: 12}]", `f:1:16: rules[0].name: must be text, and is a number: write "12"`},
		{"keys of a plan", "rules: []\noverrides: {r: 7}\n", `f:2:16: overrides.r: must be a map, such as {"user:241531": {capacity: 100}}, and is a number`},
		{"empty limits", "rules: [{limits: []}]", "f:1:18: rules[0].limits: is an empty list: write a value such as 20/second, or remove it"},
		{"claims", "deny: [{match: {jwt.a: [x, 0x10, {y: z}]}}]\nrules: []", "f:1:28: deny[0].match.jwt.a[1]: 0x10 is not a number as JSON writes one: put it in quotes, as the token has it\n" +
			"f:1:34: deny[0].match.jwt.a[2]: must be text, such as pro, and is a map"},

		{"until is a number", override("until: 2026"), `f:2:28: overrides.r.k.until: must be text, and is a number: write "2026"`},
		{"until is a day", override("until: 2026-12-31"), `f:2:28: overrides.r.k.until: "2026-12-31" is no time: write one such as 2026-12-31T00:00:00Z, or 2026-12-31T00:00:00+01:00`},
		{"false says nothing", override("deny: false"), "f:2:27: overrides.r.k.deny: says nothing where it is false: write true, or remove it"},
		{"override is a number", "rules: []\noverrides: {r: {k: 7}}", `f:2:20: overrides.r.k: unknown value 7: write {capacity: 7}`},
		{"capacity of a limit", override("capacity: {a: 7, b: 0}"), "f:2:41: overrides.r.k.capacity.b: 0 is out of range: write a number from 1 to 999999999999999"},
		{"plan without limit", "rules: []\nplans: {p: {r: '10', s: endless}}", "f:2:16: plans.p.r: must be a whole number in plain digits without quotes: write 10\n" +
			`f:2:25: plans.p.s: unknown value "endless": write unlimited`},
		{"candidate", "rules: [{limits: [{candidate: 0%}, {candidate: [1]}, {candidate: 0}]}]",
			`f:1:31: rules[0].limits[0].candidate: "0%" is no capacity to try: write a number, or a percentage such as 80%` + "\n" +
				"f:1:48: rules[0].limits[1].candidate: must be a whole number in plain digits without quotes, such as 10\n" +
				"f:1:66: rules[0].limits[2].candidate: 0 is out of range: write a number from 1 to 999999999999999"},
		{"half a status", "rules: [{refund_on: [404.5]}]", "f:1:22: rules[0].refund_on[0]: must be a whole number in plain digits without quotes, such as 100"},
		{"cost without fields", "rules: [{cost: {}}]", "f:1:16: rules[0].cost: from is missing: write where requests state their cost, such as from: header.x-tokens\n" +
			"f:1:16: rules[0].cost: max is missing: write the most that a request may cost, which is charged if the stated cost is missing or unreadable"},
		{"overrides", "rules: [{overrides: 7}, {overrides: {ip}}]", `f:1:21: rules[0].overrides: must be text, and is a number: write "7"` + "\n" +
			`f:1:37: rules[1].overrides: {ip} without quotes is a YAML map: write "{ip}"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, got := decode(tt.document)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorTypes(t *testing.T) {
	_, err := Decode("a.yaml", []byte("rules:\n  - {name: r, key: all, limits: [{capacity: 0, window: 60s}], zzz: 1}\n"), &ruledoc.Document{})
	var all Errors
	if !errors.As(err, &all) || len(all) != 2 {
		t.Fatalf("got %v, want two errors", err)
	}
	var first *Error
	if !errors.As(err, &first) {
		t.Fatal("no *Error in it")
	}
	want := &Error{File: "a.yaml", Line: 2, Column: 45, Path: "rules[0].limits[0].capacity", Reason: "0 is out of range: write a number from 1 to 999999999999999"}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := first.Error(), "a.yaml:2:45: rules[0].limits[0].capacity: 0 is out of range: write a number from 1 to 999999999999999"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestIntegers(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64 // 0 for an error
	}{
		{"1", 1}, {"999999999999999", 999999999999999}, {"1000000000000000", 0}, {"99999999999999999999", 0},
		{"0", 0}, {"-1", 0}, {"--1", 0}, {"-", 0}, {"+1", 0}, {"010", 0}, {"0x10", 0}, {"0o7", 0}, {"0b1", 0}, {"1_000", 0},
		{"1.0", 0}, {"1e3", 0}, {"\"1\"", 0}, {"'1'", 0}, {".inf", 0}, {".nan", 0}, {"true", 0}, {"~", 0}, {"", 0}, {"[1]", 0}, {"{a: 1}", 0},
	} {
		d, _, message := decode("rules: [{name: r, key: all, limits: [{window: 1s, capacity: " + tt.text + "}]}]")
		var got int64
		if len(d.Rules) > 0 { // else it is not YAML
			got = d.Rules[0].Limits[0].Capacity
		}
		if got != tt.want || (message == "") != (tt.want != 0) {
			t.Errorf("capacity %q: got %d, error %q", tt.text, got, message)
		}
	}
	var narrow struct{ N int32 }
	if _, err := Decode("f", []byte("N: 2147483648"), &narrow); err == nil || narrow.N != 0 {
		t.Errorf("got %d, error %v", narrow.N, err)
	}
}

// Every form of every field, and its Go value.
func TestForms(t *testing.T) {
	d, _, message := decode(`
client_ip: {trusted_hops: 0}
deny: [{methods: GET, route: [/a, /b], match: {jwt.v: 1.10, jwt.w: [true, 12345678901234567890, "7", x]}}]
rules:
- name: r
  when: {}
  key: |
    two
    lines
  overrides: "t:{jwt.t}"
  cost: 3
  refund_on: [404, 5xx]
  limits:
  - {capacity: 7, window: 1mo, anchor: 3, candidate: 80%, cost: {from: jwt.n, max: 9}}
  - {anchor: {from: jwt.d, default: 2}, candidate: 5}
- {overrides: true, refund_on: 500}
plans: {p: {r: unlimited, s: 5, t: {a: 6}}}
overrides: {r: {k: {capacity: 5, until: 2026-12-31T00:00:00+01:00}, "a.b[0]": {capacity: {a: 5}}}}
`)
	zero := int64(0)
	want := ruledoc.Document{
		ClientIP: &ruledoc.ClientIP{TrustedHops: &zero},
		Deny: []ruledoc.Selector{{Methods: ruledoc.Texts{"GET"}, Route: ruledoc.Texts{"/a", "/b"},
			Match: map[string]ruledoc.Words{"jwt.v": {"1.10"}, "jwt.w": {"true", "12345678901234567890", "7", "x"}}}},
		Rules: []ruledoc.Rule{
			{Name: "r", When: &ruledoc.Selector{}, Key: "two\nlines\n", Overrides: &ruledoc.OverrideKeys{Template: "t:{jwt.t}"}, Cost: &ruledoc.Cost{Units: 3},
				RefundOn: ruledoc.Statuses{"404", "5xx"}, Limits: []ruledoc.Limit{
					{Capacity: 7, Window: "1mo", Anchor: &ruledoc.Anchor{Day: 3}, Candidate: &ruledoc.Candidate{Percent: 80}, Cost: &ruledoc.Cost{From: "jwt.n", Max: 9}},
					{Anchor: &ruledoc.Anchor{From: "jwt.d", Day: 2}, Candidate: &ruledoc.Candidate{Units: 5}},
				}},
			{Overrides: &ruledoc.OverrideKeys{OwnKey: true}, RefundOn: ruledoc.Statuses{"500"}},
		},
		Plans: map[string]ruledoc.Plan{"p": {"r": {Unlimited: true}, "s": {Capacity: ruledoc.Capacities{"": 5}}, "t": {Capacity: ruledoc.Capacities{"a": 6}}}},
		Overrides: map[string]map[string]ruledoc.Override{"r": {
			"k":      {Capacity: ruledoc.Capacities{"": 5}, Until: time.Date(2026, 12, 30, 23, 0, 0, 0, time.UTC)},
			"a.b[0]": {Capacity: ruledoc.Capacities{"a": 5}},
		}},
	}
	if diff := cmp.Diff(want, d); diff != "" || message != "" {
		t.Errorf("%s (-want +got):\n%s", message, diff)
	}
}

// A file without a struct for it, and one that may say null.
func TestFreeForms(t *testing.T) {
	var free any
	if _, err := Decode("f", []byte(`{"a": [1.50, true, null, "x"], ? "b" : {"": 0x1F}}`), &free); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%#v", free), `map[string]interface {}{"a":[]interface {}{"1.50", true, interface {}(nil), "x"}, "b":map[string]interface {}{"":"0x1F"}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, text := range []string{"|\n  a\n", "|\n  a", "|+\n  a", "|+\n  a\n"} {
		if _, err := Decode("f", []byte(text), &free); err != nil || free != "a\n" {
			t.Errorf("%q: got %q, %v", text, free, err)
		}
	}
	var loose struct {
		Name  string `json:"name" scalar:"true"`
		Value any    `json:"value"`
	}
	if _, err := DecodeForeign("f", []byte("name: ~\nvalue: 7"), &loose); err != nil || loose.Name != "" {
		t.Errorf("got %+v, %v", loose, err)
	}
}

// An error of form leaves the rest of the document as it stands.
func TestPartsAreKept(t *testing.T) {
	d, _, message := decode("rules: [{name: r, key: [], limts: [{capacity: 0, window: 1s}]}]\nrules: 7\noverrides: {r: {k: {deny: maybe}}}")
	want := ruledoc.Document{
		Rules:     []ruledoc.Rule{{Name: "r", Limits: []ruledoc.Limit{{Window: "1s"}}}},
		Overrides: map[string]map[string]ruledoc.Override{"r": {"k": {Deny: true}}},
	}
	if diff := cmp.Diff(want, d); diff != "" || strings.Count(message, "\n") != 4 {
		t.Errorf("%s (-want +got):\n%s", message, diff)
	}
}

// Ten thousand customers with overrides of their own fit into one file.
func BenchmarkDecode(b *testing.B) {
	var text strings.Builder
	text.WriteString("rules: []\noverrides:\n  api:\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "    \"user:auth0|%d\": {capacity: %d, until: 2030-01-01T00:00:00Z, why: ticket %d}\n", i, i+1, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, message := decode(text.String()); message != "" {
			b.Fatal(message)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("rules:\n- name: r\n  when: {methods: [GET], route: /v1/**, path: '*'}\n  key: ip:{ip}|{header.x}\n  cost: 2\n  limits: [{capacity: 10, window: 60s}]\n  on_error: deny\n")
	f.Add("defaults: {on_error: local, instances: 3}\nunmatched: deny\ndeny: [{cidrs: [10.0.0.0/8]}]\nskip: [{path: /x}]\nrules: []")
	f.Add("client_ip: {header: x, secret: {header: y, env: E}}\nplan: {from: jwt./a/b, overrides: 'u:{apikey}'}\nplans: {p: {r: unlimited}, q: {r: {a: 5}}}\n" +
		"rules:\n- {name: r, key: 'u:{path.p}', overrides: 't:{jwt.t}|{ip}', trusted: path.p, limits: [{name: a, capacity: 3, window: 1s, candidate: 80%}, {name: b}]}\n" +
		"overrides:\n  plan: {'u:1': {plan: q, until: 2030-01-01T00:00:00Z}}\n  r: {'t:a|b|::1': {limits: [{capacity: 7}]}, 't:c|10.0.0.1': {capacity: {b: 1}, why: x}, 't:d|-': {deny: true}}\n")
	f.Add("rules:\n- unless: {caller: known, match: {jwt.roles: [a, 1, true]}}\n  cost: {from: header.x, min: 1, max: 9, settle: true}\n  limits:\n  - {anchor: {from: jwt.d, default: 3}, over: clamp, candidate: 9}\n" +
		"  refund_on: [5xx, 404]\n")
	f.Add("rules: &a !!seq\n- *a\n<<: |\n  x\n\n--- >-\n ? \"\\x00\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		var d ruledoc.Document
		p, err := Decode("f", []byte(text), &d)
		if err != nil {
			errs, ok := errors.AsType[Errors](err)
			if !ok {
				t.Fatalf("error %T", err)
			}
			for _, e := range errs {
				if e.Line < 1 || e.Column < 1 || e.Reason == "" || strings.ContainsAny(e.Error(), "\n\r\x1b") {
					t.Errorf("error %#v", e)
				}
			}
			return
		}
		if at := p.At("rules[0].limits[0].capacity"); at.Line < 1 || at.Column < 1 {
			t.Errorf("place %+v", at)
		}
		if d.Rules == nil {
			return // package rules reports that they are missing
		}
		written, err := ruledoc.Marshal(&d)
		if err != nil {
			t.Fatal(err)
		}
		var again ruledoc.Document
		if _, err := Decode("f", written, &again); err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if rewritten, err := ruledoc.Marshal(&again); err != nil || string(rewritten) != string(written) {
			t.Errorf("%s is written again as %s, %v", written, rewritten, err)
		}
	})
}

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

// Text that is no plain YAML: one message, with the place and the way out.
func TestUnreadable(t *testing.T) {
	for _, tt := range []struct{ name, document, want string }{
		{"empty", "", "f:1:1: the document is empty: write rules: [] if the document should limit nothing"},
		{"comments", "# nothing yet\n", "f:1:1: the document is empty: write rules: [] if the document should limit nothing"},
		{"null", "~", "f:1:1: must be a map with fields such as \"rules:\", and is empty"},
		{"list", "- rules", "f:1:1: must be a map with fields such as \"rules:\", and is a list: write rules: in a line above it"},
		{"tab below text", "rules:\n  - name: r\n\t  key: k\n", "f:3:1: not YAML: a tab indents this line: indent with spaces"},
		{"open quote", "rules: []\nunmatched: 'deny\n", "f:2:12: not YAML: this quote is never closed: write another ' at the end of the text"},
		{"open at the end", "rules: [1, 2", "f:1:8: not YAML: the [ in line 1 is never closed: write ]"},
		{"missing comma at the end of a line", "rules: [{name: r\n  key: k}]\n", "f:2:3: not YAML: a comma is missing: write one before key"},
		{"below a deeper map that has ended", "rules:\n- name: r\n  when:\n      methods: GET\n- name: s\n     key: k\n",
			"f:6:6: not YAML: the indentation of this line is 5, which fits no line above it: write 2, as name in line 5 has"},
		{"at sign", "rules: @r\n", `f:1:8: not YAML: text that begins with @ needs quotes: write "@r"`},
		{"text after quotes", "rules:\n- key: \"k\" x\n", `f:2:12: not YAML: text follows the quotes: put all of it in quotes, or remove it`},
		{"single quote closed by the next one", "- key: 'x'\n- key: 'its\n- key: 'k'\n",
			`f:2:8: not YAML: this quote is not closed in its line: write another ' at the end of the text`},
		{"open bracket before a dash", "rules:\n- limits: [1/s, 2/m\n- name: r\n", "f:3:1: not YAML: the [ in line 2 is not closed before this line: write ]"},
		{"crooked", "rules: []\n  unmatched: deny\n", "f:2:3: not YAML: the indentation of this line is 2, which fits no line above it: write 0, as rules in line 1 has"},
		{"two keys, bar", "rules:\n  - key: {ip}|{stage}\n", `f:2:10: not YAML: text with braces in it needs quotes: write "{ip}|{stage}"`},
		{"second document", "rules: []\n---\nrules: []\n", "f:2:1: a second document begins here: a file holds one"},
		{"after the end", "rules: []\n...\nunmatched: deny\n", "f:3:1: a second document begins here: a file holds one"},
		{"anchor and alias", "a: &x 1\nb: *x\n", "f:1:4: anchors are not supported: write the value out wherever it is used, or quote text that begins with &\n" +
			"f:2:4: aliases are not supported: write the value out, or quote text that begins with *"},
		{"merge", "rules: []\n<<: {unmatched: deny}\n", "f:2:1: merge keys are not supported: write the fields out"},
		{"tag", "rules: !!seq []\n", "f:1:8: tags are not supported: write the plain value, or quote text that begins with !"},
		{"tag at the end", "rules: []\n!deny", `f:2:1: not YAML: text that begins with ! needs quotes: write "!deny"`},
		{"tag without value", "!deny", "f:1:1: tags are not supported: write the plain value, or quote text that begins with !"},
		{"directive", "%YAML 1.2\n---\nrules: []\n", "f:1:1: directives are not supported: remove it, or quote text that begins with %"},
		{"map as a name", "? {rules: 1}\n: []\n", "f:1:3: a name must be text: put it in quotes"},
		{"dash in brackets", "rules: [- name: r]\n", "f:1:9: not YAML: entries in brackets have commas between them, and no dash: remove it"},
		{"not UTF-8", "rules: []\n# caf\xe9\n", "f:2:6: is not UTF-8: save the file as UTF-8"},
		{"line end of YAML alone", "rules: []\n# é\u0085\n", `f:2:4: the control character '\u0085' is not allowed: remove it`},
		{"control character", "rules: []\n# é\x00\n", `f:2:4: the control character '\x00' is not allowed: remove it`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode("f", []byte(tt.document), &ruledoc.Document{})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
