package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

func TestVersions(t *testing.T) {
	newTable(t).transcript(t, "versions-empty")
	table := newTable(t, "testdata/rules.yaml")
	dir := t.TempDir()
	table.transcript(t, "versions", "DIR", dir)
	want, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(dir, "rules.yaml"), string(want))
	if got := mustRun(t, "rules get 1"+table.at); got != string(want) {
		t.Errorf("printed %q, want the published text", got)
	}
}

// Explain and inspect use the overrides and grants that the table has now.
func TestExplainAndInspectATable(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	table.scrub = scrubMoments
	table.transcript(t, "explain-table", "COUNTERS", dynamotest.Counters(t, table.client),
		"LOG", recent(t, `"method": "GET", "path": "/v1/x", "jwt": {"sub": "7", "tenant": "zeta"}`, 3))
}

// An override in the table of a rule that takes none from there is ignored, by
// explain as by limiters.
func TestExplainARuleThatTakesNoOverrides(t *testing.T) {
	table := newTable(t, "testdata/written.yaml")
	table.set(t, "per-ip", "ip:203.0.113.9", `{"deny": true}`)
	for ip, want := range map[string]string{"203.0.113.9": "override  none for ip:203.0.113.9", "198.51.100.7": "override  capacity 100 (in the rules)"} {
		got := mustRun(t, "explain GET / --ip "+ip+table.at)
		if !strings.HasPrefix(got, "GET /: allowed\n") || !strings.Contains(got, want) {
			t.Errorf("%s: printed\n%s\nwant %q in it", ip, got, want)
		}
	}
}

// Where an override cannot be read, explain says so, and what limiters do then.
func TestExplainAnUnreadableOverride(t *testing.T) {
	table := newTable(t, "testdata/unreadable.yaml")
	for rule, key := range map[string]string{"local": "tenant:t", "pass": "tenant:t", "refuse": "tenant:t", rules.PlanOverrides: "user:7"} {
		table.set(t, rule, key, `{"capacty": 5}`)
	}
	table.set(t, rules.PlanOverrides, "user:8", `{"plan": "gold"}`)
	table.transcript(t, "explain-unreadable")
}

// scrubMoments replaces all that depends on the moment of the test.
func scrubMoments(text string) string { return scrubWaits(scrubStamps(scrubElapsed(text))) }

// recent writes a log of requests of five seconds ago, each an object with these
// fields. A wait that began just now could be a minute to the tenth of a second,
// and would be written as one.
func recent(t *testing.T, fields string, requests int) (path string) {
	t.Helper()
	line := fmt.Sprintf("{\"time\": %d, %s}\n", time.Now().Add(-5*time.Second).Unix(), fields)
	return file(t, "now.jsonl", strings.Repeat(line, requests))
}

func TestRetryText(t *testing.T) {
	for want, seconds := range map[string]float64{"now": 0, "never": -1, "1.5s": 1.5} {
		if got := retryText(seconds); got != want {
			t.Errorf("%v is written %q, want %q", seconds, got, want)
		}
	}
}
