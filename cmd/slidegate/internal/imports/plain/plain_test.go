package plain

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

// perSecond has the window and the slots of the example in the documentation.
var perSecond = limit.Limit{Algorithm: limit.SlidingWindow, Capacity: 100, Window: time.Second, Granularity: time.Second}

// readPlain returns all overrides and all errors of a file.
func readPlain(r io.Reader, limits ...limit.Limit) (all []imports.Override, errs []string) {
	for o, err := range Import("f.json", r, "api", limits) {
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		all = append(all, o)
	}
	return all, errs
}

func TestPlain(t *testing.T) {
	const entry = `"time_window_sec": 1, "capacity": 5, "granularity_sec": 1`
	minute := limit.Limit{Name: "burst", Algorithm: limit.SlidingWindow, Window: time.Minute, Granularity: time.Second}
	fixed := limit.Limit{Algorithm: limit.FixedWindow, Window: time.Second, Granularity: time.Second}
	for _, tt := range []struct {
		name  string
		text  string
		limit limit.Limit
		want  []string // keys and documents
	}{
		{"nothing", "{}", perSecond, nil},
		{"the same shape", `{"user:241531": {` + entry + `}}`, perSecond, []string{`user:241531 {"capacity":5}`}},
		{"another window", `{"user:1": {"time_window_sec": 2, "capacity": 5, "granularity_sec": 1}}`, perSecond,
			[]string{`user:1 {"limits":[{"capacity":5,"window":"2s","granularity":"1s"}]}`}},
		{"another granularity", `{"user:1": {"time_window_sec": 1, "capacity": 5, "granularity_sec": 0.1}}`, perSecond,
			[]string{`user:1 {"limits":[{"capacity":5,"window":"1s","granularity":"100ms"}]}`}},
		{"another algorithm", `{"user:1": {` + entry + `}}`, fixed, []string{`user:1 {"limits":[{"capacity":5,"window":"1s","granularity":"1s"}]}`}},
		{"a limit with a name", `{"user:1": {` + entry + `}, "user:2": {"granularity_sec": 1, "capacity": 7, "time_window_sec": 60.0}}`, minute,
			[]string{`user:1 {"limits":[{"name":"burst","capacity":5,"window":"1s","granularity":"1s"}]}`, `user:2 {"capacity":7}`}},
		{"odd keys", `{"user:auth0|6": {` + entry + `}, "u\u00e9\"": {` + entry + `}}`, perSecond, []string{`user:auth0|6 {"capacity":5}`, `ué" {"capacity":5}`}},
		{"the most", `{"a": {"time_window_sec": 315360000, "capacity": 4294967295, "granularity_sec": 525600}}`, perSecond,
			[]string{`a {"limits":[{"capacity":4294967295,"window":"3650d","granularity":"146h"}]}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, errs := readPlain(iotest.OneByteReader(strings.NewReader(tt.text)), tt.limit)
			var got []string
			for _, o := range all {
				if _, _, err := rulefile.ParseOverride(o.Key, o.Document); err != nil {
					t.Error(err)
				}
				got = append(got, o.Key+" "+string(o.Document))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || errs != nil {
				t.Errorf("errors %v (-want +got):\n%s", errs, diff)
			}
		})
	}
}

// Every error has its line and key, and does not end the reading if the text is
// JSON.
func TestPlainErrors(t *testing.T) {
	const good = `{"time_window_sec": 1, "capacity": 5, "granularity_sec": 1}`
	field := func(name, value string) string {
		all := map[string]string{"time_window_sec": "1", "capacity": "5", "granularity_sec": "1", name: value}
		return fmt.Sprintf(`{"time_window_sec": %s, "capacity": %s, "granularity_sec": %s}`, all["time_window_sec"], all["capacity"], all["granularity_sec"])
	}
	for _, tt := range []struct {
		name, text string
		want       []string
		valid      int // entries without an error
	}{
		{"nothing", "", []string{"f.json:1:1: the file ends before the JSON does"}, 0},
		{"no object", "[1]", []string{`f.json:1:1: must be an object of keys, such as {"user:1": {...}}`}, 0},
		{"null", "null", []string{"must be an object of keys"}, 0},
		{"no JSON", `{"a": ` + good + `, b}`, []string{"not JSON: invalid character 'b'"}, 1},
		{"cut short", "{\n\"a\": " + good + ",\n\"b\": {\"capacity\": 5", []string{`f.json:3:19: "b": the file ends before the JSON does`}, 1},
		{"cut in a word", `{"a": {"capac`, []string{`"a": the file ends`}, 0},
		{"more behind", "{}\n{}", []string{"f.json:2:1: nothing may follow the object"}, 0},
		{"twice", "{\n\"a\": " + good + ",\n\"b\": " + good + ",\n\"\\u0061\": " + good + "\n}", []string{`f.json:4:8: "a": is there twice, first in line 2: remove one of them`}, 2},
		{"empty key", `{"": ` + good + `}`, []string{`"": is not a key`}, 0},
		{"no UTF-8", "{\"a\xff\": " + good + "}", []string{"is not UTF-8"}, 0},
		{"half a character", `{"a\ud800": ` + good + `}`, []string{"or half a surrogate pair"}, 0},
		{"no map", "{\n\"a\": 5,\n\"b\": " + good + "}", []string{`f.json:2:6: "a": must be an object such as {"time_window_sec": 1, "capacity": 5, "granularity_sec": 1}`}, 1},
		{"a list", `{"a": [{"x": [1, 2]}, 3], "b": ` + good + "}", []string{`"a": must be an object`}, 1},
		{"unknown field", `{"a": {"capacity": 5, "time_window_sec": 1, "granularity_sec": 1, "burst": {"x": [1]}}, "b": ` + good + `}`,
			[]string{`"a".burst: unknown field: there are time_window_sec, capacity and granularity_sec`}, 1},
		{"a field in other letters", `{"a": {"Capacity": 5}}`, []string{`"a".Capacity: unknown field`}, 0},
		{"a field twice", `{"a": {"capacity": 5, "capacity": 6, "time_window_sec": 1, "granularity_sec": 1}}`, []string{`"a".capacity: is there twice: remove one of them`}, 0},
		{"a field missing", `{"a": {"capacity": 5, "time_window_sec": 1}, "b": {}, "c": {"capacity": 1, "granularity_sec": 1}}`,
			[]string{`"a": granularity_sec is missing`, `"b": time_window_sec is missing`, `"c": time_window_sec is missing`}, 0},
		{"text", `{"a": ` + field("capacity", `"5"`) + `}`, []string{`"a".capacity: must be a number`}, 0},
		{"empty", `{"a": ` + field("capacity", `null`) + `}`, []string{`"a".capacity: must be a number`}, 0},
		{"zero", `{"a": ` + field("capacity", `0`) + `}`, []string{`"a".capacity: 0 is not a capacity: write a whole number from 1 to 4294967295`}, 0},
		{"negative", `{"a": ` + field("capacity", `-5`) + `}`, []string{`-5 is not a capacity`}, 0},
		{"part", `{"a": ` + field("capacity", `5.0`) + `}`, []string{`5.0 is not a capacity`}, 0},
		{"too many", `{"a": ` + field("capacity", `4294967296`) + `}`, []string{`4294967296 is not a capacity`}, 0},
		{"no time", `{"a": ` + field("time_window_sec", `0`) + `}`, []string{`"a".time_window_sec: 0 is not a number of seconds from 0.1 to 315360000`}, 0},
		{"time before", `{"a": ` + field("time_window_sec", `-1`) + `}`, []string{`-1 is not a number of seconds`}, 0},
		{"exponent", `{"a": ` + field("time_window_sec", `1e3`) + `}`, []string{`1e3 is not a number of seconds`}, 0},
		{"too long", `{"a": ` + field("time_window_sec", `315360001`) + `}`, []string{`315360001 is not a number of seconds`}, 0},
		{"far too long", `{"a": ` + field("time_window_sec", `99999999999999999999`) + `}`, []string{`99999999999999999999 is not a number of seconds`}, 0},
		{"too fine", `{"a": ` + field("granularity_sec", `0.0999`) + `}`, []string{`0.0999 is not a number of seconds`}, 0},
		{"finer than milliseconds", `{"a": ` + field("time_window_sec", `1.0001`) + `}`, []string{`1.0001 is not a number of seconds`}, 0},
		{"no multiple", `{"a": {"time_window_sec": 10, "capacity": 5, "granularity_sec": 3}}`, []string{`"a": time_window_sec is not a whole multiple of granularity_sec`}, 0},
		{"wider than the window", `{"a": {"time_window_sec": 1, "capacity": 5, "granularity_sec": 2}}`, []string{`not a whole multiple`}, 0},
		{"too many slots", `{"a": {"time_window_sec": 601, "capacity": 5, "granularity_sec": 1}}`, []string{`time_window_sec is 601 times granularity_sec, and 600 is the most`}, 0},
		{"several", "{\"a\": {\"capacity\": 0},\n\"b\": " + good + ",\n\"c\": {\"x\": 1}\n}", []string{`f.json:1:20: "a".capacity: 0 is not a capacity`, `f.json:3:12: "c".x: unknown field`}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, errs := readPlain(strings.NewReader(tt.text), perSecond)
			if len(errs) != len(tt.want) || len(all) != tt.valid {
				t.Fatalf("got %d entries and the errors %q, want %d and %q", len(all), errs, tt.valid, tt.want)
			}
			for i, err := range errs {
				if !strings.Contains(err, tt.want[i]) {
					t.Errorf("got %s\nwant %s", err, tt.want[i])
				}
			}
		})
	}
}

func TestPlainLimits(t *testing.T) {
	_, errs := readPlain(strings.NewReader("{}"), perSecond, perSecond)
	if len(errs) != 1 || !strings.Contains(errs[0], "rule api has 2 limits, and this form has one") {
		t.Errorf("got %q", errs)
	}
}

func TestPlainReader(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, err := range Import("f.json", io.MultiReader(strings.NewReader(`{"a"`), iotest.ErrReader(broken)), "api", []limit.Limit{perSecond}) {
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	var first *yamlfile.Error
	for _, err := range Import("f.json", strings.NewReader("{\n1"), "api", []limit.Limit{perSecond}) {
		if !errors.As(err, &first) || first.File != "f.json" || first.Line < 1 {
			t.Errorf("got %#v", err)
		}
	}
}

// entries is a file of n entries, made while it is read.
type entries struct {
	n, at int
	rest  string
	given int
}

func (e *entries) Read(p []byte) (int, error) {
	if e.rest == "" {
		switch {
		case e.at > e.n:
			return 0, io.EOF
		case e.at == e.n:
			e.rest = "}"
		default:
			e.rest = fmt.Sprintf("%c\n\"user:%d\": {\"time_window_sec\": 1, \"capacity\": %d, \"granularity_sec\": 1}", "{,"[min(e.at, 1)], e.at, e.at+1)
		}
		e.at++
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.given += n
	return n, nil
}

// Import reads a large file entry by entry and keeps none.
func TestPlainStreams(t *testing.T) {
	const n = 100_000
	source := &entries{n: n}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	count := 0
	for o, err := range Import("f.json", source, "api", []limit.Limit{perSecond}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"capacity":%d}`, count+1); string(o.Document) != want || o.Key != fmt.Sprintf("user:%d", count) {
			t.Fatalf("entry %d is %v", count, o)
		}
		if ahead := source.at - count; ahead > 100 {
			t.Fatalf("%d entries were read before one was handed on", ahead)
		}
		count++
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if count != n {
		t.Errorf("%d entries", count)
	}
	if kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n; kept > 10 {
		t.Errorf("%d bytes of each entry are kept after the last", kept)
	}
}

// The caller may stop at any entry.
func TestPlainStops(t *testing.T) {
	for range Import("f.json", &entries{n: 1000}, "api", []limit.Limit{perSecond}) {
		break
	}
}

func TestLines(t *testing.T) {
	text := "a\nbb\n\nccc\r\nd"
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.HalfReader(strings.NewReader(text))} {
		var l lines
		if _, err := io.Copy(&l, r); err != nil {
			t.Fatal(err)
		}
		for offset := 1; offset <= len(text); offset++ {
			before := text[:offset-1]
			wantLine, wantColumn := strings.Count(before, "\n")+1, offset-1-strings.LastIndex(before, "\n")
			if line, column := l.locate(int64(offset)); line != wantLine || column != wantColumn {
				t.Errorf("offset %d is %d:%d, want %d:%d", offset, line, column, wantLine, wantColumn)
			}
		}
	}
}
