package suggest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// traffic is a log of JSON Lines.
func traffic(order logs.Order, text string) *logs.Traffic {
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	return &logs.Traffic{Order: order, Logs: []logs.Log{{Name: "log", Format: logs.JSONL, Open: open}}}
}

func run(t *logs.Traffic, o Options) (*Report, error) {
	return Run(context.Background(), t, o, func(int) {})
}

// outcome replays all of the traffic through a rules file.
func outcome(t *rapid.T, log *logs.Traffic, file string) Outcome {
	set, err := rulefile.Parse("rules", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var decisions bytes.Buffer
	r, err := replay.Run(context.Background(), log, replay.Options{
		Engine: engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.NewSequential(1000), Local: memory.New(0)}),
		Rules:  set, Decisions: &decisions,
	})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for line := range strings.Lines(decisions.String()) {
		if f := strings.Split(line, "\t"); f[3] == "0" {
			keys[f[2]] = true
		}
	}
	return Outcome{Keys: len(keys), Denied: r.WouldDeny}
}

// TestPredictions: any row of the tables, and the proposed rule, is to the unit
// what a replay of all of the traffic counts. Keys at or below the lowest limit,
// which no engine has decided, are among it.
func TestPredictions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := traffic(rapid.SampledFrom([]logs.Order{logs.ByTime, logs.AsLogged}).Draw(t, "order"), drawLog(t))
		o := Options{Key: rapid.SampledFrom([]string{"u:{jwt.sub}", "{jwt.sub}|{method}"}).Draw(t, "key"), Windows: []string{"1s", "10s", "1m"}}
		r, err := run(log, o)
		if err != nil {
			t.Fatal(err)
		}
		same := func(what string, got Outcome, file string) {
			if got.WithStatus, got.Answered = 0, 0; got != outcome(t, log, file) {
				t.Fatalf("%s: predicted %+v, a replay has %+v\n%s", what, got, outcome(t, log, file), file)
			}
		}
		same("proposed", r.Proposed, r.Rules)
		for i, w := range r.Windows {
			row := rapid.SampledFrom(w.Limits).Draw(t, w.Window)
			capacity := make([]int64, len(r.Windows))
			capacity[i] = row.Limit
			text, _, err := (&learner{o: &o, report: *r}).write(capacity)
			if err != nil {
				t.Fatal(err)
			}
			same(fmt.Sprintf("%d in %s", row.Limit, w.Window), row.Outcome, text)
			knee := slices.IndexFunc(w.Limits, func(row Row) bool { return row.Keys*100 <= r.Keys })
			if knee < 0 || !w.Limits[knee].Knee {
				t.Fatalf("the knee in %s is not the first to touch at most 1%% of %d keys: %+v", w.Window, r.Keys, w.Limits)
			}
		}
	})
}

// drawLog writes a log of 40 callers, preflights, ambiguous paths, requests
// without a caller, and bursts.
func drawLog(t *rapid.T) string {
	var b strings.Builder
	at := 1e9
	for sub := range 40 {
		fmt.Fprintf(&b, `{"time":%.3f,"method":"GET","path":"/","jwt":{"sub":"%d"}}`+"\n", at, sub)
	}
	step := rapid.SampledFrom([]float64{0, 0, 0, 0.001, 0.1, 0.5, 1, 5, 10, 61, -3})
	for range rapid.IntRange(0, 60).Draw(t, "bursts") {
		sub, n := rapid.IntRange(0, 8).Draw(t, "caller"), rapid.IntRange(1, 25).Draw(t, "requests")
		every := step.Draw(t, "every")
		for range n {
			at += every
			line := map[string]any{
				"time": fmt.Sprintf("%.3f", at), "method": "GET", "path": "/", "jwt": map[string]any{"sub": fmt.Sprint(sub)}, "status": rapid.SampledFrom([]int{200, 404, 0}).Draw(t, "status"),
			}
			switch rapid.IntRange(0, 30).Draw(t, "kind") {
			case 0:
				delete(line, "jwt")
			case 1:
				line["path"] = "/a/%2e%2e/b"
			case 2:
				line["method"] = "OPTIONS"
				line["headers"] = map[string]string{"origin": "https://a.example", "access-control-request-method": "PUT"}
			case 3:
				line["method"] = "POST"
			}
			text, _ := json.Marshal(line)
			b.Write(append(text, '\n'))
		}
	}
	return b.String()
}

// A key is a letter of several that come once a minute, beside a caller with
// bursts. Options leave out some of it.
func TestOptions(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `{"time":%d,"path":"/","ip":"192.0.2.%d","status":200}`+"\n", 1_000_000_000+i*60, i)
	}
	for i := range 50 { // an attack
		fmt.Fprintf(&b, `{"time":%d,"path":"/","ip":"198.51.100.%d","status":403}`+"\n", 1_000_000_000+i, 7+i%2)
	}
	for i := range 3 {
		fmt.Fprintf(&b, `{"time":%d,"path":"/","ip":"192.0.2.3","headers":{"x-forwarded-for":"unknown"}}`+"\n", 1_000_000_000+i)
	}
	for _, tc := range []struct {
		exclude []string
		only    []rules.Statuses
		want    string
	}{
		{nil, nil, "93 of 42 keys, knee 30, 0 excluded, 0 other"},
		{[]string{"ip:198.51.100.7"}, nil, "68 of 41 keys, knee 30, 25 excluded, 0 other"},
		{[]string{"198.51.100.8", "198.51.100.7"}, nil, "43 of 40 keys, knee 3, 50 excluded, 0 other"},
		{[]string{"198.51.100.0/24"}, nil, "43 of 40 keys, knee 3, 50 excluded, 0 other"},
		{[]string{"198.51.100.0/33", "ip:198.51.100.7", "::ffff:198.51.100.8", "10.0.0.0/8"}, nil, "43 of 40 keys, knee 3, 50 excluded, 0 other, unused [198.51.100.0/33 10.0.0.0/8]"},
		{nil, []rules.Statuses{{First: 200, Last: 299}}, "40 of 40 keys, knee 1, 0 excluded, 53 other"},
		{nil, []rules.Statuses{{First: 200, Last: 200}, {First: 403, Last: 403}}, "90 of 42 keys, knee 30, 0 excluded, 3 other"},
		{[]string{"::ffff:198.51.100.0/120"}, nil, "43 of 40 keys, knee 3, 50 excluded, 0 other"},
		{[]string{"64:ff9b::/96"}, nil, "93 of 42 keys, knee 30, 0 excluded, 0 other, unused [64:ff9b::/96]"}, // not every IPv4 address
		{[]string{"192.0.2.0/26"}, nil, "want at least 30 keys, got 2 (50 requests, 43 left out): add logs, or use a key with more values"},
	} {
		r, err := run(traffic(logs.ByTime, b.String()), Options{Key: "ip:{ip}", Windows: []string{"1m"}, Exclude: tc.exclude, Only: tc.only, Hops: 1})
		got := fmt.Sprint(err)
		if err == nil {
			if r.NoAddress != 3 || r.FirstEntry != "x-forwarded-for: unknown" {
				t.Errorf("%d requests without an address, first %q", r.NoAddress, r.FirstEntry)
			}
			w := r.Windows[0].Limits
			at := slices.IndexFunc(w, func(row Row) bool { return row.Knee })
			got = fmt.Sprintf("%d of %d keys, knee %d, %d excluded, %d other", r.Counted, r.Keys, w[at].Limit, r.Excluded, r.OtherStatus)
			if r.Unused != nil {
				got += fmt.Sprintf(", unused %s", r.Unused)
			}
		}
		if got != tc.want {
			t.Errorf("%v, %v: %s\nwant %s", tc.exclude, tc.only, got, tc.want)
		}
	}
}

// Errors name the flag that is wrong, or what the log has.
func TestErrors(t *testing.T) {
	var some, plain strings.Builder
	for i := range 40 {
		fmt.Fprintf(&some, `{"time":%d,"path":"/","ip":"192.0.2.%d","status":200}`+"\n", 1_000_000_000+i, i)
		fmt.Fprintf(&plain, `{"time":%d,"path":"/","ip":"192.0.2.%d"}`+"\n", 1_000_000_000+i, i)
	}
	var b strings.Builder
	for _, tc := range []struct {
		key, windows, log string
	}{
		{"ip:{ipp}", "1m", ""},
		{"ip:{ip", "1m", ""},
		{"user:{jwt}", "1m", ""},
		{"ip:{ip}", "1m 77x", ""},
		{"ip:{ip}", "1m 10ms", ""},
		{"ip:{ip}", "1m 60s", ""},
		{"ip:{ip}", "1w", ""},
		{"ip:{ip}", "1s 2s 3s 4s 5s 6s 7s 8s 9s", ""},
		{"ip:{ip}", "", ""},
		{"user:{jwt.sub}", "1m", some.String()},
		{"ip:{ip}", "1m", ""},
		{"ip:{ip}", "1m", "only " + plain.String()},
	} {
		o := Options{Key: tc.key, Windows: strings.Split(tc.windows, " ")}
		log, only := strings.CutPrefix(tc.log, "only ")
		if only {
			o.Only = []rules.Statuses{{First: 200, Last: 299}}
		}
		_, err := run(traffic(logs.ByTime, log), o)
		fmt.Fprintf(&b, "%s by %s of %d bytes:\n  %v\n", tc.key, tc.windows, len(log), err)
	}
	golden.Check(t, "testdata/errors.golden", b.String())
}

// A log that changes between the passes is no ground for a proposal.
func TestLogThatChanges(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `{"time":%d,"path":"/","ip":"192.0.2.%d"}`+"\n", 1_000_000_000+i, i)
	}
	for _, second := range []string{
		b.String() + `{"time":1000000000,"path":"/","ip":"192.0.2.1"}`,
		b.String() + `{"time":1000000000,"path":"/","ip":"192.0.2.99"}`,
		strings.Replace(b.String(), `1000000005,"path":"/","ip":"192.0.2.5"`, `1000000006,"path":"/","ip":"192.0.2.5"`, 1),
		strings.Replace(b.String(), `1000000005,"path":"/","ip":"192.0.2.5"`, `1000000005,"path":"/","ip":"192.0.2.6"`, 1),
	} {
		log, texts := traffic(logs.ByTime, ""), []string{b.String(), second}
		log.Logs[0].Open = func() (io.ReadCloser, error) {
			text := texts[0]
			texts = texts[1:]
			return io.NopCloser(strings.NewReader(text)), nil
		}
		if _, err := run(log, Options{Key: "ip:{ip}", Windows: []string{"1m"}}); !errors.Is(err, errChanged) {
			t.Errorf("%v", err)
		}
	}
}

// Logs of whole days begin after midnight and end before the next.
func TestConfidence(t *testing.T) {
	for _, tc := range []struct {
		keys, days int
		span       time.Duration
		want       string
	}{
		{30, 126, 3000 * time.Hour, "low: 30 keys: 1% is less than one key, so a knee touches none; 126 days with requests in 125d 0h: a whole week is covered"},
		{2000, 1, 23 * time.Hour, "low: 2,000 keys; 1 day with requests in 23h 0m: no whole day, daily and weekly peaks are not in it"},
		{100, 1, 24*time.Hour - time.Minute, "fair: 100 keys; 1 day with requests in 23h 59m: no whole week, weekly peaks are not in it"},
		{999, 7, 7*24*time.Hour - 2*time.Second, "fair: 999 keys; 7 days with requests in 6d 23h: a whole week is covered"},
		{1000, 7, 166 * time.Hour, "fair: 1,000 keys; 7 days with requests in 6d 22h: no whole week, weekly peaks are not in it"},
		{1000, 7, 168 * time.Hour, "good: 1,000 keys; 7 days with requests in 7d 0h: a whole week is covered"},
		{1000, 2, 480 * time.Hour, "fair: 1,000 keys; 2 days with requests in 20d 0h: no whole week, weekly peaks are not in it"},
	} {
		r := Report{Keys: tc.keys}
		r.First, r.Last = time.Unix(0, 0), time.Unix(0, 0).Add(tc.span)
		c := confidence(&r, tc.days)
		if got := c.Level + ": " + strings.Join(c.Reasons, "; "); got != tc.want || c.WholeWeek != strings.HasSuffix(tc.want, "a whole week is covered") {
			t.Errorf("%s\nwant %s", got, tc.want)
		}
	}
}

func TestAnyPeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peaks := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 50), rapid.Int64Range(1, 1e7)), 30, 300).Draw(t, "peaks")
		slices.Sort(peaks)
		slices.Reverse(peaks)
		limits, knee := candidates(peaks)
		over := func(limit int64) (n int) {
			for _, p := range peaks {
				if p > limit {
					n++
				}
			}
			return n
		}
		at := slices.Index(limits, knee)
		switch {
		case !slices.IsSorted(limits), over(limits[0])*10 > len(peaks), over(limits[len(limits)-1]) != 0:
			t.Fatalf("limits %v", limits)
		case at < 0 || over(limits[at])*100 > len(peaks) || at > 0 && over(limits[at-1])*100 <= len(peaks):
			t.Fatalf("knee %d of %v", at, limits)
		}
	})
}

// Numbers of the windows in which requests came, and the requests of the typical
// one.
func TestTypicalWindow(t *testing.T) {
	for _, tc := range []struct {
		windows []int64
		want    int64
	}{
		{[]int64{0}, 1},
		{[]int64{0, 0, 0}, 3},
		{[]int64{0, 5, 5, 5}, 1},             // 1 and 3: the lower
		{[]int64{0, 5, 5, 5, 9, 9, 9}, 3},    // 1, 3, 3
		{[]int64{0, 1, 1, 1, 0, 0}, 1},       // late: they count in window 1, which has 5
		{[]int64{0, 0, 1, 2, 2, 2, 3, 3}, 2}, // 2, 1, 3, 2
	} {
		var a activity
		for _, w := range tc.windows {
			a.add(w)
		}
		if got := a.median(); got != tc.want {
			t.Errorf("%v: %d, want %d", tc.windows, got, tc.want)
		}
	}
}

func TestRuleName(t *testing.T) {
	for key, want := range map[string]string{
		"ip:{ip}": "per-ip", "user:{jwt.sub}": "per-jwt-sub", "{header.X-Tenant}|{route}": "per-header-x-tenant-route",
		"{ip/24}": "per-ip-24", "all": "suggested", "{}": "per",
	} {
		if got := ruleName(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// A limit of a longer window is twice that of the one before at least, and of no use
// if the log covers too few of its periods. The shortest window stays.
func TestFit(t *testing.T) {
	for _, tc := range []struct {
		span           time.Duration
		capacity, want []int64 // of an hour, a minute, a day
	}{
		{72 * time.Hour, []int64{50, 20, 200}, []int64{50, 20, 200}},
		{72 * time.Hour, []int64{50, 50, 50}, []int64{100, 50, 200}},
		{72 * time.Hour, []int64{200, 20, 100}, []int64{200, 20, 400}},
		{71 * time.Hour, []int64{50, 20, 50}, []int64{50, 20, 0}},
		{3 * time.Hour, []int64{30, 20, 30}, []int64{40, 20, 0}},
		{2 * time.Hour, []int64{50, 20, 50}, []int64{0, 20, 0}},
		{0, []int64{30, 30, 30}, []int64{0, 30, 0}},
	} {
		r := Report{Windows: []Window{{Length: time.Hour}, {Length: time.Minute}, {Length: 24 * time.Hour}}}
		r.First, r.Last = time.Unix(0, 0), time.Unix(0, 0).Add(tc.span)
		got := slices.Clone(tc.capacity)
		if r.fit(got); !slices.Equal(got, tc.want) {
			t.Errorf("%v %v: %v, want %v", tc.span, tc.capacity, got, tc.want)
		}
	}
}

// A path and a method that no request has are named.
func TestNoSuchRoute(t *testing.T) {
	const log = `{"time":1,"method":"GET","path":"/a","ip":"192.0.2.1"}`
	for _, o := range []Options{{Path: "/a?x=1"}, {Methods: []string{"GTE"}}} {
		o.Key, o.Windows = "ip:{ip}", []string{"1m"}
		if _, err := run(traffic(logs.ByTime, log), o); err == nil || !strings.Contains(err.Error(), "no request has the path of --path") {
			t.Errorf("%v: %v", o, err)
		}
	}
}

// TestFloods: 40 ordinary keys of 6 requests in an hour, and others.
func TestFloods(t *testing.T) {
	ordinary := func(b *strings.Builder) {
		for i := range 240 {
			fmt.Fprintf(b, `{"time":%d,"method":"GET","path":"/a","ip":"192.0.2.%d","status":200}`+"\n", 15*i, i%40)
		}
	}
	login := func(b *strings.Builder, n, apart int, ip string) {
		for i := range n {
			fmt.Fprintf(b, `{"time":%d,"method":"POST","path":"/login","ip":"%s","status":%d}`+"\n", 900+i*apart, ip, 401-i%2)
		}
	}
	var bots []string
	for i := range 6 {
		bots = append(bots, fmt.Sprintf("ip:198.51.100.%d 60 60 map[4xx:60]", i))
	}
	for _, tc := range []struct {
		name string
		log  func(b *strings.Builder)
		o    Options
		want string // floods; then how many requests the rule does not cover, and its limit
	}{
		{"none", func(*strings.Builder) {}, Options{}, "; 0, 1/1m"},
		{"a high peak", func(b *strings.Builder) { login(b, 60, 1, "198.51.100.1") }, Options{}, "ip:198.51.100.1 60 60 map[4xx:60]; 0, 70/1m"},
		{"a large share, at a low rate", func(b *strings.Builder) { login(b, 90, 30, "198.51.100.1") }, Options{}, "ip:198.51.100.1 90 2 map[4xx:90]; 0, 3/1m"},
		{"three times the others", func(b *strings.Builder) { login(b, 3, 1, "198.51.100.1") }, Options{}, "; 0, 3/1m"},
		{"two", func(b *strings.Builder) { login(b, 60, 1, "198.51.100.1"); login(b, 70, 1, "198.51.100.2") }, Options{},
			"ip:198.51.100.2 70 60 map[4xx:70], ip:198.51.100.1 60 60 map[4xx:60]; 0, 70/1m"},
		{"more than five", func(b *strings.Builder) {
			for i := range 60 {
				login(b, 1, 1, fmt.Sprint("203.0.113.", i))
			}
			for i := range 6 {
				login(b, 60, 1, fmt.Sprint("198.51.100.", i))
			}
		}, Options{}, strings.Join(bots, ", ") + "; 0, 70/1m"},
		{"left out", func(b *strings.Builder) { login(b, 60, 1, "198.51.100.1") }, Options{Exclude: []string{"198.51.100.1"}}, "; 0, 1/1m"},
		{"another route", func(b *strings.Builder) { login(b, 60, 1, "198.51.100.1") }, Options{Path: "/a", Methods: []string{"GET"}}, "; 60, 1/1m, path /a"},
		{"another method", func(b *strings.Builder) { login(b, 60, 1, "198.51.100.1") }, Options{Methods: []string{"GET"}}, "; 60, 1/1m"},
	} {
		var b strings.Builder
		ordinary(&b)
		tc.log(&b)
		tc.o.Key, tc.o.Windows = "ip:{ip}", []string{"1m"}
		r, err := run(traffic(logs.ByTime, b.String()), tc.o)
		if err != nil {
			t.Fatal(err)
		}
		var floods []string
		for _, f := range r.Floods {
			floods = append(floods, fmt.Sprint(f.Key, " ", f.Requests, " ", f.Peak, " ", f.Statuses))
		}
		set, err := rulefile.Parse("proposed", []byte(r.Rules))
		if err != nil {
			t.Fatal(err)
		}
		rule := set.Document().Rules[0]
		got := fmt.Sprintf("%s; %d, %d/%s", strings.Join(floods, ", "), r.OtherRoute, rule.Limits[0].Capacity, rule.Limits[0].Window)
		if rule.When != nil && rule.When.Path != nil {
			got += ", path " + rule.When.Path[0]
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestExcludedKeys: a key is left out as the log has it, with plain values, and as
// suggest shows it.
func TestExcludedKeys(t *testing.T) {
	for text, want := range map[string]bool{
		"u:a%3Ab%25": true, "u:a:b%": true, "u:a:b%25": true, "u:a:b": false,
	} {
		l, err := newLearner(&Options{Key: "u:{jwt.sub}", Windows: []string{"1m"}, Exclude: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		l.key = []byte("u:a%3Ab%25")
		if got := l.excludes(netip.Addr{}); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
