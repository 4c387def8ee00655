package usageplans

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
)

func TestUsagePlanErrors(t *testing.T) {
	plan := func(fields string) string { return `{"items": [{"id": "p", "name": "P", ` + fields + `}]}` }
	for _, tt := range []struct{ name, text, want string }{
		{"no JSON", `{"items": [`, "f.json:1:"},
		{"nothing", ``, "the document is empty"},
		{"a list", `[]`, `f.json:1:1: must be a map with fields such as "items:", and is a list`},
		{"other output", `{"Plans": []}`, "f.json:1:2: Plans: unknown field: there are items, position and NextToken"},
		{"no items", `{}`, "f.json:1:1: items is missing: give what the AWS CLI prints, as JSON"},
		{"no list", `{"items": {}}`, "f.json:1:11: items: must be a list, and is a map"},
		{"no id", `{"items": [{"name": "P"}]}`, "items[0]: id is missing: give what `aws apigateway get-usage-plans` prints"},
		{"twice", `{"items": [{"id": "p"}, {"id": "p"}]}`, "f.json:1:25: items[1]: plan p is there twice"},
		{"a field twice", plan(`"id": "q"`), "items[0].id: is there twice, first in line 1"},
		{"unknown", plan(`"schedule": {}`), "items[0].schedule: unknown field: there are id, name"},
		{"misspelled", plan(`"throtle": {}`), "items[0].throtle: unknown field: did you mean throttle?"},
		{"no throttle", plan(`"throttle": 5`), `items[0].throttle: must be a map with fields such as "rateLimit:", and is a number`},
		{"no rate", plan(`"throttle": {"rateLimit": "many"}`), `throttle.rateLimit: must be a number from 0 to 10000000, and is "many"`},
		{"negative rate", plan(`"throttle": {"rateLimit": -1.0}`), `and is "-1.0"`},
		{"endless rate", plan(`"throttle": {"rateLimit": .inf}`), `and is ".inf"`},
		{"no number at all", plan(`"throttle": {"rateLimit": .nan}`), `and is ".nan"`},
		{"too fast", plan(`"throttle": {"rateLimit": 1e10}`), `and is "1e10"`},
		{"far too fast", plan(`"throttle": {"rateLimit": 1e999999999}`), `and is "1e999999999"`},
		{"part of a burst", plan(`"throttle": {"burstLimit": 1.5}`), `throttle.burstLimit: must be a whole number`},
		{"no period", plan(`"quota": {"limit": 5}`), `items[0].quota: period "" is none of DAY, WEEK and MONTH`},
		{"another period", plan(`"quota": {"limit": 5, "period": "YEAR"}`), `period "YEAR" is none of`},
		{"negative quota", plan(`"quota": {"limit": -5, "period": "DAY"}`), `quota.limit: -5 is out of range: write a number from 0 to 2147483647`},
		{"stages", plan(`"apiStages": {}`), `items[0].apiStages: must be a list, and is a map`},
		{"a stage's throttle", plan(`"apiStages": [{"throttle": {"/a/GET": 5}}]`), `items[0].apiStages[0].throttle./a/GET: must be a map with fields such as "rateLimit:", and is a number`},
		{"no id of two", `{"items": [{"id": "p", "apiStages": [{"throttle": {"/a/GET": null}}]}, {}]}`, "items[1]: id is missing"},
		{"a method twice", plan(`"apiStages": [{"throttle": {"/a/GET": {}, "/a/GET": {}}}]`), `is there twice`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Import(imports.File{Name: "f.json", Content: []byte(tt.text)})
			if d != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %s", d, err, tt.want)
			}
		})
	}
}

func TestPlanKeyErrors(t *testing.T) {
	plans := imports.File{Name: "f.json", Content: []byte(`{"items": [{"id": "p", "name": "P", "throttle": {"rateLimit": 1, "burstLimit": 1}}]}`)}
	for _, tt := range []struct{ plan, text, want string }{
		{"q", `{"items": []}`, `k.json has the keys of plan "q", and no plan has this id or name`},
		{"", `{"items": []}`, `k.json has the keys of plan "", and no plan has this id or name`},
		{"p", `{"items": [{"name": "x"}]}`, "k.json:1:12: items[0]: id is missing"},
		{"P", `{"items": [{"id": "x", "stageKeys": []}]}`, "items[0].stageKeys: unknown field"},
		{"P", `{"items"`, "k.json:1:"},
	} {
		d, err := Import(plans, Keys{tt.plan, imports.File{Name: "k.json", Content: []byte(tt.text)}})
		if d != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, %v, want %s", tt.text, d, err, tt.want)
		}
	}
}

// A key whose id is its secret value is named, and its value is nowhere.
func TestSecretIDs(t *testing.T) {
	plans := imports.File{Name: "f.json", Content: []byte(`{"items": [{"id": "p", "throttle": {"rateLimit": 1, "burstLimit": 1}}]}`)}
	const secret = "OLDKEYOLDKEYOLDKEYOLDKEYOLDKEYOLDKEYOLDK"
	keys := `{"items": [{"id": "k1", "value": "v1", "name": "new"}, {"id": "OLDKEY", "value": "OLDKEY", "name": "old"},
		{"id": "` + secret + `", "name": "old, without its value"}, {"id": "` + secret + `", "name": "` + secret + `"}, {"id": "k2", "value": "OLDKEY2", "name": "OLDKEY2"}]}`
	d, err := Import(plans, Keys{"p", imports.File{Name: "k.json", Content: []byte(keys)}})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Overrides) != 2 || len(d.Lost) != 4 || d.Overrides[0].Key != "apikey:k1" || !strings.Contains(fmt.Sprint(d.Lost), `API key "old" in plan p: its id is its secret value`) {
		t.Errorf("overrides %s, lost %s", d.Overrides, d.Lost)
	}
	if all, err := json.Marshal(d); err != nil || bytes.Contains(all, []byte("OLDKEY")) {
		t.Errorf("%s, error %v", all, err)
	}
}

// A rate becomes a whole capacity in the shortest window of whole seconds that
// allows one.
func TestBucket(t *testing.T) {
	for _, tt := range []struct {
		rate, burst string
		want        string // the limit, or why there is none
	}{
		{"10.0", "20", "{algorithm: token_bucket, capacity: 10, window: 1s, burst: 20}"},
		{"1e3", "5000", "{algorithm: token_bucket, capacity: 1000, window: 1s, burst: 5000}"},
		{"0.5", "1", "{algorithm: token_bucket, capacity: 1, window: 2s}"},
		{"1.5", "3", "{algorithm: token_bucket, capacity: 3, window: 2s}"},
		{"0.1", "1", "{algorithm: token_bucket, capacity: 1, window: 10s}"},
		{"16.666666", "1", "{algorithm: token_bucket, capacity: 8333333, window: 138h53m20s, burst: 1}"},
		{"0.0166666666666", "1", "the rate has too many digits: round it"},
		{"1e-9", "1", "the rate has too many digits: round it"},
		{"1e7", "1", "{algorithm: token_bucket, capacity: 10000000, window: 1s, burst: 1}"},
		{"2.0", "0", "{algorithm: token_bucket, capacity: 2, window: 1s}"},
		{"0.00000001", "2000000000", "the burst would take more than ten years to refill"},
		{"0.0", "5", "the file states no rate, or 0"},
		{"null", "5", "the file states no rate, or 0"},
		{"5", "null", "{algorithm: token_bucket, capacity: 5, window: 1s}"},
	} {
		text := fmt.Sprintf(`{"items": [{"id": "p", "throttle": {"rateLimit": %s, "burstLimit": %s}}]}`, tt.rate, tt.burst)
		im := &importer{}
		if err := im.read(imports.File{Name: "f.json", Content: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		l, whyNot := im.plans[0].Throttle.bucket()
		got := fmt.Sprintf("{algorithm: %s, capacity: %d, window: %s", l.Algorithm, l.Capacity, l.Window)
		if l.Burst > 0 {
			got += fmt.Sprintf(", burst: %d", l.Burst)
		}
		if got += "}"; whyNot == "" && got != tt.want || whyNot != "" && !strings.HasPrefix(whyNot, tt.want) {
			t.Errorf("%s and %s: got %s, %q, want %s", tt.rate, tt.burst, got, whyNot, tt.want)
		}
	}
}

// The keys of a plan without a limit that could be imported have the limits of
// keys without a plan.
func TestPlanOfNothing(t *testing.T) {
	plans := imports.File{Name: "f.json", Content: []byte(`{"items": [{"id": "p", "throttle": {"rateLimit": 0}}, {"id": "q", "throttle": {"rateLimit": 7, "burstLimit": 9}}]}`)}
	key := func(id string) imports.File {
		return imports.File{Name: id + ".json", Content: []byte(`{"items": [{"id": "` + id + `"}]}`)}
	}
	d, err := Import(plans, Keys{"p", key("kp")}, Keys{"q", key("kq")})
	if err != nil {
		t.Fatal(err)
	}
	want := []imports.Override{{Key: "apikey:kq", Document: []byte(`{"plan":"q"}`)}}
	if diff := cmp.Diff(want, d.Overrides); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(fmt.Sprint(d.Lost), "plan p: nothing is left of it") || strings.Contains(d.Text, "  p:") {
		t.Errorf("%s\nlost: %s", d.Text, d.Lost)
	}
}

func TestTooManyPlans(t *testing.T) {
	var plans []map[string]any
	for i := range maxPlans + 1 {
		plans = append(plans, map[string]any{"id": fmt.Sprint(i), "throttle": map[string]any{"rateLimit": 1, "burstLimit": i + 1}})
	}
	text, err := json.Marshal(map[string]any{"items": plans})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Import(imports.File{Name: "f.json", Content: text}); err == nil || !strings.Contains(err.Error(), "1001 plans with 1001 different limits are more") {
		t.Errorf("got %v", err)
	}
}
