package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/engine"
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
		{"two logs of one time", logs{requests("1 /a", "3 /b"), requests("2 /c", "4 /d")}, ByTime, []string{"1 /a", "2 /c", "3 /b", "4 /d"}, 1},
		{"equal times in two logs", logs{requests("2 /a", "2 /b"), requests("1 /c", "2 /d")}, ByTime, []string{"1 /c", "2 /a", "2 /b", "2 /d"}, 1},
		{"lines without a time are skipped", logs{requests("2 /a") + "{\"path\":\"/b\"}\n" + requests("1 /c")}, ByTime, []string{"1 /c", "2 /a"}, 1},
		{"as logged", logs{requests("5 /a", "3 /b", "4 /c"), requests("1 /d")}, AsLogged, []string{"5 /a", "3 /b", "4 /c", "1 /d"}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			traffic := &Traffic{Order: tc.order}
			for _, log := range tc.logs {
				traffic.Logs = append(traffic.Logs, text(log))
			}
			var seen []string
			report, err := Run(t.Context(), traffic, Options{Engine: allowAll(&seen)})
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

// Each log is read by its own columns.
func TestOrderOfSeveralFormats(t *testing.T) {
	var seen []string
	var warned []string
	traffic := &Traffic{Warn: func(text string) { warned = append(warned, text) }, Logs: []Log{
		Stream("1", strings.NewReader("time,path\n5,/a\n1,/b\n"), CSV),
		Stream("2", strings.NewReader("path,size,time\n/c,9,3\n"), CSV),
		text(requests("4 /d")),
	}}
	if _, err := Run(t.Context(), traffic, Options{Engine: allowAll(&seen)}); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{"1 /b", "3 /c", "4 /d", "5 /a"}, seen); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]string{"2: columns not used: size"}, warned); diff != "" {
		t.Error(diff)
	}
}

// A comparison decides both sides by time: a window of the past is full for
// neither.
func TestCompareByTime(t *testing.T) {
	c := compare(t, fmt.Sprintf(perIP, 2), fmt.Sprintf(perIP, 1), requests("20 /", "0 /", "21 /", "1 /"))
	if c.ToDenied != 2 || c.ToAllowed != 0 || c.OutOfOrder != 2 || c.Order != ByTime {
		t.Errorf("%+v", c)
	}
}

// Logs that cannot be read to their end are not decided in part: counters of a
// table would be charged for it.
func TestOrderOfALogThatBreaksOff(t *testing.T) {
	for order, want := range map[Order]int{ByTime: 0, AsLogged: 3} {
		var seen []string
		broken := text(gzipped(t, requests("5 /a"))[:40])
		traffic := &Traffic{Logs: []Log{text(requests("1 /", "2 /", "3 /")), broken}, Order: order}
		_, err := Run(t.Context(), traffic, Options{Engine: allowAll(&seen)})
		if len(seen) != want || message(err) != "log:1: unexpected EOF" {
			t.Errorf("%s: %d requests decided, error %v; want %d", order, len(seen), err, want)
		}
	}
}

// fewBytes has room for 128 of manyLines, and as many that are being written.
const fewBytes = 8 << 10

// manyLines returns lines for three chunks of fewBytes, each with its own number.
func manyLines() (log string, want []string) {
	const lines = 333
	var b strings.Builder
	type logged struct{ second, number int }
	var all []logged
	for i := range lines {
		second := i / 3 * 5 % 107
		all = append(all, logged{second, i})
		fmt.Fprintf(&b, `{"time":%d,"path":"/%d"}`+"\n", second, i)
	}
	slices.SortStableFunc(all, func(a, b logged) int { return cmp.Compare(a.second, b.second) })
	for _, l := range all {
		want = append(want, fmt.Sprintf("%d /%d", l.second, l.number))
	}
	return b.String(), want
}

// More lines than memory holds are sorted in a temporary file, which is gone
// afterwards, also after an error or an interruption.
func TestOrderOfManyLines(t *testing.T) {
	log, want := manyLines()
	for _, tc := range []struct {
		name    string
		decided int // before the end
		end     error
	}{
		{"to the end", len(want), nil},
		{"a decision fails", 100, errDown},
		{"interrupted", 100, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			ctx, cancel := context.WithCancel(t.Context())
			var seen []string
			var progress []Progress
			decide := deciderFunc(func(now time.Time, req *request.Request) (*engine.Decision, error) {
				if len(seen) == tc.decided {
					return nil, errDown
				}
				seen = append(seen, fmt.Sprint(now.Unix(), " ", req.Path))
				if len(seen) == tc.decided && errors.Is(tc.end, context.Canceled) {
					cancel()
				}
				return &engine.Decision{Allowed: true}, nil
			})
			traffic := &Traffic{Logs: []Log{text(log)}, sortBytes: fewBytes, Progress: func(p Progress) { progress = append(progress, p) }}
			report, err := Run(ctx, traffic, Options{Engine: decide})
			if !errors.Is(err, tc.end) || int(report.Requests) != tc.decided {
				t.Errorf("%d requests, error %v; want %d, %v", report.Requests, err, tc.decided, tc.end)
			}
			if !slices.Equal(seen, want[:tc.decided]) {
				t.Error("the requests are not in the order of their times")
			}
			read, first := progress[len(want)-1], progress[len(want)]
			if !read.Sorting || int(read.Requests) != len(want) || first.Sorting || first.Requests != 1 || int(first.Total) != len(want) {
				t.Errorf("progress was %+v, then %+v", read, first)
			}
			wantEmpty(t, dir)
		})
	}
}

// A disk that is not there ends the sorting while lines are still read.
func TestOrderWithoutADisk(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "file"))
	if err := os.WriteFile(os.Getenv("TMPDIR"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log, _ := manyLines()
	var seen []string
	_, err := Run(t.Context(), &Traffic{Logs: []Log{text(log)}, sortBytes: fewBytes}, Options{Engine: allowAll(&seen)})
	if err == nil || !strings.HasPrefix(err.Error(), "sort the requests by time: ") || len(seen) > 0 {
		t.Errorf("%d requests, error %v", len(seen), err)
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
