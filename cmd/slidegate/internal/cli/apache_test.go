package cli

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
)

const (
	traffic   = "../../../../examples/traffic/"
	apacheLog = traffic + "apache-access-2015.log.gz"
)

// wide is for `make engines`: a local DynamoDB takes a minute for the whole log.
var wide = flag.Bool("wide", false, "replay the whole Apache log on DynamoDB, not its first 500 lines")

// All stores write the same decisions, byte for byte, for four days of a real web
// site. An independent count agrees. In the order of the file the clock goes back
// at half of the lines, so this also compares how stores decide by late clocks.
func TestApacheLog(t *testing.T) {
	client, server := dynamotest.Connect(t), servers.StartRedis(t)
	part := apacheLog
	if !*wide {
		part = firstLines(t, apacheLog, 500)
	}
	for _, tc := range []struct {
		rules, order    string
		bound           bound
		allowed, denied int64
	}{
		{"per-ip-10-per-minute.yaml", "time", bound{10, time.Minute, time.Second}, 8271, 1729},
		{"per-ip-3-per-10s.yaml", "time", bound{3, 10 * time.Second, 200 * time.Millisecond}, 8404, 1596},
		{"per-ip-3-per-10s.yaml", "file", bound{3, 10 * time.Second, 200 * time.Millisecond}, 6409, 3591},
	} {
		t.Run(tc.rules+" by "+tc.order, func(t *testing.T) {
			options := tc.rules + " --order " + tc.order
			memory, report := replayApache(t, apacheLog, options, "memory")
			want := apacheReport{Requests: 10_000, Allowed: tc.allowed, Denied: tc.denied, OutOfOrder: 4915}
			wantSame(t, "the output", want, report)
			if redis, _ := replayApache(t, apacheLog, options, server.URL()); redis != memory {
				t.Error("Redis decides differently")
			}
			if err := server.Client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			partly, _ := replayApache(t, part, options, "memory")
			if dynamo, _ := replayApache(t, part, options, "dynamodb://"+dynamotest.Counters(t, client)); dynamo != partly {
				t.Error("DynamoDB decides differently")
			}
			decisions, err := readDecisions(memory)
			if err != nil {
				t.Fatal(err)
			}
			if got := int64(len(decisions)); got != tc.allowed+tc.denied {
				t.Errorf("%d decisions of %d requests", got, tc.allowed+tc.denied)
			}
			if err := tc.bound.check(decisions); err != nil {
				t.Error(err)
			}
			if err := tc.bound.recount(decisions); err != nil {
				t.Error(err)
			}
		})
	}
}

// firstLines writes the first n lines of a log to a file, and returns its path.
func firstLines(t *testing.T, log string, n int) string {
	t.Helper()
	text, err := exec.Command("sh", "-c", "gunzip -c "+log+" | head -n "+strconv.Itoa(n)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "first.log", string(text))
}

type apacheReport struct {
	Requests, Skipped, Allowed, Denied, Degraded int64
	OutOfOrder                                   int64 `json:"out_of_order"`
}

// replayApache replays a log and returns the decisions.
func replayApache(t *testing.T, log, options, store string) (decisions string, _ apacheReport) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "decisions.tsv")
	report := mustReport[struct {
		apacheReport
		Elapsed       float64 `json:"elapsed_s"`
		Reads, Writes *int64
	}](t, "replay "+log+" --rules "+traffic+options+" --store "+store+" --decisions "+out)
	t.Logf("%s: %d requests in %.2f s", store, report.Requests, report.Elapsed)
	if report.Writes != nil {
		t.Logf("%s: %d writes, %d reads", store, *report.Writes, *report.Reads)
		if *report.Writes > report.Allowed { // a denial costs nothing
			t.Errorf("%d writes for %d allowed requests", *report.Writes, report.Allowed)
		}
	}
	return read(t, out), report.apacheReport
}

// everyAlgorithm has a shadow rule for each algorithm, so that none depends on
// the others.
const everyAlgorithm = `
rules:
  - {name: sliding,  key: 'ip:{ip}', mode: shadow, limits: [{capacity: 3, window: 10s}]}
  - {name: fixed,    key: 'ip:{ip}', mode: shadow, limits: [{algorithm: fixed_window, capacity: 3, window: 10s}]}
  - {name: weighted, key: 'ip:{ip}', mode: shadow, limits: [{algorithm: sliding_window_counter, capacity: 3, window: 10s}]}
  - {name: log,      key: 'ip:{ip}', mode: shadow, limits: [{algorithm: sliding_window_log, capacity: 3, window: 10s}]}
  - {name: token,    key: 'ip:{ip}', mode: shadow, limits: [{algorithm: token_bucket, capacity: 3, window: 10s, burst: 5}]}
  - {name: leaky,    key: 'ip:{ip}', mode: shadow, limits: [{algorithm: leaky_bucket, capacity: 3, window: 10s, queue: 4}]}
`

// The totals of every algorithm are those of the page about the log.
func TestApacheLogByEveryAlgorithm(t *testing.T) {
	report := mustReport[struct {
		Rules map[string]struct {
			WouldDeny int64 `json:"would_deny"`
		}
	}](t, "replay "+apacheLog+" --rules "+file(t, "rules.yaml", everyAlgorithm))
	for name, want := range map[string]int64{"sliding": 1596, "fixed": 1246, "weighted": 1836, "log": 1483, "token": 890, "leaky": 965} {
		if got := report.Rules[name].WouldDeny; got != want {
			t.Errorf("%s would deny %d, want %d", name, got, want)
		}
	}
}
