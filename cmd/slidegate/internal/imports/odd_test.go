package imports_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports/envoy"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports/usageplans"
)

// odd are texts that have a meaning in YAML, in keys, in patterns or on
// terminals, or that are very long.
var odd = []string{
	"a", "-", "*", "**", "a*", "a*b", "/", "/a", "/a/*", "/a b", "/{x}", "/%41", "/a?b=c", "//a/../b", "/" + strings.Repeat("é", 300), "198.51.100.7",
	"198.51.100.0/24", "2001:db8::1", "a:b|c", "%41", "{ip}", "}", "# x", "a # b", "'", `"`, `\`, "a\nb", "\u2028", "\u0085", "\x7f", "\x1b[31m", "\ufeff",
	"\ufffd", strings.Repeat("<", 99), strings.Repeat("x", 400), "null", "~", "yes", "7", "1e3", ".inf", "GET", "g t", "ANY", "deny", "plan", "é", "\U0001F600",
}

// oddText returns a random odd text.
func oddText(r *rand.Rand) string {
	text := odd[r.IntN(len(odd))]
	if r.IntN(5) == 0 {
		text += odd[r.IntN(len(odd))]
	}
	return text
}

// quote writes text in quotes, as YAML.
func quote(text string) string {
	return strings.ReplaceAll(strconv.Quote(text), "<", `\u003c`) // YAML may read "<<" as a merge key
}

// A descriptor file with any texts becomes a valid document.
func TestOddWordsInDescriptors(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	keys := []string{"remote_address", "path", "method", "x-a", "a", "b", "c", "d", "e"}
	sources := parseSources(t, "a=jwt.a", "b=apikey", "c=query.c", "d=any", "e=route")
	var list func(depth int) string
	list = func(depth int) string {
		var entries []string
		for range 1 + r.IntN(4) {
			text := "{key: " + keys[r.IntN(len(keys))]
			if r.IntN(20) == 0 {
				text = "{key: " + quote("k"+oddText(r))
			}
			if r.IntN(3) > 0 {
				text += ", value: " + quote(oddText(r))
			}
			if r.IntN(4) > 0 {
				text += fmt.Sprintf(", rate_limit: {unit: day, requests_per_unit: %d, name: %s}", r.IntN(5), quote(oddText(r)))
			}
			if depth < 3 && r.IntN(3) == 0 {
				text += ", descriptors: " + list(depth+1)
			}
			entries = append(entries, text+"}")
		}
		return "[" + strings.Join(entries, ", ") + "]"
	}
	valid := 0
	for range 1000 {
		text := "{domain: " + quote(oddText(r)) + ", descriptors: " + list(0) + "}"
		d, err := envoy.Import(sources, imports.File{Name: "f.yaml", Content: []byte(text)})
		if err != nil {
			continue // the same descriptor twice
		}
		valid++
		checkRules(t, d)
		checkLines(t, d)
	}
	if valid < 500 {
		t.Errorf("only %d files were valid", valid)
	}
}

// Usage plans with any texts become a valid document.
func TestOddWordsInUsagePlans(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	throttle := func() map[string]any {
		return map[string]any{"rateLimit": []float64{0, 0.1, 1, 7, 1e9}[r.IntN(5)], "burstLimit": []int{0, 1, 7, 1 << 30}[r.IntN(4)]}
	}
	for range 500 {
		var plans, keys []map[string]any
		for i := range 1 + r.IntN(3) {
			methods := map[string]any{}
			for range r.IntN(3) {
				methods[oddText(r)+"/"+[]string{"GET", "ANY", oddText(r)}[r.IntN(3)]] = throttle()
			}
			plans = append(plans, map[string]any{"id": fmt.Sprint(i, oddText(r)), "name": oddText(r), "tags": map[string]string{oddText(r): oddText(r)},
				"throttle": throttle(), "apiStages": []any{map[string]any{"apiId": oddText(r), "stage": oddText(r), "throttle": methods}},
				"quota": map[string]any{"limit": r.IntN(3), "offset": r.IntN(2), "period": []string{"DAY", "WEEK", "MONTH"}[r.IntN(3)]}})
			keys = append(keys, map[string]any{"id": fmt.Sprint("k", i, oddText(r)), "name": oddText(r), "type": "API_KEY"})
		}
		file := func(name string, items []map[string]any) imports.File {
			text, err := json.Marshal(map[string]any{"items": items})
			if err != nil {
				t.Fatal(err)
			}
			return imports.File{Name: name, Content: text}
		}
		d, err := usageplans.Import(file("f.json", plans), usageplans.Keys{Plan: plans[0]["id"].(string), File: file("k.json", keys)})
		if err != nil && strings.Contains(err.Error(), "the control character") {
			continue // JSON may hold one as it is, and YAML may not
		}
		if err != nil {
			t.Fatal(err)
		}
		checkRules(t, d)
		checkLines(t, d)
	}
}

// checkLines checks that each loss is one line that cannot steer a terminal.
func checkLines(t testing.TB, d *imports.Result) {
	t.Helper()
	for _, l := range d.Lost {
		if strings.ContainsAny(l.String(), "\n\x1b") {
			t.Fatalf("%q breaks the line", l)
		}
	}
}
