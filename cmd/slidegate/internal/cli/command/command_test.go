package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/request"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	p := NewPrinter(&b)
	p.Colours = true
	p.Table("lrl", [][]string{{"é", "1", "\x1b[31m█\x1b[0m"}, {"long", "1,000", ""}, {"", "", "x"}})
	p.Section("l", []string{"header"}, nil)
	if want := "é         1  \x1b[31m█\x1b[0m\nlong  1,000\n             x\n"; b.String() != want || p.Err != nil {
		t.Errorf("%q, %v; want %q", b.String(), p.Err, want)
	}
}

// TestForeignText: what does not print reaches no terminal, unless it is a colour.
func TestForeignText(t *testing.T) {
	for _, colours := range []Colours{false, true} {
		var b strings.Builder
		p := NewPrinter(&b)
		p.Colours = colours
		p.Line("%s %s", "a\u202eb\x1b]0;x\a", p.Red("\x1b[2J"))
		if want := `a\u202eb\u001b]0;x\u0007 ` + colours.Red(`\u001b[2J`) + "\n"; b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}

func TestColours(t *testing.T) {
	if got := Colours(true).Red("x") + Colours(true).Green("y") + Colours(true).Red("") + Colours(false).Red("z"); got != "\x1b[31mx\x1b[0m\x1b[32my\x1b[0mz" {
		t.Errorf("%q", got)
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, w := range []io.Writer{&strings.Builder{}, file} {
		if coloursFor(w) {
			t.Errorf("%T is taken for a terminal", w)
		}
	}
}

func TestProgress(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	p := &Progress{w: &b, now: func() time.Time { return now }}
	p.Clear() // nothing to clear yet
	at := time.Date(2015, 5, 17, 10, 5, 3, 0, time.FixedZone("", 3600))
	for i := range 5 {
		p.Log(logs.Progress{Requests: int64(1000 * i), Read: int64(i), Size: 4, At: at})
		now = now.Add(progressEvery / 2)
	}
	p.Log(logs.Progress{Requests: 9000, At: at}) // the size of a stream is not known
	now = now.Add(progressEvery)
	p.Log(logs.Progress{Requests: 9001, At: at, Pass: "first of two passes"})
	now = now.Add(progressEvery)
	p.Clear()
	p.Clear()
	const line, when = "\r\x1b[K", "2015-05-17 09:05:03"
	want := line + "  0%  0 requests  " + when + line + " 50%  2,000 requests  " + when + line + "100%  4,000 requests  " + when +
		line + "9,001 requests  " + when + "  first of two passes" + line
	if b.String() != want {
		t.Errorf("%q\nwant %q", b.String(), want)
	}
	quiet := newProgress(&b, time.Now)
	quiet.Log(logs.Progress{})
	quiet.Clear()
	if b.String() != want {
		t.Error("progress is shown without a terminal")
	}
}

// A line on a terminal changes ten times a second at most, and goes when it is
// cleared.
func TestProgressCount(t *testing.T) {
	var printed strings.Builder
	now := time.Unix(1_800_000_000, 0)
	p := &Progress{w: &printed, now: func() time.Time { return now }}
	for done := range 4 {
		p.Count(done*500, 2000, "overrides")
		now = now.Add(progressEvery / 2)
	}
	p.Count(7, 0, "checked")
	p.Clear()
	p.Clear()
	const erase = "\r\x1b[K"
	if want := erase + "  0%  0 overrides" + erase + " 50%  1,000 overrides" + erase + "7 checked" + erase; printed.String() != want {
		t.Errorf("printed %q, want %q", printed.String(), want)
	}
	(&Progress{}).Count(1, 2, "things") // no terminal
}

// TestBuildReport has the build information of `go build` in a clone, of `go
// install` by a version, which knows no commit, and of a test.
func TestBuildReport(t *testing.T) {
	built := "(" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	commit := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "404db0d7"}, {Key: "vcs.time", Value: "2026-12-31T10:00:00Z"}}
	for want, info := range map[string]debug.BuildInfo{
		"slidegate v0.2.0 (commit 404db0d7 of 2026-12-31T10:00:00Z, " + built[1:]: {Main: debug.Module{Version: "v0.2.0"}, Settings: commit},
		"slidegate v0.2.0 " + built:  {Main: debug.Module{Version: "v0.2.0"}},
		"slidegate unknown " + built: {},
	} {
		if got := newBuild(&info).String(); got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
	}
}

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "3650d": 87600 * time.Hour,
	} {
		if got, err := parseSpan(text); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0s", "-1h", "7", "d", "1.5d", "3651d", "1d12h", "99999999999d", "forever"} {
		if d, err := parseSpan(text); err == nil {
			t.Errorf("%q: %v, want an error", text, d)
		}
	}
}

// An end within a second becomes the end of that second, never a moment before
// the start.
func TestEndAt(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-01T00:00:00Z":           "2026-01-01T00:00:00Z",
		"2026-01-01T00:00:00.000000001Z": "2026-01-01T00:00:01Z",
		"2026-01-01T00:59:59.3+01:00":    "2026-01-01T00:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		end, err := endAt(at, at.Add(-time.Hour))
		if got := end.Format(time.RFC3339Nano); got != want || err != nil {
			t.Errorf("%s is rounded to %s, %v; want %s", text, got, err, want)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 100e6, time.UTC)
	if end, err := endAt(now.Add(300*time.Millisecond), now); err != nil || !end.After(now) {
		t.Errorf("300ms after %v is over at %v, error %v", now, end, err)
	}
}

func TestRequestOfFlags(t *testing.T) {
	for _, tc := range []struct {
		args string // METHOD, PATH and flags, with bars between them
		want request.Request
		err  string
	}{
		{args: "GET|/", want: request.Request{Method: "GET", Path: "/"}},
		{args: "get|/a%2Fb?x=1&x=%202", want: request.Request{Method: "get", Path: "/a%2Fb", Query: map[string][]string{"x": {"1", " 2"}}}},
		{args: "GET|/|--ip|::ffff:203.0.113.9|--stage|prod|--apikey|k-1", want: request.Request{
			Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9"), Stage: "prod", APIKey: "k-1"}},
		{args: "GET|/|-H|X-A: 1|-H|x-a:2|-H|B:", want: request.Request{
			Method: "GET", Path: "/", Headers: map[string][]string{"X-A": {"1"}, "x-a": {"2"}, "B": {""}}}},
		{args: "GET|/|--claim|a=1=2|--claim|b=", want: request.Request{Method: "GET", Path: "/", Claims: map[string]any{"a": "1=2", "b": ""}}},
		{args: "GET|/|--claims|{\"n\": 12345678901234567890, \"o\": {\"id\": true}}|--claim|n=7", want: request.Request{
			Method: "GET", Path: "/", Claims: map[string]any{"n": "7", "o": map[string]any{"id": true}}}},
		{args: "GET|/|--claims|{\"n\": 12345678901234567890}", want: request.Request{
			Method: "GET", Path: "/", Claims: map[string]any{"n": json.Number("12345678901234567890")}}},
		{args: "GET|/|--claims|{}", want: request.Request{Method: "GET", Path: "/", Claims: map[string]any{}}},
		{args: "GET|/|--rejected", want: request.Request{Method: "GET", Path: "/", Rejected: true}},
		{args: "GET|/|--route|$default", want: request.Request{Method: "GET", Path: "/", Route: "$default"}},
		{args: "GET|/users/a%20b|--route|GET /users/{id}", want: request.Request{
			Method: "GET", Path: "/users/a%20b", Route: "GET /users/{id}", PathParams: map[string]string{"id": "a b"}}},
		{args: "GET|/f/a/b/c|--route|/f/{dir}/{rest+}", want: request.Request{
			Method: "GET", Path: "/f/a/b/c", Route: "/f/{dir}/{rest+}", PathParams: map[string]string{"dir": "a", "rest": "b/c"}}},

		{args: "GET|x", err: "is no path"},
		{args: "GET|http://h/x", err: "is no path"},
		{args: "G T|/", err: "is no method"},
		{args: "GET|/|--ip|localhost", err: "--ip localhost"},
		{args: "GET|/|-H|x", err: "want 'NAME: VALUE'"},
		{args: "GET|/|-H|:x", err: "want 'NAME: VALUE'"},
		{args: "GET|/|-H|a b: x", err: "want 'NAME: VALUE'"},
		{args: "GET|/|--claim|x", err: "want NAME=VALUE"},
		{args: "GET|/|--claim|=x", err: "want NAME=VALUE"},
		{args: "GET|/|--claim|/a/b=x", err: "is given by --claims"},
		{args: "GET|/|--claims|[]", err: "want a JSON object"},
		{args: "GET|/|--claims|null", err: "want a JSON object"},
		{args: "GET|/|--claims|{}{}", err: "something follows"},
		{args: "GET|/|--rejected|--apikey|k", err: "say nothing"},
		{args: "GET|/users|--route|/users/{id}", err: "too short"},
		{args: "GET|/users/7/x|--route|/users/{id}", err: "too long"},
		{args: "GET|/u/7|--route|/users/{id}", err: "has u where the template has users"},
		{args: "GET|/users/%zz|--route|/users/{id}", err: "invalid URL escape"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var got request.Request
			cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
			cmd.RunE = func(_ *cobra.Command, args []string) error { return SetTarget(&got, args[0], args[1]) }
			cmd.SetArgs(strings.Split(tc.args, "|"))
			Request(cmd, &got)
			err := cmd.Execute()
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q in it", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plainly(tc.want), plainly(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// plainly returns the fields of a request that are not empty.
func plainly(r request.Request) map[string]any {
	text, _ := json.Marshal(&r)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var fields map[string]any
	_ = d.Decode(&fields)
	for name, value := range fields {
		if list, ok := value.(map[string]any); ok && len(list) == 0 && name != "Claims" || value == nil {
			delete(fields, name)
		}
	}
	return fields
}

// writing returns a function that writes a text, then returns err.
func writing(text string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		_, failed := io.WriteString(w, text)
		return errors.Join(failed, err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s contains %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

// A file appears complete or not at all, whether or not one of its name exists.
func TestOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	broken := errors.New("broken")
	for _, tc := range []struct {
		name, text, want string
		err              error
	}{
		{"failed where no file was", "half", "", broken},
		{"written where no file was", "one", "one", nil},
		{"failed over a file", "half", "one", broken},
		{"written over a file", "two", "two", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := WriteFile(path, nil, writing(tc.text, tc.err)); !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if tc.want == "" {
				wantEmpty(t, filepath.Dir(path))
				return
			}
			wantFile(t, path, tc.want)
			if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
				t.Errorf("%d files, %v; want one", len(entries), err)
			}
		})
	}
}

func TestOutputThroughALink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(real, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := WriteText(link, nil, "new"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, real, "new")
	if info, err := os.Stat(real); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file of the link has the mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

// A device is written to, never replaced.
func TestOutputToADevice(t *testing.T) {
	for range 2 {
		if err := WriteText(os.DevNull, nil, "gone"); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("%s is no device any more: %v", os.DevNull, err)
	}
}

func TestOutputElsewhere(t *testing.T) {
	for _, path := range []string{"", "-"} {
		var b strings.Builder
		if err := WriteText(path, &b, "text"); err != nil || b.String() != "text" {
			t.Errorf("%q: %q, %v", path, b.String(), err)
		}
	}
	dir := t.TempDir()
	if err := WriteText(dir, nil, "text"); err == nil {
		t.Error("a directory is taken for a file")
	}
	err := WriteText(filepath.Join(dir, "none", "out"), nil, "text")
	if err == nil || !strings.HasSuffix(err.Error(), filepath.Join("none", "out")+": no such file or directory") {
		t.Errorf("error %v", err)
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("%q was left behind, %v", left, err)
	}
}

// A new file is never an existing one, a link's target, or standard output.
func TestWriteNew(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink("target", "link"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		path string
		ok   bool
	}{{"a", true}, {"a", false}, {"-", true}, {"link", false}, {"none/a", false}} {
		if err := WriteNewFile(step.path, "text"); (err == nil) != step.ok {
			t.Errorf("%s: %v", step.path, err)
		} else if err == nil {
			wantFile(t, step.path, "text")
		}
	}
}

// What fails at the end of writing leaves no file, and names the one that the
// user typed. A failure of another file keeps its own name.
func TestFailuresWhileWriting(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	for want, write := range map[string]func(io.Writer) error{
		"sync " + path + ": file already closed": func(w io.Writer) error { return w.(*os.File).Close() },
		"open " + dir + "/log: no such file or directory": func(io.Writer) error {
			_, err := os.Open(dir + "/log")
			return err
		},
		"write " + path + ": ": func(io.Writer) error { return os.MkdirAll(path, 0o700) }, // the rename fails
	} {
		if err := WriteFile(path, nil, write); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		_ = os.Remove(path) // the directory
		wantEmpty(t, dir)
	}
}
