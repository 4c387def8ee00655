package ruledoc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each row is a piece of a document, and its canonical form.
func TestNormalize(t *testing.T) {
	const document = `{"unmatched":"allow","ambiguous_paths":"clean","rules":[]}`
	rule := func(fields string) string {
		return `{"unmatched":"allow","ambiguous_paths":"clean","rules":[{"name":"r",` + fields + `,"mode":"enforce","on_error":"local"}]}`
	}
	const limits = `"limits":[{"algorithm":"sliding_window","capacity":10,"window":"1m","granularity":"1s","cost":1}]`
	limit := func(fields string) string { return rule(`"key":"k","limits":[{` + fields + `,"cost":1}]`) }
	byPath := func(document string) string { return strings.Replace(document, "clean", "deny", 1) }
	for _, tt := range []struct{ name, document, want string }{
		{"defaults", `{"rules":[]}`, document},
		{"instances", `{"defaults":{"instances":20,"on_error":"deny"},"rules":[]}`, strings.Replace(document, "{", `{"defaults":{"instances":20},`, 1)},
		{"unmatched", `{"unmatched":"deny","rules":[]}`, strings.Replace(document, "allow", "deny", 1)},
		{"paths of a rule that is off", `{"rules":[{"name":"r","key":"k","unless":{"path":"/x"},"limits":[{"capacity":10,"window":"60s"}],"mode":"off"}]}`,
			strings.Replace(rule(`"unless":{"path":"/x"},"key":"k",`+limits), "enforce", "off", 1)},
		{"no proxies", `{"client_ip":{"trusted_hops":0},"rules":[]}`, document},
		{"entries", `{"deny":[{"methods":"get","cidrs":["10.0.0.0/8"]},{"path":"/x"},{"cidrs":["2001:DB8::/32","10.0.0.0/8"],"methods":"GET"}],"rules":[]}`,
			`{"unmatched":"allow","ambiguous_paths":"deny","deny":[{"methods":"GET","cidrs":["10.0.0.0/8","2001:db8::/32"]},{"path":"/x"}],"rules":[]}`},
		{"on_error of all", `{"defaults":{"on_error":"deny"},"rules":[{"name":"r","key":"k","limits":[{"capacity":10,"window":"60s"}]}]}`,
			strings.Replace(rule(`"key":"k",`+limits), "local", "deny", 1)},
		{"own counter", `{"rules":[{"name":"r","key":"k","counter":"r","limits":[{"capacity":10,"window":"60s"}]}]}`, rule(`"key":"k",` + limits)},
		{"all callers", `{"rules":[{"name":"r","key":"k","when":{"caller":["known","rejected","anonymous"]},"limits":[{"capacity":10,"window":"60s"}]}]}`, rule(`"key":"k",` + limits)},
		{"routes", `{"rules":[{"name":"r","key":"k","when":{"route":["/b","/a","/b"]},"limits":[{"capacity":10,"window":"60s"}]}]}`,
			byPath(rule(`"when":{"route":["/a","/b"]},"key":"k",` + limits))},
		{"routes in keys", `{"rules":[{"name":"r","key":"{route}","when":{"route":["/b","/a","/b"]},"limits":[{"capacity":10,"window":"60s"}]}]}`,
			byPath(rule(`"when":{"route":["/b","/a"]},"key":"{route}",` + limits))},
		{"headers", `{"rules":[{"name":"r","key":"{header.X-User}|{jwt.Sub}","trusted":"header.X-User","headers":"on","limits":[{"capacity":10,"window":"60s"}]}]}`,
			rule(`"key":"{header.x-user}|{jwt.Sub}","trusted":"header.x-user",` + limits)},
		{"the default of addresses", `{"rules":[{"name":"r","key":"{ip/64}|{ip/128}","limit":"10/minute"}]}`, rule(`"key":"{ip}|{ip/128}",` + limits)},
		{"no overrides", `{"rules":[{"name":"r","key":"k","overrides":false,"limits":[{"capacity":10,"window":"60s"}]}]}`, rule(`"key":"k",` + limits)},
		{"overrides by the own key", `{"rules":[{"name":"r","key":"k","overrides":"k","limits":[{"capacity":10,"window":"60s"}]}]}`, rule(`"key":"k","overrides":true,"cost":1,` + limits)},
		{"an answer over that of all", `{"denied":{"status":503,"title":"Full"},"rules":[{"name":"r","key":"k","limit":"10/minute","denied":{"title":"Spent"}}]}`,
			strings.Replace(strings.Replace(rule(`"key":"k",`+limits), `"rules"`, `"denied":{"status":503,"title":"Full"},"rules"`, 1),
				`"local"`, `"local","denied":{"status":503,"title":"Spent"}`, 1)},
		{"the answer of all", `{"rules":[{"name":"r","key":"k","limit":"10/minute","denied":{"status":429}}]}`, rule(`"key":"k",` + limits)},
		{"statuses", `{"rules":[{"name":"r","key":"k","refund_on":["5xx",404,503],"limits":[{"capacity":10,"window":"60s"}]}]}`, rule(`"key":"k",` + limits + `,"refund_on":[404,"5xx"]`)},
		{"costs", `{"rules":[{"name":"r","key":"k","cost":2,"limits":[{"name":"b","capacity":10,"window":"60s"},{"name":"a","capacity":10,"window":"60s","cost":0}]}]}`,
			rule(`"key":"k","limits":[{"name":"a","algorithm":"sliding_window","capacity":10,"window":"1m","granularity":"1s","cost":0},` +
				`{"name":"b","algorithm":"sliding_window","capacity":10,"window":"1m","granularity":"1s","cost":2}]`)},

		{"a rate", `{"rules":[{"name":"r","key":"k","limit":"10/minute"}]}`, rule(`"key":"k",` + limits)},
		{"one limit", `{"rules":[{"name":"r","key":"k","limit":{"capacity":10,"window":"60s"}}]}`, rule(`"key":"k",` + limits)},
		{"a list of one rate", `{"rules":[{"name":"r","key":"k","limits":["10 per 60s"]}]}`, rule(`"key":"k",` + limits)},
		{"a rate of the calendar", `{"rules":[{"name":"r","key":"k","limit":"10/month"}]}`, limit(`"algorithm":"fixed_window","capacity":10,"window":"1mo","timezone":"UTC"`)},
		{"several rates", `{"rules":[{"name":"r","key":"k","limits":["1000/h","20/s"]}]}`,
			rule(`"key":"k","limits":[{"name":"per-hour","algorithm":"sliding_window","capacity":1000,"window":"1h","granularity":"1m","cost":1},` +
				`{"name":"per-second","algorithm":"sliding_window","capacity":20,"window":"1s","granularity":"100ms","cost":1}]`)},
		{"burst", `{"rules":[{"name":"r","key":"k","limits":[{"algorithm":"token_bucket","capacity":10,"window":"1s"}]}]}`, limit(`"algorithm":"token_bucket","capacity":10,"burst":10,"window":"1s"`)},
		{"queue", `{"rules":[{"name":"r","key":"k","limits":[{"algorithm":"leaky_bucket","capacity":10,"window":"1s","queue":3}]}]}`, limit(`"algorithm":"leaky_bucket","capacity":10,"queue":3,"window":"1s"`)},
		{"a day in UTC", `{"rules":[{"name":"r","key":"k","limits":[{"capacity":10,"window":"1d","timezone":"UTC"}]}]}`, limit(`"algorithm":"fixed_window","capacity":10,"window":"1d"`)},
		{"24 hours", `{"rules":[{"name":"r","key":"k","limits":[{"algorithm":"fixed_window","capacity":10,"window":"24h"}]}]}`, limit(`"algorithm":"fixed_window","capacity":10,"window":"1d"`)},
		{"a day elsewhere", `{"rules":[{"name":"r","key":"k","limits":[{"capacity":10,"window":"1d","timezone":"Asia/Tokyo"}]}]}`,
			limit(`"algorithm":"fixed_window","capacity":10,"window":"1d","timezone":"Asia/Tokyo"`)},
		{"a week", `{"rules":[{"name":"r","key":"k","limits":[{"capacity":10,"window":"1w"}]}]}`, limit(`"algorithm":"fixed_window","capacity":10,"window":"1w","timezone":"UTC"`)},
		{"a month", `{"rules":[{"name":"r","key":"k","limits":[{"capacity":10,"window":"1mo","anchor":1}]}]}`, limit(`"algorithm":"fixed_window","capacity":10,"window":"1mo","timezone":"UTC"`)},
		{"a month by a claim", `{"rules":[{"name":"r","key":"k","limits":[{"capacity":10,"window":"1mo","anchor":{"from":"jwt.day"}}]}]}`,
			limit(`"algorithm":"fixed_window","capacity":10,"window":"1mo","timezone":"UTC","anchor":{"from":"jwt.day","default":1}`)},

		{"capacities of a plan", `{"plan":{"from":"jwt.plan"},"rules":[{"name":"r","key":"k","limits":[{"name":"a","capacity":10,"window":"60s"}]}],"plans":{"pro":{"r":60},"free":{}}}`,
			`{"unmatched":"allow","ambiguous_paths":"clean","plan":{"from":"jwt.plan"},"rules":[{"name":"r","key":"k","limits":[{"name":"a","algorithm":"sliding_window","capacity":10,` +
				`"window":"1m","granularity":"1s","cost":1}],"mode":"enforce","on_error":"local"}],"plans":{"free":{},"pro":{"r":{"a":60}}}}`},
		{"no plans", `{"plan":{"from":"jwt.plan"},"rules":[],"plans":{}}`, `{"unmatched":"allow","ambiguous_paths":"clean","plan":{"from":"jwt.plan"},"rules":[],"plans":{}}`},
		{"overrides without leave", `{"rules":[{"name":"r","key":"k","limits":[{"capacity":10,"window":"60s"}]}],"overrides":{"r":{"k":{"deny":true,"until":"2026-12-31T01:00:00+01:00"}},"s":{}}}`,
			`{"unmatched":"allow","ambiguous_paths":"clean","rules":[{"name":"r","key":"k","cost":1,` + limits + `,"mode":"enforce","on_error":"local"}],` +
				`"overrides":{"r":{"k":{"deny":true,"until":"2026-12-31T00:00:00Z"}}}}`},
	} {
		d, err := Unmarshal([]byte(tt.document))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Marshal(Normalize(d))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
