package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/redistest"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// dropAfter deletes a table that a command is to make when the test ends.
func dropAfter(t *testing.T, client *dynamo.Client, table string) {
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Error(err)
		}
	})
}

func rulesTable(t *testing.T, client *dynamo.Client) string {
	return dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
}

// wantFailure runs a command that has to fail with one message that holds all of the wanted parts.
func wantFailure(t *testing.T, command string, parts ...string) {
	t.Helper()
	r := slidegate(t.Context(), "", strings.Fields(command)...)
	if r.code != 1 || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%s: exit %d, printed %q, said %q", command, r.code, r.stdout, r.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("%s: said %q, want %q in it", command, r.stderr, part)
		}
	}
}

func TestTablesCreate(t *testing.T) {
	client := dynamotest.Connect(t)
	counters, rules, other := dynamotest.Name(), dynamotest.Name(), dynamotest.Name()
	dropAfter(t, client, counters)
	dropAfter(t, client, rules)
	dropAfter(t, client, other)

	command := []string{"tables", "create", "--counters", counters, "--rules", rules}
	want := "created table " + counters + " for counters\ncreated table " + rules + " for rules\n"
	if got := mustRun(t, command...); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	want = "table " + counters + " for counters exists already\ntable " + rules + " for rules exists already\n"
	if got := mustRun(t, command...); got != want {
		t.Errorf("the second time printed %q, want %q", got, want)
	}
	var report struct{ Tables []session.TableReport }
	if err := json.Unmarshal([]byte(mustRun(t, "tables", "create", "--store", "dynamodb://"+other, "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]session.TableReport{{Table: other, Role: "counters", Created: true}}, report.Tables); diff != "" {
		t.Error(diff)
	}
	mustRun(t, "rules", "apply", "testdata/rules.yaml", "--rules", "dynamodb://"+rules) // and they are of use
	mustRun(t, "replay", "testdata/day.log", "--rules", "dynamodb://"+rules, "--store", "dynamodb://"+counters)
}

func TestTablesCreateRefusesATableOfAnotherKind(t *testing.T) {
	client := dynamotest.Connect(t)
	rules, missing := rulesTable(t, client), dynamotest.Name()
	wantFailure(t, "tables create --rules "+missing+" --counters "+rules, "this seems to be no table of counters: table "+rules)
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &rules})
	if err != nil || ttl.TimeToLiveDescription != nil && ttl.TimeToLiveDescription.TimeToLiveStatus != "DISABLED" {
		t.Errorf("the table's expiry was touched: %+v, %v", ttl, err)
	}
	if _, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &missing}); err == nil {
		t.Error("the other table was made all the same")
	}
}

func TestRulesApply(t *testing.T) {
	client := dynamotest.Connect(t)
	table := rulesTable(t, client)
	place := "dynamodb://" + table

	if got, want := mustRun(t, "rules", "apply", "testdata/rules.yaml", "--rules", place, "--who", "jo", "--why", "launch week"),
		"\ntestdata/rules.yaml is version 1 of table "+table+" and in force\n"; !strings.HasSuffix(got, want) {
		t.Errorf("printed %q, want %q at the end", got, want)
	}
	if got := mustRun(t, "rules", "apply", "testdata/rules.yaml", "--rules", place, "--json"); !strings.Contains(got, `"version": 2`) {
		t.Errorf("printed %q", got)
	}
	r := slidegate(t.Context(), "", "rules", "apply", "testdata/bad.yaml", "--rules", place)
	if r.code != 1 || strings.Count(r.stderr, "slidegate: testdata/bad.yaml:") != 3 {
		t.Errorf("an invalid file: exit %d, said %q", r.code, r.stderr)
	}

	published := ruletable.New(client, table)
	if current, err := published.Current(t.Context()); err != nil || current != 2 {
		t.Errorf("version %d is in force, %v; want 2", current, err)
	}
	document, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, err := published.Get(t.Context(), 1)
	if err != nil || string(first.Text) != string(document) || first.Who != "jo" || first.Why != "launch week" {
		t.Errorf("version 1 is %+v, %v", first, err)
	}
	if age := time.Since(first.When); age < -time.Minute || age > time.Minute {
		t.Errorf("version 1 was published %v ago", age)
	}
	if second, err := published.Get(t.Context(), 2); err != nil || second.Who == "" {
		t.Errorf("version 2 is %+v, %v: nobody published it", second, err)
	}
}

func TestRulesOfAnEmptyTable(t *testing.T) {
	table := rulesTable(t, dynamotest.Connect(t))
	wantFailure(t, "replay testdata/day.log --rules dynamodb://"+table, "no rules are published", "rules apply FILE")
}

func TestReplayTellsWhatDynamoDBWasAsked(t *testing.T) {
	client := dynamotest.Connect(t)
	commands := func(more string) []string {
		return []string{"replay", "testdata/day.log", "--rules", "testdata/rules.yaml", "--store", "dynamodb://" + dynamotest.Counters(t, client), more}
	}
	got := mustRun(t, commands("--decisions=")...)
	if want := "\n\nDynamoDB: 5 writes, 0 reads (0.714 and 0.000 per request)\n"; !strings.HasSuffix(got, want) {
		t.Errorf("printed %q, want %q at the end", got, want)
	}
	var report struct{ Reads, Writes *int64 }
	if err := json.Unmarshal([]byte(mustRun(t, commands("--json")...)), &report); err != nil {
		t.Fatal(err)
	}
	if report.Reads == nil || *report.Reads != 0 || report.Writes == nil || *report.Writes != 5 {
		t.Errorf("reads %v, writes %v", report.Reads, report.Writes)
	}
}

func TestInspectAndReset(t *testing.T) {
	t.Run("DynamoDB", func(t *testing.T) { inspectAndReset(t, "dynamodb://"+dynamotest.Counters(t, dynamotest.Connect(t))) })
	t.Run("Redis", func(t *testing.T) { inspectAndReset(t, redistest.Start(t).URL()) })
}

func inspectAndReset(t *testing.T, store string) {
	places := []string{"--rules", "testdata/hourly.yaml", "--store", store}
	command := func(args ...string) []string { return append(args, places...) }

	// A replay of requests that came just now counts them for the present.
	now := time.Now().Unix()
	log := filepath.Join(t.TempDir(), "now.csv")
	lines := "time,ip\n" + strings.Repeat(fmt.Sprintf("%d,203.0.113.9\n", now), 3) + fmt.Sprintf("%d,198.51.100.7\n", now)
	if err := os.WriteFile(log, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, command("replay", log)...)

	wantCounters(t, mustRun(t, command("inspect", "ip:203.0.113.9")...))
	golden(t, "inspect-json", seconds.ReplaceAllString(mustRun(t, command("inspect", "ip:203.0.113.9", "--json", "--rule", "hourly")...), "$1: 3000"))

	if got, want := mustRun(t, command("reset", "hourly", "ip:203.0.113.9")...), "reset counter ip:203.0.113.9 of rule hourly\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	used := func(key, rule string) int64 {
		var report operator.InspectReport
		if err := json.Unmarshal([]byte(mustRun(t, command("inspect", key, "--rule", rule, "--json")...)), &report); err != nil {
			t.Fatal(err)
		}
		return report.Rules[0].Limits[0].Used
	}
	for _, tc := range []struct {
		key, rule string
		want      int64
	}{
		{"ip:203.0.113.9", "hourly", 0}, {"ip:203.0.113.9", "daily", 3}, {"ip:198.51.100.7", "hourly", 1},
	} {
		if got := used(tc.key, tc.rule); got != tc.want {
			t.Errorf("%s of rule %s has used %d, want %d", tc.key, tc.rule, got, tc.want)
		}
	}
	if got := mustRun(t, command("reset", "daily", "ip:203.0.113.9", "--json")...); !strings.Contains(got, `"reset": true`) {
		t.Errorf("printed %q", got)
	}
}

// seconds are times that depend on the moment of the test.
var seconds = regexp.MustCompile(`("reset_s"|"retry_after_s"): [1-9][0-9.]*`)

// wantCounters checks what inspect prints: limit, capacity, window, used, remaining, empty in, retry after, bar.
func wantCounters(t *testing.T, printed string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(printed, "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "limit   maximum  window  used  remaining  ") {
		t.Fatalf("printed %q", printed)
	}
	full, hardly := strings.Fields(lines[1]), strings.Fields(lines[2])
	if len(full) != 8 || len(hardly) != 8 {
		t.Fatalf("printed %q", printed)
	}
	if got, want := strings.Join(full[:5], " "), "hourly 3 1h 3 0"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if got, want := strings.Join(hardly[:5], " "), "daily 2,000 24h 3 1,997"; got != want || hardly[6] != "now" {
		t.Errorf("printed %q, retry %q; want %q, now", got, hardly[6], want)
	}
	if full[7] != strings.Repeat("█", term.BarWidth) || hardly[7] != "▏" {
		t.Errorf("drew %q and %q", full[7], hardly[7])
	}
	for text, most := range map[string]time.Duration{full[5]: time.Hour + time.Minute, full[6]: time.Hour + time.Minute, hardly[5]: 25 * time.Hour} {
		if d, err := time.ParseDuration(text); err != nil || d > most || d < most-2*time.Hour {
			t.Errorf("%q is no time of at most %v: %v", text, most, err)
		}
	}
}

func TestInspectAndResetOfWhatIsNotThere(t *testing.T) {
	client := dynamotest.Connect(t)
	places := " --rules testdata/hourly.yaml --store dynamodb://" + dynamotest.Counters(t, client)
	wantFailure(t, "inspect ip:203.0.113.9 --rule weekly"+places, `there is no rule "weekly": the rules are hourly, daily`)
	wantFailure(t, "reset weekly ip:203.0.113.9"+places, `there is no rule "weekly"`)
	wantFailure(t, "inspect user:7 --rule hourly"+places, `"user:7" is no key of rule hourly`, "ip:{ip}")
	wantFailure(t, "reset hourly user:7"+places, `"user:7" is no key of rule hourly`)
	r := slidegate(t.Context(), "", strings.Fields("inspect user:7"+places)...)
	if r.code != 1 || !strings.Contains(r.stderr, "no rule counts this key") {
		t.Errorf("a key of no rule: exit %d, said %q", r.code, r.stderr)
	}
}
