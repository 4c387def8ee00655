package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/golden"
	"github.com/slidegate/slidegate/internal/test/servers"
)

func TestTablesCreate(t *testing.T) {
	client := dynamotest.Connect(t)
	counters, rules, other := dynamotest.Name(), dynamotest.Name(), dynamotest.Name()
	t.Cleanup(func() {
		for _, table := range []string{counters, rules, other} {
			if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
				t.Error(err)
			}
		}
	})

	command := "tables create --counters " + counters + " --rules " + rules
	wantSame(t, "the output", "created table "+counters+" for counters\ncreated table "+rules+" for rules\n", mustRun(t, command))
	wantSame(t, "the second time", "table "+counters+" for counters exists already\ntable "+rules+" for rules exists already\n", mustRun(t, command))
	report := mustReport[tablesReport](t, "tables create --counters dynamodb://"+other)
	wantSame(t, "the output", []session.TableReport{{Table: other, Role: "counters", Created: true}}, report.Tables)
	mustRun(t, "rules apply testdata/rules.yaml --rules dynamodb://"+rules) // the tables can be used
	mustRun(t, "replay testdata/day.log --rules dynamodb://"+rules+" --store dynamodb://"+counters)
}

func TestTablesMixedUp(t *testing.T) {
	table := newTable(t)
	table.apply(t, "testdata/rules.yaml")
	counters := dynamotest.Name()
	mustRun(t, "tables create --counters "+counters)
	const reason = ": its keys are not those of this kind of table; are the tables of rules and of counters mixed up?"
	wantFailure(t, "rules get --rules dynamodb://"+counters, "table "+counters+reason)
	wantFailure(t, "inspect ip:203.0.113.9 --rules dynamodb://"+table.name+" --store dynamodb://"+table.name, "table "+table.name+reason)
}

func TestTablesCreateRefusesATableOfAnotherKind(t *testing.T) {
	table, missing := newTable(t), dynamotest.Name()
	client, rules := table.client, table.name
	wantFailure(t, "tables create --rules "+missing+" --counters "+rules, "this seems to be no table of counters: table "+rules)
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &rules})
	if err != nil || ttl.TimeToLiveDescription != nil && ttl.TimeToLiveDescription.TimeToLiveStatus != "DISABLED" {
		t.Errorf("the table's expiry was touched: %+v, %v", ttl, err)
	}
	if _, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &missing}); err == nil {
		t.Error("the other table was created")
	}
}

func TestReplayReportsReadsAndWrites(t *testing.T) {
	client := dynamotest.Connect(t)
	report := mustReport[struct{ Reads, Writes *int64 }](t, "replay testdata/day.log --rules testdata/rules.yaml --decisions= --store dynamodb://"+dynamotest.Counters(t, client))
	if report.Reads == nil || *report.Reads != 0 || report.Writes == nil || *report.Writes != 5 {
		t.Errorf("reads %v, writes %v", report.Reads, report.Writes)
	}
}

func TestInspectAndReset(t *testing.T) {
	t.Run("DynamoDB", func(t *testing.T) { inspectAndReset(t, "dynamodb://"+dynamotest.Counters(t, dynamotest.Connect(t))) })
	t.Run("Redis", func(t *testing.T) { inspectAndReset(t, servers.StartRedis(t).URL()) })
}

func inspectAndReset(t *testing.T, store string) {
	at := " --rules testdata/hourly.yaml --store " + store
	// A replay of requests at the present time counts them in today's windows.
	now := time.Now().Unix()
	log := file(t, "now.csv", "time,ip,path\n"+strings.Repeat(fmt.Sprintf("%d,203.0.113.9,/\n", now), 3)+fmt.Sprintf("%d,198.51.100.7,/\n", now))
	mustRun(t, "replay "+log+at+" --missing group")

	scrub := scrubber(`("reset_s"|"retry_after_s"): [1-9][0-9.]*`, "$1: 3000")
	golden.Check(t, goldenPath("inspect-json"), scrub(mustRun(t, "inspect hourly ip:203.0.113.9 --json"+at)))

	wantSame(t, "reset", "reset counter ip:203.0.113.9 of rule hourly; nothing records it, because the rules are in a file\n", mustRun(t, "reset hourly ip:203.0.113.9"+at))
	for _, tc := range []struct {
		key, rule string
		want      int64
	}{
		{"ip:203.0.113.9", "hourly", 0}, {"ip:203.0.113.9", "daily", 3}, {"ip:198.51.100.7", "hourly", 1},
	} {
		report := mustReport[operator.InspectReport](t, "inspect "+tc.rule+" "+tc.key+at)
		if got := report.Rules[0].Limits[0].Used; got != tc.want {
			t.Errorf("%s of rule %s has used %d, want %d", tc.key, tc.rule, got, tc.want)
		}
	}
	if got := mustRun(t, "reset daily ip:203.0.113.9 --json"+at); !strings.Contains(got, `"reset": true`) {
		t.Errorf("printed %q", got)
	}
}

func TestInspectAndResetOfUnknownRulesAndKeys(t *testing.T) {
	client := dynamotest.Connect(t)
	places := " --rules testdata/hourly.yaml --store dynamodb://" + dynamotest.Counters(t, client)
	wantFailure(t, "inspect weekly ip:203.0.113.9"+places, `there is no rule "weekly": the rules are hourly, daily`)
	wantFailure(t, "reset weekly ip:203.0.113.9"+places, `there is no rule "weekly"`)
	wantFailure(t, "inspect hourly user:7"+places, `"user:7" is no key of rule hourly`, "ip:{ip}")
	wantFailure(t, "reset hourly user:7"+places, `"user:7" is no key of rule hourly`)
	wantExit(t, 1, "inspect user:7"+places, "no rule counts this key")
}

// needsRedis returns a command of each kind that calls Redis. OUT is a file that
// must not appear.
func needsRedis(url string) []string {
	return []string{
		"serve --listen 127.0.0.1:0 --rules testdata/rules.yaml --store " + url,
		"replay testdata/day.log --rules testdata/rules.yaml --decisions OUT --store " + url,
		"inspect ip:203.0.113.9 --rules testdata/rules.yaml --store " + url,
		"reset per-ip ip:203.0.113.9 --rules testdata/rules.yaml --store " + url,
		"explain GET / --rules testdata/rules.yaml --store " + url,
		"explain GET / --at 2026-01-01T00:00:00Z --rules testdata/rules.yaml --store " + url,
	}
}

// If Redis refuses, a command fails within seconds, before it changes anything.
// Its message has the address and never the password.
func TestRedisRefuses(t *testing.T) {
	gone, silent := outOfReach(t)
	server := servers.StartRedis(t, "user jo on >secret ~* +@all -evalsha")
	for url, part := range map[string]string{
		"redis://jo:secret@" + gone:           "slidegate: redis://" + gone + "/0: redis cannot be reached",
		"redis://jo:secret@" + silent:         "slidegate: redis://" + silent + "/0: redis did not answer in time",
		"redis://jo:wrong@" + server.Address:  "slidegate: redis://" + server.Address + "/0: redis does not know this user or password",
		"redis://jo:secret@" + server.Address: "slidegate: redis://" + server.Address + "/0: redis does not permit the call; the user needs ~slidegate:* +eval",
	} {
		wantRefusal(t, part, needsRedis(url)...)
		command := strings.ReplaceAll(needsRedis(url)[1], "OUT", os.DevNull)
		if r := slidegate(t.Context(), "", command); strings.Contains(r.stderr, "secret") {
			t.Errorf("stderr %q", r.stderr)
		}
	}
	if n, err := server.Client.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("%d keys, %v", n, err)
	}
}

// Atomic rules that a Cluster cannot charge together are refused at the start. A
// single one is charged like any other.
func TestClusterRefusesAtomic(t *testing.T) {
	server := servers.StartCluster(t)
	const rule = "  - {name: %s, atomic: true, key: 'ip:{ip}', limits: [{capacity: 5, window: 60s}]}\n"
	one := file(t, "one.yaml", "rules:\n"+fmt.Sprintf(rule, "a"))
	two := file(t, "two.yaml", "rules:\n"+fmt.Sprintf(rule, "a")+fmt.Sprintf(rule, "b"))
	wantRefusal(t, "rules a, b say atomic: true, and "+server.URL()+" is a Redis Cluster",
		"serve --listen 127.0.0.1:0 --rules "+two+" --store "+server.URL(),
		"replay testdata/day.log --decisions OUT --rules "+two+" --store "+server.URL(),
	)
	mustRun(t, "replay testdata/day.log --rules "+one+" --store "+server.URL())
}

// TestServeDeadline: --deadline bounds decisions and reports of usage.
func TestServeDeadline(t *testing.T) {
	p := startServe(t, "--rules", "testdata/hourly.yaml", "--store", servers.StartRedis(t).URL(), "--deadline", "1ns", "--usage-path", "/usage")
	decided, _ := send(t, "GET", p.URL, "")
	logged := p.line()
	reported, text := send(t, "GET", p.URL+"/usage", "")
	if decided != 200 || !strings.Contains(logged, "store failed") || reported != 503 {
		t.Errorf("decided %d, logged %s, reported %d: %s; want 200 by on_error, and 503", decided, logged, reported, text)
	}
}

// Two gateways, one of them over TLS, share a client's counter.
func TestServeWithRedis(t *testing.T) {
	server := servers.StartRedis(t, "requirepass secret")
	encrypted, certificate := server.Encrypt(t)
	certificates := file(t, "authority.pem", string(certificate))
	t.Setenv("SSL_CERT_FILE", certificates)
	answered := ""
	for _, url := range []string{"redis://:secret@" + server.Address, "rediss://:secret@" + encrypted} {
		p := start(t, "serve", "--rules", "testdata/hourly.yaml", "--listen", "127.0.0.1:0", "--store", url, "--deadline", "5s")
		var address string
		line, shown := p.line(), strings.Replace(url, ":secret@", "", 1)
		if _, err := fmt.Sscanf(line, "slidegate: listening on %s", &address); err != nil || !strings.HasSuffix(line, ", counters in "+shown+"/0\n") {
			t.Fatalf("%q, %v", line, err)
		}
		const shares = "slidegate: on_error: local counts in this process, as one of 1: hourly: 3 per 1h; "
		if line := p.line(); !strings.HasPrefix(line, shares) {
			t.Errorf("%q, want %s", line, shares)
		}
		for range 2 {
			status, _ := send(t, "GET", strings.TrimSuffix(address, ","), "")
			answered += fmt.Sprint(status, " ")
		}
		p.interrupt()
	}
	if want := "200 200 200 429 "; answered != want {
		t.Errorf("answered %s, want %s", answered, want)
	}
}
