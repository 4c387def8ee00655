package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/request"
)

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
	if diff := cmp.Diff(tc.want, found(e), cmp.AllowUnexported(wanted{})); diff != "" {
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
