package imports

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// odd are words that mean something to YAML, to keys, to patterns or to terminals, or are too long for anything.
var odd = []string{
	"a", "-", "*", "**", "a*", "a*b", "/", "/a", "/a/*", "/a b", "/{x}", "/%41", "/a?b=c", "//a/../b", "/" + strings.Repeat("é", 300), "198.51.100.7",
	"198.51.100.0/24", "2001:db8::1", "a:b|c", "%41", "{ip}", "}", "# x", "a # b", "'", `"`, `\`, "a\nb", "\u2028", "\u0085", "\x7f", "\x1b[31m", "\ufeff",
	"\ufffd", strings.Repeat("<", 99), strings.Repeat("x", 400), "null", "~", "yes", "7", "1e3", ".inf", "GET", "g t", "ANY", "deny", "plan", "é", "\U0001F600",
}

func oddWord(r *rand.Rand) string {
	word := odd[r.IntN(len(odd))]
	if r.IntN(5) == 0 {
		word += odd[r.IntN(len(odd))]
	}
	return word
}

// Whatever words a file is made of, it comes to a document that the rules take.
func TestOddWordsInDescriptors(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	keys := []string{"remote_address", "path", "method", "x-a", "a", "b", "c", "d", "e"}
	sources := said(t, "a=jwt.a", "b=apikey", "c=query.c", "d=any", "e=route")
	var list func(depth int) string
	list = func(depth int) string {
		var entries []string
		for range 1 + r.IntN(4) {
			text := "{key: " + keys[r.IntN(len(keys))]
			if r.IntN(20) == 0 {
				text = "{key: " + quote("k"+oddWord(r))
			}
			if r.IntN(3) > 0 {
				text += ", value: " + quote(oddWord(r))
			}
			if r.IntN(4) > 0 {
				text += fmt.Sprintf(", rate_limit: {unit: day, requests_per_unit: %d, name: %s}", r.IntN(5), quote(oddWord(r)))
			}
			if depth < 3 && r.IntN(3) == 0 {
				text += ", descriptors: " + list(depth+1)
			}
			entries = append(entries, text+"}")
		}
		return "[" + strings.Join(entries, ", ") + "]"
	}
	taken := 0
	for range 1000 {
		text := "{domain: " + quote(oddWord(r)) + ", descriptors: " + list(0) + "}"
		d, err := Envoy(sources, File{"f.yaml", []byte(text)})
		if err != nil {
			continue // the same descriptor twice
		}
		taken++
		isRules(t, d)
		for _, l := range d.Lost {
			if strings.ContainsAny(l.String(), "\n\x1b") {
				t.Fatalf("%q breaks the line", l)
			}
		}
	}
	if taken < 500 {
		t.Errorf("only %d files were taken", taken)
	}
}

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
				methods[oddWord(r)+"/"+[]string{"GET", "ANY", oddWord(r)}[r.IntN(3)]] = throttle()
			}
			plans = append(plans, map[string]any{"id": fmt.Sprint(i, oddWord(r)), "name": oddWord(r), "tags": map[string]string{oddWord(r): oddWord(r)},
				"throttle": throttle(), "apiStages": []any{map[string]any{"apiId": oddWord(r), "stage": oddWord(r), "throttle": methods}},
				"quota": map[string]any{"limit": r.IntN(3), "offset": r.IntN(2), "period": []string{"DAY", "WEEK", "MONTH"}[r.IntN(3)]}})
			keys = append(keys, map[string]any{"id": fmt.Sprint("k", i, oddWord(r)), "name": oddWord(r), "type": "API_KEY"})
		}
		file := func(name string, items []map[string]any) File {
			text, err := json.Marshal(map[string]any{"items": items})
			if err != nil {
				t.Fatal(err)
			}
			return File{name, text}
		}
		d, err := UsagePlans(file("f.json", plans), PlanKeys{plans[0]["id"].(string), file("k.json", keys)})
		if err != nil && strings.Contains(err.Error(), "the control character") {
			continue // JSON may hold one as it is, and YAML may not
		}
		if err != nil {
			t.Fatal(err)
		}
		isRules(t, d)
		for _, l := range d.Lost {
			if strings.ContainsAny(l.String(), "\n\x1b") {
				t.Fatalf("%q breaks the line", l)
			}
		}
	}
}
