package logs

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/request"
)

func TestOrder(t *testing.T) {
	type logs = []string
	for _, tc := range []struct {
		name       string
		logs       logs
		order      Order
		want       []string
		outOfOrder int64
	}{
		{"in order already", logs{requests("1 /a", "2 /b")}, ByTime, []string{"1 /a", "2 /b"}, 0},
		{"nothing", logs{""}, ByTime, nil, 0},
		{"out of order", logs{requests("5 /a", "3 /b", "4 /c", "1 /d")}, ByTime, []string{"1 /d", "3 /b", "4 /c", "5 /a"}, 2},
		{"without a word about the order", logs{requests("5 /a", "3 /b")}, "", []string{"3 /b", "5 /a"}, 1},
		{"equal times stay in the order of the lines", logs{requests("5 /a", "3 /b", "5 /c", "3 /d")}, ByTime, []string{"3 /b", "3 /d", "5 /a", "5 /c"}, 2},
		{"before 1970", logs{requests("1 /a", "-1 /b", "-2 /c")}, ByTime, []string{"-2 /c", "-1 /b", "1 /a"}, 2},
		{"two logs of one time", logs{requests("1 /a", "3 /b"), requests("2 /c", "4 /d")}, ByTime, []string{"1 /a", "2 /c", "3 /b", "4 /d"}, 0},
		{"equal times in two logs", logs{requests("2 /a", "2 /b"), requests("1 /c", "2 /d")}, ByTime, []string{"1 /c", "2 /a", "2 /b", "2 /d"}, 0},
		{"lines without a time are skipped", logs{requests("2 /a") + "{\"path\":\"/b\"}\n" + requests("1 /c")}, ByTime, []string{"1 /c", "2 /a"}, 1},
		{"as logged", logs{requests("5 /a", "3 /b", "4 /c"), requests("1 /d")}, AsLogged, []string{"5 /a", "3 /b", "4 /c", "1 /d"}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			traffic := &Traffic{Order: tc.order}
			for _, log := range tc.logs {
				traffic.Logs = append(traffic.Logs, text(log))
			}
			var seen []string
			report, err := read(t.Context(), traffic, keep(&seen))
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tc.want, seen); diff != "" {
				t.Error(diff)
			}
			if want := cmp.Or(tc.order, ByTime); report.Order != want || report.OutOfOrder != tc.outOfOrder {
				t.Errorf("order %q, %d out of order; want %q, %d", report.Order, report.OutOfOrder, want, tc.outOfOrder)
			}
		})
	}
}

// While logs fit their buffers, nothing is decided unless all of them can be read
// to their end: counters of a table would be charged for a part.
func TestOrderOfALogThatBreaksOff(t *testing.T) {
	for order, want := range map[Order]int{ByTime: 0, AsLogged: 3} {
		var seen []string
		broken := text(gzipped(t, requests("5 /a"))[:40])
		traffic := &Traffic{Logs: []Log{text(requests("1 /", "2 /", "3 /")), broken}, Order: order}
		_, err := read(t.Context(), traffic, keep(&seen))
		if len(seen) != want || message(err) != "log:1: unexpected EOF: the gzip file is cut short: copy it again" {
			t.Errorf("%s: %d requests decided, error %v; want %d", order, len(seen), err, want)
		}
	}
}

// disordered returns a log of this many lines, two for each second. Each line is
// fewer than width lines from its place.
func disordered(lines, width int) string {
	g := rand.New(rand.NewPCG(uint64(lines), uint64(width)))
	places := make([]float64, lines)
	order := make([]int, lines)
	for i := range order {
		order[i], places[i] = i, float64(i)+g.Float64()*float64(width)/2
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	var b strings.Builder
	for _, i := range order {
		fmt.Fprintf(&b, `{"time":%d,"path":"/%06d","jwt":{"sub":"%d"}}`+"\n", i/2, i, i)
	}
	return b.String()
}

// Lines are sorted by a buffer that spans their disorder, however long the log
// is. With a smaller one, each line is still decided once and at its own time,
// and the late ones are counted.
func TestOrderByBuffer(t *testing.T) {
	const lines, width = 6_000, 1_200
	log := disordered(lines, width)
	half := len(log)/2 + strings.IndexByte(log[len(log)/2:], '\n') + 1
	wide := (len(log)/lines + perLine) * width
	for _, tc := range []struct {
		name   string
		logs   []string
		buffer int
		late   bool
	}{
		{"wide enough", []string{log}, wide, false},
		{"too narrow", []string{log}, 1, true},
		{"the same log twice", []string{log, log}, wide, false},
		{"rotated logs, the last first", []string{log[half:], log[:half]}, wide, false},
		{"two logs, one too narrow", []string{disordered(10, 5), log}, 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			type decision struct {
				second int64
				path   string
			}
			var got, want []decision
			traffic := &Traffic{buffer: tc.buffer}
			for _, content := range tc.logs {
				traffic.Logs = append(traffic.Logs, text(content))
				for line := range strings.Lines(content) {
					var d decision
					if _, err := fmt.Sscanf(line, `{"time":%d,"path":%q`, &d.second, &d.path); err != nil {
						t.Fatal(err)
					}
					want = append(want, d)
				}
			}
			late, latest := int64(0), int64(math.MinInt64)
			report, err := read(t.Context(), traffic, func(e *Entry) error {
				now, req := e.Time, e.Request
				got = append(got, decision{now.Unix(), req.Path})
				if now.Unix() < latest {
					late++
				}
				latest = max(latest, now.Unix())
				return nil
			})
			if err != nil || report.Late != late || (late > 0) != tc.late {
				t.Errorf("%d requests were late, and %d are reported; error %v", late, report.Late, err)
			}
			byTime := func(a, b decision) int { return cmp.Compare(a.second, b.second) }
			byPath := func(a, b decision) int { return cmp.Or(byTime(a, b), cmp.Compare(a.path, b.path)) }
			slices.SortStableFunc(want, byTime)
			if tc.late {
				slices.SortFunc(want, byPath)
				slices.SortFunc(got, byPath)
			}
			if !slices.Equal(got, want) {
				t.Error("the requests are not those of the logs, in the order of their times")
			}
		})
	}
}

// Lines whose times are far ahead do not take the place of others in the buffer.
func TestLinesFarAhead(t *testing.T) {
	const lines, buffer = 15_000, 200_000
	var log strings.Builder
	for i := range lines {
		second := i
		if i%50 == 0 {
			second += 10 * lines
		}
		fmt.Fprintf(&log, `{"time":%d,"path":"/%d"}`+"\n", second, i)
	}
	seen := 0
	report, err := read(t.Context(), &Traffic{Logs: []Log{text(log.String())}, buffer: buffer}, func(e *Entry) error {
		if seen++; seen <= lines*98/100 != (e.Time.Unix() < 10*lines) {
			t.Fatalf("line %d has time %v", seen, e.Time)
		}
		return nil
	})
	if err != nil || seen != lines || report.Late > 0 {
		t.Errorf("%d lines, %d late, error %v", seen, report.Late, err)
	}
}

var errDown = errors.New("the table is on fire")

// read calls visit with each request of the traffic.
func read(ctx context.Context, t *Traffic, visit func(*Entry) error) (*Extent, error) {
	var x Extent
	err := t.Each(ctx, &x, func(_ context.Context, e *Entry) error {
		err := visit(e)
		if err == nil {
			x.Count(e)
		}
		return err
	})
	return &x, err
}

// keep keeps the second and the path of every request.
func keep(seen *[]string) func(*Entry) error {
	return func(e *Entry) error {
		*seen = append(*seen, fmt.Sprint(e.Time.Unix(), " ", e.Request.Path))
		return nil
	}
}

// requests returns a log of JSON Lines, from lines of "second path".
func requests(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		second, path, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, `{"time":%s,"path":"%s","ip":"203.0.113.9"}`+"\n", second, path)
	}
	return b.String()
}

func text(content string) Log { return Stream("log", strings.NewReader(content), JSONL) }

func gzipped(t testing.TB, content string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type parserCase struct {
	name   string
	header string // a line before, for CSV
	line   string
	want   wanted
	err    string // of the line
}

// wanted is what rules see of a request, and when.
type wanted struct {
	at             time.Time
	method, path   string
	ip             string // empty where it is not known
	route          string
	headers, query map[string][]string
	apiKey         string
	claims         map[string]any
	stage          string
	pathParams     map[string]string
	status         int
}

func found(e *Entry) wanted {
	r := e.Request
	w := wanted{at: e.Time, method: r.Method, path: r.Path, route: r.Route, headers: r.Headers, query: r.Query, apiKey: r.APIKey, claims: r.Claims,
		stage: r.Stage, pathParams: r.PathParams, status: e.Status}
	if r.IP.IsValid() {
		w.ip = r.IP.String()
	}
	return w
}

// parseLine returns nil for a line without a request.
func parseLine(p parser, line string) (*Entry, error) {
	var r record
	if ok, err := p(line, &r); !ok || err != nil {
		return nil, err
	}
	return r.entry(), nil
}

func runParser(t *testing.T, f Format, cases []parserCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			parse := f.parser(func(string) {})
			if tc.header != "" {
				_, _ = parseLine(parse, tc.header) // a refused one is reported again for every line
			}
			checkCase(t, parse, &tc)
		})
	}
}

// checkCase checks what a line becomes.
func checkCase(t *testing.T, p parser, tc *parserCase) {
	t.Helper()
	e, err := parseLine(p, tc.line)
	switch {
	case err != nil && err.Error() != tc.err:
		t.Fatalf("error %q, want %q", err, tc.err)
	case err != nil:
		return
	case tc.err != "" || e == nil:
		t.Fatalf("read as %+v, want error %q", e, tc.err)
	}
	if diff := gocmp.Diff(tc.want, found(e), gocmp.AllowUnexported(wanted{})); diff != "" {
		t.Error(diff)
	}
}

func FuzzCLF(f *testing.F) {
	f.Add(`203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 2326 "http://example.com/" "say \"hi\""`)
	f.Add(`2001:db8::1 - jo [17/May/2015:10:05:03 -0730] "GET /\x22 HTTP/1.0" 304 -`)
	f.Add(`- - - [17/May/2015:10:05:03 +0000] "-" 408 0`)
	f.Add(`203.0.113.9 - - [] "\`)
	f.Add(`203.0.113.9 - - [17/May/9999:10:05:03 +0000] "OPTIONS * HTTP/1.1" 200 0 "-" "\xf`)
	f.Fuzz(func(t *testing.T, line string) { checkParser(t, parseCLF, line) })
}

func FuzzJSONL(f *testing.F) {
	f.Add(`{"time":"2015-05-17T12:05:03.25+02:00","method":"PUT","path":"/a?b=c","ip":"::1","headers":{"a":["b"],"c":"d"}}`)
	f.Add(`{"time":-1431857103.123456789,"jwt":{"sub":null,"n":1e400},"route":"$default","apikey":"k"}`)
	f.Add(`{"time":1e999,"headers":null}`)
	f.Add(`[[[[`)
	f.Fuzz(func(t *testing.T, line string) { checkParser(t, jsonLines.parseJSON, line) })
}

func FuzzCSV(f *testing.F) {
	f.Add("time,method,path,ip,header.x,route,apikey,jwt.sub", `1431857103.5,GET,"/a,b?c",127.0.0.1,y,/x,k,s`)
	f.Add("\"time\"", "-5")
	f.Add("time,time", "")
	f.Add("header.,time", `",`)
	f.Fuzz(func(t *testing.T, header, line string) {
		p := CSV.parser(func(string) {})
		if e, err := parseLine(p, header); e != nil {
			t.Fatalf("the header line became a request: %+v, %v", found(e), err)
		}
		checkParser(t, p, line)
	})
}

// checkParser checks that a line becomes an error or a valid entry.
func checkParser(t *testing.T, p parser, line string) {
	e, err := parseLine(p, line)
	if err != nil {
		if e != nil || err.Error() == "" {
			t.Fatalf("%q: both %+v and error %q", line, e, err)
		}
		return
	}
	if e == nil { // a line without a request, such as a header line
		return
	}
	if !time.Unix(0, e.Time.UnixNano()).Equal(e.Time) {
		t.Errorf("%q: time %v does not fit Unix nanoseconds", line, e.Time)
	}
	if r := e.Request; r.Method != "" && !request.IsToken(r.Method) || r.Path == "" {
		t.Errorf("%q: method %q, path %q", line, r.Method, r.Path)
	}
}

// A replay that ends early leaves no goroutine behind: synctest fails if one
// stays.
func TestNoGoroutineStays(t *testing.T) {
	log := disordered(1500, 100)
	for _, order := range []Order{ByTime, AsLogged} {
		for _, end := range []int{1, 300, 1200} {
			for _, want := range []error{errDown, context.Canceled, io.ErrUnexpectedEOF} {
				t.Run(fmt.Sprint(order, end, want), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancel(t.Context())
						decided := 0
						decide := func(*Entry) error {
							decided++
							switch {
							case decided == end && errors.Is(want, errDown):
								return errDown
							case decided == end && errors.Is(want, context.Canceled):
								cancel()
							}
							return nil
						}
						logs := []Log{text(log)}
						if errors.Is(want, io.ErrUnexpectedEOF) {
							logs = append(logs, text(gzipped(t, log)[:1000]))
						}
						_, err := read(ctx, &Traffic{Logs: logs, Order: order, buffer: 1 << 14}, decide)
						if !errors.Is(err, want) {
							t.Errorf("error %v, want %v", err, want)
						}
					})
				})
			}
		}
	}
}

// Each line of a log that does not end is decided when it is written.
func TestDecidedAsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		var seen []string
		go func() {
			for i := range 3 {
				line := requests(fmt.Sprint(i, " /"))
				_, _ = io.WriteString(out, line[:9])
				synctest.Wait()
				if len(seen) != i {
					t.Errorf("%d requests decided before line %d is whole", len(seen), i+1)
				}
				_, _ = io.WriteString(out, line[9:])
				synctest.Wait()
				if len(seen) != i+1 {
					t.Errorf("%d requests decided after line %d", len(seen), i+1)
				}
			}
			_ = out.Close()
		}()
		if _, err := read(t.Context(), &Traffic{Logs: []Log{Stream("pipe", in, JSONL)}, Order: AsLogged}, keep(&seen)); err != nil {
			t.Error(err)
		}
	})
}
