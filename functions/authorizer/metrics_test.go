package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/test/servers"
)

// TestMetrics runs the binary as Lambda does, floods it with 60 times the limit,
// and shuts it down. The sums of its lines are the answers that the callers got
// and the calls that a proxy before DynamoDB has counted.
func TestMetrics(t *testing.T) {
	_, counters, rules := publish(t, `rules: [{name: api, key: "ip:{ip}", limit: 20/hour}]`)
	seen := record(t, map[string]string{"counters": counters, "rules": rules})
	var log bytes.Buffer
	f := startFunction(t, &log)
	answers := map[string]int64{}
	for range 60 * 20 {
		answers["Decisions"]++
		if !invoke(t, f) {
			answers["Denied"]++
		}
	}
	if err := f.Shutdown(); err != nil {
		t.Fatal(err)
	}
	f.Stop()

	got, snapshots, minutes := map[string]int64{}, 0, 0
	for text := range strings.Lines(log.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if line["msg"] != "metrics" {
			continue
		}
		minutes++
		if line["Limiter"] != "shop/RateLimit" {
			t.Errorf("the limiter is %v", line["Limiter"])
		}
		for _, name := range []string{"Decisions", "Denied", "Writes", "Reads", "StoreAttempts"} {
			if n, ok := line[name].(float64); ok {
				got[name] += int64(n)
			}
		}
		if n, ok := line["SnapshotDenials"].(float64); ok {
			snapshots += int(n)
		}
	}
	want := map[string]int64{"Decisions": answers["Decisions"], "Denied": answers["Denied"]}
	for call, n := range seen {
		name := "Writes"
		if strings.HasSuffix(call, ": GetItem") {
			name = "Reads"
		}
		want[name] += int64(n)
		want["StoreAttempts"] += int64(n)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sums of %d minutes (-want +got):\n%s\n%s", minutes, diff, &log)
	}
	if answers["Denied"] != 59*20 || snapshots < 58*20 {
		t.Errorf("%d denied, %d of them without a call", answers["Denied"], snapshots)
	}
}

// TestWithoutMetrics: SLIDEGATE_METRICS=off leaves the log alone.
func TestWithoutMetrics(t *testing.T) {
	publish(t, `rules: []`)
	t.Setenv("SLIDEGATE_METRICS", "off")
	var log bytes.Buffer
	f := startFunction(t, &log)
	invoke(t, f)
	if err := f.Shutdown(); err != nil {
		t.Fatal(err)
	}
	f.Stop()
	if log.Len() > 0 {
		t.Errorf("logged %s", &log)
	}
}

// startFunction builds the binary and starts it. What it writes goes to log.
func startFunction(t *testing.T, log *bytes.Buffer) *servers.Lambda {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "authorizer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("SLIDEGATE_LIMITER", "shop/RateLimit")
	command := exec.Command(binary)
	command.Env, command.Stdout, command.Stderr = os.Environ(), log, log
	f, err := servers.StartLambda(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f
}

// invoke makes a request, and reports whether it was allowed.
func invoke(t *testing.T, f *servers.Lambda) (allowed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ev, err := json.Marshal(event("/x"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := f.Invoke(ctx, ev)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Context struct{ Allowed string } }
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Context.Allowed == "true"
}
