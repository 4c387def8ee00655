package logs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Run reads all these logs in the order of their lines, and skips the lines that
// it cannot read.
func TestLogs(t *testing.T) {
	long := `{"time":2,"path":"/` + strings.Repeat("x", maxLine) + `"}` + "\n"
	for _, tc := range []struct {
		name    string
		logs    []Log
		want    []string
		skipped int64
		first   string // of the skipped
		err     string
	}{
		{name: "lines in file order", logs: []Log{text(requests("5 /a", "3 /b", "4 /c"))}, want: []string{"5 /a", "3 /b", "4 /c"}},
		{name: "no line break at the end", logs: []Log{text(strings.TrimSpace(requests("5 /a", "3 /b")))}, want: []string{"5 /a", "3 /b"}},
		{name: "breaks of Windows", logs: []Log{text(strings.ReplaceAll(requests("5 /a", "3 /b"), "\n", "\r\n"))}, want: []string{"5 /a", "3 /b"}},
		{name: "empty lines", logs: []Log{text("\n" + requests("5 /a") + "\n\r\n" + requests("3 /b"))}, want: []string{"5 /a", "3 /b"}},
		{name: "byte order mark", logs: []Log{text("\ufeff" + requests("5 /a"))}, want: []string{"5 /a"}},
		{name: "nothing at all", logs: []Log{text("")}},
		{name: "several logs, one by one", logs: []Log{text(requests("5 /a")), text(requests("3 /b"))}, want: []string{"5 /a", "3 /b"}},
		{name: "gzip", logs: []Log{text(gzipped(t, requests("5 /a", "3 /b")))}, want: []string{"5 /a", "3 /b"}},
		{name: "gzip put together", logs: []Log{text(gzipped(t, requests("5 /a")) + gzipped(t, requests("3 /b")))}, want: []string{"5 /a", "3 /b"}},
		{name: "broken lines", logs: []Log{text(requests("5 /a") + "\nbroken\n" + requests("3 /b") + "{}\n")}, want: []string{"5 /a", "3 /b"},
			skipped: 2, first: `log:3: line is not JSON: invalid character 'b' looking for beginning of value`},
		{name: "broken lines alone", logs: []Log{text("x\n"), text("y\n")},
			skipped: 2, first: `log:1: line is not JSON: invalid character 'x' looking for beginning of value`, err: ErrUnreadable.Error()},
		{name: "a line too long to hold", logs: []Log{text(requests("1 /a") + long + requests("3 /b"))}, want: []string{"1 /a", "3 /b"}, skipped: 1, first: "log:2: " + errLong.Error()},
		{name: "csv with a header line that is refused", logs: []Log{Stream("log", strings.NewReader("path\n/a\n/b\n"), CSV), text(requests("3 /b"))}, want: []string{"3 /b"},
			skipped: 3, first: "log:1: header line names no column time"},
		{name: "csv, its header line anew in each log", logs: []Log{Stream("1", strings.NewReader("time,path\n5,/a\n"), CSV), Stream("2", strings.NewReader("path,time\n/b,3\n"), CSV)},
			want: []string{"5 /a", "3 /b"}},
		{name: "gzip cut short", logs: []Log{text(gzipped(t, requests("5 /a"))[:40])}, err: "log:1: unexpected EOF: the gzip file is cut short: copy it again"},
		{name: "gzip with a broken header", logs: []Log{text("\x1f\x8bxxxxxxxxxxxxxxxxxxxx")}, err: "log: gzip: invalid header"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen []string
			report, err := read(t.Context(), &Traffic{Logs: tc.logs, Order: AsLogged}, keep(&seen))
			if got := message(err); got != tc.err {
				t.Fatalf("error %q, want %q", got, tc.err)
			}
			if diff := cmp.Diff(tc.want, seen); diff != "" {
				t.Error(diff)
			}
			first := ""
			if report.FirstSkipped != nil {
				first = report.FirstSkipped.Error()
			}
			if report.Requests != int64(len(tc.want)) || report.Skipped != tc.skipped || first != tc.first {
				t.Errorf("%d requests, %d skipped, the first %q; want %d, %d, %q",
					report.Requests, report.Skipped, first, len(tc.want), tc.skipped, tc.first)
			}
		})
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "day.jsonl.gz")
	content := gzipped(t, requests("5 /a"))
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := File(path, "")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	var last Progress
	_, err = read(t.Context(), &Traffic{Logs: []Log{log, log}, Progress: func(p Progress) { last = p }}, keep(&seen))
	if err != nil || len(seen) != 2 {
		t.Fatalf("%d requests of 2, error %v", len(seen), err)
	}
	size := 2 * int64(len(content))
	if want := (Progress{Requests: 2, Read: size, Size: size, At: time.Unix(5, 0)}); !cmp.Equal(last, want) {
		t.Errorf("the last progress was %+v, want %+v", last, want)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(filepath.Dir(path), "link")); err != nil {
		t.Fatal(err)
	}
	if all, err := Files(filepath.Dir(path), CLF); err != nil || len(all) != 1 || all[0].Name != path || all[0].Format != CLF {
		t.Errorf("files of the directory: %+v, error %v", all, err)
	}
	for _, missing := range []string{filepath.Dir(path), path + "x"} {
		if _, err := File(missing, CLF); err == nil {
			t.Errorf("%s is taken for a log", missing)
		}
	}
}

// counted is a file that is open while a log is read.
type counted struct {
	io.Reader
	close func()
}

func (c *counted) Close() error {
	c.close()
	return nil
}

// A load balancer writes a file for each node every five minutes. All are merged
// by time, and few are open at once.
func TestManyLogs(t *testing.T) {
	const files, nodes, lines = 1000, 4, 60
	for _, tc := range []struct {
		name   string
		buffer int // of each, bytes; 0 for the usual
		atMost int // files open
	}{
		{"files that fit into their buffers", 0, 1},
		{"larger files", 500, nodes * (60/5 + 2)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			traffic := Traffic{buffer: tc.buffer}
			open, most := 0, 0
			for i := range files {
				traffic.Logs = append(traffic.Logs, Log{Name: fmt.Sprint(i), Size: 1, Open: func() (io.ReadCloser, error) {
					if open++; open > most {
						most = open
					}
					var seconds []string
					for j := range lines { // each pair is out of order
						seconds = append(seconds, fmt.Sprintf("%d /%d", 300*(i/nodes)+5*(j^1)+1, i))
					}
					return &counted{strings.NewReader(requests(seconds...)), sync.OnceFunc(func() { open-- })}, nil
				}})
			}
			slices.Reverse(traffic.Logs) // their order does not matter
			last := time.Time{}
			x, err := read(t.Context(), &traffic, func(e *Entry) error {
				if e.Time.Before(last) {
					t.Fatalf("%v after %v", e.Time, last)
				}
				last = e.Time
				return nil
			})
			if err != nil || x.Requests != files*lines || x.Late > 0 {
				t.Fatalf("%d requests, %d late: %v", x.Requests, x.Late, err)
			}
			if open != 0 || most > tc.atMost {
				t.Errorf("%d files were open at once, want %d at most; %d are still", most, tc.atMost, open)
			}
		})
	}
}

func TestFileThatGoesMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "day.jsonl")
	if err := os.WriteFile(path, []byte(requests("5 /a")), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := File(path, JSONL)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t.Context(), &Traffic{Logs: []Log{log}}, keep(new([]string))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// The page about logs has formats that can be read.
func TestDocumentedFormats(t *testing.T) {
	page, err := os.ReadFile("../../../../../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, format, _ := strings.Cut(string(page), "```json\n")
	format, _, ok := strings.Cut(format, "\n")
	line := strings.NewReplacer("$context.requestTime", "17/May/2015:10:05:03 +0000", "$context.httpMethod", "PUT", "$context.path", "/prod/items/7", "$context.stage", "prod",
		"$context.resourcePath", "/items/{id}", "$context.identity.sourceIp", "203.0.113.9", "$context.status", "200", "$context.identity.apiKeyId", "-",
		"$context.identity.userAgent", "curl/8", "$context.domainName", "api.example.com", "$context.requestId", "x").Replace(format)
	if !ok || strings.Contains(line, "$") {
		t.Fatalf("unknown variables: %s", line)
	}
	checkCase(t, (&Log{}).parser(nil), &parserCase{line: line, want: wanted{at: on(10, 5, 3), method: "PUT", path: "/items/7", route: "/items/{id}",
		stage: "prod", ip: "203.0.113.9", status: 200, headers: map[string][]string{"user-agent": {"curl/8"}, "host": {"api.example.com"}}}})

	_, template, _ := strings.Cut(string(page), "--log-format '")
	template, _, _ = strings.Cut(template, "'\n")
	parsed, err := ParseTemplate(template)
	if err != nil {
		t.Fatal(err)
	}
	checkCase(t, parsed.parse, &parserCase{line: `203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "c1"`,
		want: wanted{at: on(10, 5, 3), method: "GET", path: "/", ip: "203.0.113.9", status: 200, headers: map[string][]string{"x-api-client": {"c1"}}}})
}
