package ruledoc

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every form of every type, as JSON and as a Go value.
var forms = []struct {
	text  string
	value any
}{
	{`"a"`, Texts{"a"}}, {`["a","<b>&"]`, Texts{"a", "<b>&"}}, {`[]`, Texts{}},
	{`"1.10"`, Words{"1.10"}}, {`["a","true"]`, Words{"a", "true"}},
	{`404`, Statuses{"404"}}, {`"5xx"`, Statuses{"5xx"}}, {`[404,"5xx"]`, Statuses{"404", "5xx"}},
	{`true`, OverrideKeys{OwnKey: true}}, {`false`, OverrideKeys{}}, {`"user:{jwt.sub}"`, OverrideKeys{Template: "user:{jwt.sub}"}},
	{`0`, Cost{}}, {`7`, Cost{Units: 7}}, {`{"from":"jwt.n","min":1,"max":9,"settle":true}`, Cost{From: "jwt.n", Min: 1, Max: 9, Settle: true}},
	{`15`, Anchor{Day: 15}}, {`{"from":"jwt.d"}`, Anchor{From: "jwt.d"}}, {`{"from":"jwt.d","default":3}`, Anchor{From: "jwt.d", Day: 3}},
	{`5`, Candidate{Units: 5}}, {`"80%"`, Candidate{Percent: 80}},
	{`5`, Capacities{"": 5}}, {`{"a":5,"b":6}`, Capacities{"a": 5, "b": 6}},
	{`"unlimited"`, PlanCapacity{Unlimited: true}}, {`5`, PlanCapacity{Capacity: Capacities{"": 5}}}, {`{"a":5}`, PlanCapacity{Capacity: Capacities{"a": 5}}},
}

func TestForms(t *testing.T) {
	for _, tt := range forms {
		written, err := marshal(tt.value)
		if err != nil || string(written) != tt.text {
			t.Errorf("%+v is written as %s, %v, want %s", tt.value, written, err, tt.text)
		}
		// What a value held before leaves nothing behind.
		into := reflect.New(reflect.TypeOf(tt.value))
		for _, other := range forms {
			if reflect.TypeOf(other.value) == reflect.TypeOf(tt.value) {
				into.Elem().Set(reflect.ValueOf(copied(t, other.value)))
			}
			if err := json.Unmarshal([]byte(tt.text), into.Interface()); err != nil {
				t.Errorf("%s as %T: %v", tt.text, tt.value, err)
			}
			if diff := cmp.Diff(tt.value, into.Elem().Interface()); diff != "" {
				t.Errorf("%s as %T after %s (-want +got):\n%s", tt.text, tt.value, other.text, diff)
			}
		}
	}
}

func copied(t *testing.T, value any) any {
	t.Helper()
	text, err := marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	into := reflect.New(reflect.TypeOf(value))
	if err := json.Unmarshal(text, into.Interface()); err != nil {
		t.Fatal(err)
	}
	return into.Elem().Interface()
}

// Numbers keep the text that the document has, and may stand in quotes where
// that is not a mistake that changes the meaning.
func TestOtherWaysToWriteForms(t *testing.T) {
	for _, tt := range []struct {
		text string
		want any
	}{
		{`1.10`, Words{"1.10"}}, {`[true, 12345678901234567890, "x"]`, Words{"true", "12345678901234567890", "x"}},
		{`"404"`, Statuses{"404"}}, {` ["a"]`, Texts{"a"}}, {`{"max": 9, "from": "jwt.n"}`, Cost{From: "jwt.n", Max: 9}},
	} {
		into := reflect.New(reflect.TypeOf(tt.want))
		if err := json.Unmarshal([]byte(tt.text), into.Interface()); err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, into.Elem().Interface()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestWhatIsNoForm(t *testing.T) {
	for _, tt := range []struct {
		text string
		into any
		want string // part of the error
	}{
		{`7`, &Texts{}, "cannot unmarshal number"}, {`[7]`, &Texts{}, "cannot unmarshal number"}, {`{}`, &Texts{}, "cannot unmarshal object"},
		{`{}`, &Words{}, "{} is not a text, a number or a boolean"}, {`[["a"]]`, &Words{}, `["a"] is not a text, a number or a boolean`}, {`[null]`, &Words{}, "null is not a text, a number or a boolean"},
		{`7`, &OverrideKeys{}, "cannot unmarshal number"},
		{`"7"`, &Cost{}, "cannot unmarshal string"}, {`1.5`, &Cost{}, "cannot unmarshal number 1.5"}, {`{"form": "jwt.n"}`, &Cost{}, `unknown field "form"`},
		{`{"day": 3}`, &Anchor{}, `unknown field "day"`}, {`"3"`, &Anchor{}, "cannot unmarshal string"},
		{`"80"`, &Candidate{}, `"80" is no capacity to try: write a number, or a percentage such as 80%`},
		{`"0%"`, &Candidate{}, `"0%" is no capacity`}, {`"-5%"`, &Candidate{}, `"-5%" is no capacity`}, {`"+5%"`, &Candidate{}, `"+5%" is no capacity`},
		{`"08%"`, &Candidate{}, `"08%" is no capacity`}, {`"1.5%"`, &Candidate{}, `"1.5%" is no capacity`}, {`"%"`, &Candidate{}, `"%" is no capacity`},
		{`"5"`, &Capacities{}, "cannot unmarshal string"}, {`{"a": "5"}`, &Capacities{}, "cannot unmarshal string"},
		{`"endless"`, &PlanCapacity{}, `"endless" is no capacity: write a number, numbers by limit name, or unlimited`}, {`true`, &PlanCapacity{}, "cannot unmarshal bool"},
	} {
		if err := json.Unmarshal([]byte(tt.text), tt.into); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s as %T: error %v, want %q", tt.text, tt.into, err, tt.want)
		}
	}
}

func TestDocumentsAsJSON(t *testing.T) {
	hops := int64(0)
	want := &Document{
		ClientIP: &ClientIP{TrustedHops: &hops},
		Rules: []Rule{{Name: "r", When: &Selector{}, Key: "ip:{ip}", Cost: &Cost{}, Overrides: &OverrideKeys{},
			Limits: []Limit{{Capacity: 10, Window: "60s", Anchor: &Anchor{Day: 1}, Candidate: &Candidate{Percent: 80}}}}},
		Overrides: map[string]map[string]Override{"r": {"b": {Deny: true}, "a": {Until: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)}}},
	}
	text, err := Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	const wantText = `{"client_ip":{"trusted_hops":0},"rules":[{"name":"r","when":{},"key":"ip:{ip}","overrides":false,"cost":0,` +
		`"limits":[{"capacity":10,"window":"60s","anchor":1,"candidate":"80%"}]}],"overrides":{"r":{"a":{"until":"2026-12-31T00:00:00Z"},"b":{"deny":true}}}}`
	if diff := cmp.Diff(wantText, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := Unmarshal(text)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A process must not misread rules that were written for a newer one.
func TestUnmarshalIsStrict(t *testing.T) {
	for _, text := range []string{
		`{"rules": [], "new": 1}`, `{"rules": [{"new": 1}]}`, `{"rules": [{"limits": [{"new": 1}]}]}`, `{"rules": [{"cost": {"new": 1}}]}`,
		`{"rules": [{"limits": [{"anchor": {"new": 1}}]}]}`, `{"overrides": {"r": {"k": {"new": 1}}}}`, `{"rules": {}}`, `{"rules": []`, ``, `[]`,
		`{"plans": {"p": {"r": "endless"}}}`, `{"rules": []} x`, `{"rules": []}{}`,
	} {
		if d, err := Unmarshal([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "rules document: ") || d != nil {
			t.Errorf("%s: %+v, error %v", text, d, err)
		}
	}
}

// Go programs can state more than a document can.
func TestCheckOfTwoFormsAtOnce(t *testing.T) {
	for _, tt := range []struct {
		limit Limit
		want  string
	}{
		{Limit{Cost: &Cost{Units: 2, From: "jwt.n", Max: 3}}, "limits[0].cost: states both Units and From: keep one of them"},
		{Limit{Candidate: &Candidate{Units: 5, Percent: 80}}, "limits[0].candidate: states both Units and Percent: keep one of them"},
		{Limit{Candidate: &Candidate{Units: 5}, Anchor: &Anchor{From: "jwt.d", Day: 3}, Cost: &Cost{Units: 2}}, ""},
	} {
		tt.limit.Capacity, tt.limit.Window = 1, "60s"
		checkProblems(t, &Override{Limits: []Limit{tt.limit}}, tt.want)
	}
	rule := Rule{Name: "r", Key: "k", Limits: []Limit{{Capacity: 1, Window: "60s"}}}
	plan := func(c PlanCapacity) map[string]Plan { return map[string]Plan{"p": {"r": c}} }
	for _, tt := range []struct {
		capacity PlanCapacity
		want     string
	}{
		{PlanCapacity{Unlimited: true, Capacity: Capacities{"": 5}}, "plans.p.r: states both Capacity and Unlimited: keep one of them"},
		{PlanCapacity{Unlimited: true, Capacity: Capacities{"a": 5}}, "plans.p.r: states both Capacities and Unlimited: keep one of them"},
		{PlanCapacity{}, "plans.p.r: 0 is out of range: write a number from 1 to 999999999999999"},
		{PlanCapacity{Capacity: Capacities{}}, "plans.p.r: is empty: write a value or remove it"},
		{PlanCapacity{Unlimited: true}, ""},
	} {
		checkProblems(t, &Document{Rules: []Rule{rule}, Plans: plan(tt.capacity)}, tt.want)
	}
	rule.Overrides = &OverrideKeys{OwnKey: true, Template: "t:{jwt.t}"}
	checkProblems(t, &Document{Rules: []Rule{rule}}, "rules[0].overrides: states both Template and OwnKey: keep one of them")
}

func checkProblems(t *testing.T, of any, want string) {
	t.Helper()
	var got, wanted []string
	for _, p := range Check(of) {
		got = append(got, p.String())
	}
	if want != "" {
		wanted = []string{want}
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("got %q, want %q", got, wanted)
	}
}
