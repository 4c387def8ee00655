package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/redistest"
)

const traffic = "../../examples/traffic/"

// All stores write the same decisions, byte for byte, for a recorded day of a real
// web site, half of its lines out of order. An independent count agrees.
func TestApacheLog(t *testing.T) {
	client, server := dynamotest.Connect(t), redistest.Start(t)
	for _, tc := range []struct {
		rules           string
		bound           bound
		allowed, denied int64
	}{
		{"per-ip-10-per-minute.yaml", bound{10, time.Minute, time.Second}, 8271, 1729},
		{"per-ip-3-per-10s.yaml", bound{3, 10 * time.Second, 200 * time.Millisecond}, 6409, 3591},
	} {
		t.Run(tc.rules, func(t *testing.T) {
			memory := replayApache(t, tc.rules, "memory", tc.allowed, tc.denied)
			dynamo := replayApache(t, tc.rules, "dynamodb://"+dynamotest.Counters(t, client), tc.allowed, tc.denied)
			if memory != dynamo {
				t.Error("DynamoDB decides differently")
			}
			if memory != replayApache(t, tc.rules, server.URL(), tc.allowed, tc.denied) {
				t.Error("Redis decides differently")
			}
			if err := server.Client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
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

// replayApache replays the log and returns the decisions.
func replayApache(t *testing.T, rules, store string, allowed, denied int64) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "decisions.tsv")
	report := mustReport[struct {
		Requests, Skipped, Allowed, Denied, Degraded int64
		Elapsed                                      float64 `json:"elapsed_s"`
		Reads, Writes                                *int64
	}](t, "replay "+traffic+"apache-access-2015.log.gz --rules "+traffic+rules+" --store "+store+" --decisions "+out)
	t.Logf("%s: %.2f s", store, report.Elapsed)
	if report.Requests != 10_000 || report.Skipped != 0 || report.Allowed != allowed || report.Denied != denied || report.Degraded != 0 {
		t.Errorf("%s: %+v", store, report)
	}
	if report.Writes != nil {
		t.Logf("%s: %d writes, %d reads", store, *report.Writes, *report.Reads)
		if *report.Writes > allowed { // a denial costs nothing
			t.Errorf("%d writes for %d allowed requests", *report.Writes, allowed)
		}
	}
	decisions, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(decisions)
}
