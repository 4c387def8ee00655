package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// apacheLine is a request of the recorded log.
type apacheLine struct {
	at                                         time.Time
	ip, method, target, status, referer, agent string
}

var apacheForm = regexp.MustCompile(`^(\S+) \S+ \S+ \[(.+?)\] "(\S+) (.+?)(?: HTTP/[0-9.]+)?" (\d+) \S+ "(.*?)" "(.*?)"?$`)

func parseApache(t *testing.T, line string) (l apacheLine) {
	t.Helper()
	m := apacheForm.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("no request: %s", line)
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
	if err != nil {
		t.Fatal(err)
	}
	return apacheLine{at.UTC(), m[1], m[3], m[4], m[5], m[6], m[7]}
}

// w3c encodes as CloudFront does.
func w3c(text string) string {
	if text == "" {
		return "-"
	}
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("<>\"#%{}|\\^~[]`'", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func object(fields map[string]any) string {
	line, _ := json.Marshal(fields)
	return string(line)
}

// encoders write a request as each format does.
var encoders = []struct {
	format logs.Format
	name   string
	noPath bool // the format has the route in place of the path
	header string
	line   func(l *apacheLine, path, query string) string
}{
	{format: logs.ALB, line: func(l *apacheLine, _, _ string) string {
		return fmt.Sprintf(`https %s app/a/b %s:40000 10.0.0.1:80 0.0 0.1 0.0 %s %s 0 57 "%s https://example.com:443%s HTTP/1.1" "%s" ECDHE TLSv1.2 arn "Root=1" "example.com" "arn" 1 %s "forward" "-" "-"`,
			l.at.Add(time.Minute).Format(time.RFC3339), l.ip, l.status, l.status, l.method, l.target, l.agent, l.at.Format("2006-01-02T15:04:05.000000Z"))
	}},
	{format: logs.CloudFront, name: "W3C", header: "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem sc-status cs(User-Agent) cs-uri-query\n", line: func(l *apacheLine, path, query string) string {
		return strings.Join([]string{l.at.Format("2006-01-02"), l.at.Format("15:04:05"), l.ip, l.method, w3c(path), l.status, w3c(l.agent), w3c(query)}, "\t")
	}},
	{format: logs.CloudFront, name: "JSON", line: func(l *apacheLine, path, query string) string {
		return object(map[string]any{"timestamp(ms)": strconv.FormatInt(l.at.UnixMilli(), 10), "c-ip": l.ip, "cs-method": l.method, "cs-uri-stem": w3c(path), "cs-uri-query": w3c(query), "sc-status": l.status, "cs(User-Agent)": w3c(l.agent)})
	}},
	{format: logs.CloudFront, name: "real time", line: func(l *apacheLine, _, query string) string {
		return object(map[string]any{"timestamp": fmt.Sprintf("%d.000", l.at.Unix()), "c-ip": l.ip, "cs-method": l.method, "cs-uri-stem": w3c(l.target), "cs-uri-query": w3c(query), "sc-status": l.status})
	}},
	{format: logs.APIGateway, name: "JSON", line: func(l *apacheLine, _, _ string) string {
		return object(map[string]any{"requestTime": l.at.Format("02/Jan/2006:15:04:05 -0700"), "ip": l.ip, "httpMethod": l.method, "path": l.target, "status": l.status})
	}},
	{format: logs.APIGateway, name: "CSV of a REST API", noPath: true, line: func(l *apacheLine, _, _ string) string {
		return fmt.Sprintf("%s,-,-,%s,%s,/{proxy+},HTTP/1.1,%s,12,id", l.ip, l.at.Format("02/Jan/2006:15:04:05 -0700"), l.method, l.status)
	}},
	{format: logs.APIGateway, name: "CSV of an HTTP API", noPath: true, line: func(l *apacheLine, _, _ string) string {
		return fmt.Sprintf("%s,%s,%s,ANY /,HTTP/1.1,%s,12,id", l.ip, l.at.Format("02/Jan/2006:15:04:05 -0700"), l.method, l.status)
	}},
	{format: logs.Caddy, line: func(l *apacheLine, _, _ string) string {
		status, _ := strconv.Atoi(l.status)
		return object(map[string]any{"level": "info", "ts": l.at.Unix(), "msg": "handled request", "status": status,
			"request": map[string]any{"remote_ip": l.ip, "client_ip": l.ip, "method": l.method, "uri": l.target, "headers": map[string]any{"User-Agent": []string{l.agent}}}})
	}},
	{format: logs.Traefik, line: func(l *apacheLine, _, _ string) string {
		return object(map[string]any{"ClientAddr": l.ip + ":40000", "ClientHost": l.ip, "DownstreamStatus": l.status, "RequestMethod": l.method, "RequestPath": l.target, "StartUTC": l.at, "time": l.at.Add(time.Minute), "request_User-Agent": l.agent})
	}},
	{format: logs.Envoy, line: func(l *apacheLine, _, _ string) string {
		return object(map[string]any{"downstream_remote_address": l.ip + ":40000", "x_forwarded_for": l.ip, "response_code": l.status, "method": l.method, "path": l.target, "start_time": l.at, "user_agent": l.agent})
	}},
	{format: logs.JSONL, line: func(l *apacheLine, _, _ string) string {
		return object(map[string]any{"time": l.at, "ip": l.ip, "method": l.method, "path": l.target, "status": l.status, "headers": map[string]any{"user-agent": l.agent}})
	}},
	{format: logs.CSV, header: "time,method,path,ip,status\n", line: func(l *apacheLine, _, _ string) string {
		return fmt.Sprintf(`%d,%s,"%s",%s,%s`, l.at.Unix(), l.method, strings.ReplaceAll(l.target, `"`, `""`), l.ip, l.status)
	}},
	{name: "NGINX", line: func(l *apacheLine, _, _ string) string {
		return fmt.Sprintf(`%s|%s|"%s %s HTTP/1.1"|%s|0.001`, l.at.Format(time.RFC3339), l.ip, l.method, l.target, l.status)
	}},
}

// The recorded log gives the same decisions for every key, whatever format it is
// written in. All formats but NGINX's are found out.
func TestFormatsAgree(t *testing.T) {
	rules, err := os.ReadFile("../../../../../examples/traffic/per-ip-10-per-minute.yaml")
	if err != nil {
		t.Fatal(err)
	}
	template, err := logs.ParseTemplate(`$time_iso8601|$remote_addr|"$request"|$status|$request_time`)
	if err != nil {
		t.Fatal(err)
	}
	recorded := recordedLog(t)
	lines := strings.Split(strings.TrimSpace(recorded), "\n")
	want, wantPaths := decisions(t, string(rules), logs.Stream("apache", strings.NewReader(recorded), ""))
	if denied := strings.Count(want, "\t0\t0\t"); denied != 1729 {
		t.Errorf("%d denials, want 1729", denied)
	}
	for _, e := range encoders {
		t.Run(string(e.format)+e.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(e.header)
			for _, line := range lines {
				l := parseApache(t, line)
				path, query, _ := strings.Cut(l.target, "?")
				b.WriteString(e.line(&l, path, query) + "\n")
			}
			log := logs.Stream("log", strings.NewReader(b.String()), "")
			if e.name == "NGINX" {
				log.Template = template
			}
			got, paths := decisions(t, string(rules), log)
			if got != want {
				t.Error("other decisions")
			}
			if !e.noPath && paths != wantPaths {
				t.Error("other methods, paths, queries or statuses")
			}
		})
	}
}

// decisions replays a log. It returns its decisions, and what else rules see of
// its requests.
func decisions(t *testing.T, rules string, log logs.Log) (decided, seen string) {
	t.Helper()
	var out, requests strings.Builder
	e, set := newEngine(t, rules, memory.New(0), &Failures{})
	content, err := log.Open()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	log.Open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(text))), nil }
	traffic := &logs.Traffic{Logs: []logs.Log{log}}
	report, err := Run(t.Context(), traffic, Options{Engine: e, Rules: set, Decisions: &out})
	if err != nil || report.Requests != 10000 || report.Denied != 1729 {
		t.Fatalf("%d requests, %d denied, first skipped %v: %v", report.Requests, report.Denied, report.FirstSkipped, err)
	}
	var extent logs.Extent
	if err := traffic.Each(t.Context(), &extent, func(_ context.Context, e *logs.Entry) error {
		r := e.Request
		_, err := fmt.Fprintln(&requests, r.Method, r.Path, r.Query, e.Status)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out.String(), requests.String()
}

var errDown = errors.New("the table is on fire")

// pattern returns a store that fails for each x of a repeated pattern.
func pattern(repeated string) *fakestore.Store {
	calls := 0
	return fakestore.New(func(*fakestore.Call) error {
		calls++
		if repeated[(calls-1)%len(repeated)] == 'x' {
			return errDown
		}
		return nil
	})
}

func TestOutage(t *testing.T) {
	const document = "rules: [{name: all, key: all, limits: [{capacity: 1000, window: 60s}]}]\ndefaults: {on_error: allow}"
	for _, tc := range []struct {
		name, pattern      string
		lines              int
		requests, degraded int64
		err                error
	}{
		{name: "none", pattern: ".", lines: 30, requests: 30},
		{name: "now and then", pattern: "...x", lines: 40, requests: 40, degraded: 10},
		{name: "nine running", pattern: "xxxxxxxxx.", lines: 30, requests: 30, degraded: 27},
		{name: "ten running", pattern: ".xxxxxxxxxx....", lines: 30, requests: 11, degraded: 10, err: ErrOutage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var failures Failures
			e, _ := newEngine(t, document, pattern(tc.pattern), &failures)
			report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(strings.Repeat(requests("1 /"), tc.lines))}}, Options{Engine: e})
			if !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v", err, tc.err)
			}
			if report.Requests != tc.requests || report.Degraded != tc.degraded || report.Allowed != tc.requests {
				t.Errorf("%d requests, %d degraded, %d allowed; want %d, %d", report.Requests, report.Degraded, report.Allowed, tc.requests, tc.degraded)
			}
			first := failures.First()
			if tc.degraded == 0 && first != nil || tc.degraded > 0 && !errors.Is(first, errDown) {
				t.Errorf("the first failure is %v", first)
			}
		})
	}
}

func TestFailuresKeepTheFirst(t *testing.T) {
	var f Failures
	f.StoreFailed(t.Context(), "on_error: local", "per-ip", "ip:::1", errDown)
	f.StoreFailed(t.Context(), "refund", "other", "k", io.EOF)
	if got, want := message(f.First()), "rule per-ip, key ip:::1: on_error: local: the table is on fire"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// fullDisk fails after room bytes.
type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errDown
	}
	return len(p), nil
}

func TestDecisionsThatCannotBeWritten(t *testing.T) {
	for name, lines := range map[string]int{"at the end": 1, "on the way": 5000} {
		t.Run(name, func(t *testing.T) {
			e, _ := newEngine(t, twoRules, fakestore.New(nil), &Failures{})
			report, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(strings.Repeat(requests("1 /"), lines))}}, Options{Engine: e, Decisions: &fullDisk{}})
			if !errors.Is(err, errDown) || !strings.HasPrefix(message(err), "writing decisions: ") {
				t.Errorf("error %v", err)
			}
			if report.Requests == 0 || lines > 1 && report.Requests == int64(lines) {
				t.Errorf("%d requests of %d", report.Requests, lines)
			}
		})
	}
}

// The end of the context does not break off a decision: the request might stay
// charged and not be counted in the report.
func TestInterruptionLeavesADecisionAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	decide := contextDecider(func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	})
	report, err := Run(ctx, &logs.Traffic{Logs: []logs.Log{text(requests("1 /", "2 /"))}}, Options{Engine: decide})
	if !errors.Is(err, context.Canceled) || report.Requests != 1 {
		t.Errorf("%d requests, error %v; want 1, interrupted", report.Requests, err)
	}
}

type contextDecider func(context.Context) error

func (f contextDecider) Decide(ctx context.Context, _ time.Time, _ *request.Request) (*engine.Decision, error) {
	return &engine.Decision{Allowed: true}, f(ctx)
}

// The end of the context ends a read that waits for a terminal or for tail -f.
func TestInterruptionOfAWaitingRead(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	decide := deciderFunc(func(time.Time, *request.Request) (*engine.Decision, error) {
		cancel()
		return &engine.Decision{Allowed: true}, nil
	})
	go io.WriteString(out, requests("1 /", "2 /")+`{"time`)
	report, err := Run(ctx, &logs.Traffic{Logs: []logs.Log{logs.Stream("pipe", in, logs.JSONL)}, Order: logs.AsLogged}, Options{Engine: decide})
	if !errors.Is(err, context.Canceled) || report.Requests != 1 {
		t.Errorf("%d requests, error %v; want 1, interrupted", report.Requests, err)
	}
}

func TestInterruptionBeforeAnythingArrives(t *testing.T) {
	for _, order := range []logs.Order{logs.ByTime, logs.AsLogged} {
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe()
			defer out.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			report, err := Run(ctx, &logs.Traffic{Logs: []logs.Log{logs.Stream("pipe", in, logs.JSONL)}, Order: order}, Options{Engine: allowAll(new([]string))})
			if !errors.Is(err, context.DeadlineExceeded) || report.Requests != 0 {
				t.Errorf("%s: %d requests, error %v; want 0, interrupted", order, report.Requests, err)
			}
		})
	}
}
