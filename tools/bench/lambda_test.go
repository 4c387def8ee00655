package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
)

// BenchmarkLambda has new processes of functions answer events: the hello-world
// function in testdata, and the authorizer, which makes the same call to the same
// DynamoDB. It reports the CPU time, and the most memory that was resident.
func BenchmarkLambda(b *testing.B) {
	event, err := os.ReadFile("../../internal/lambda/apigw/testdata/http-2.0.event.json")
	check(b, err)
	hello, authorizer := build(b, ".", "./testdata/hello"), build(b, "../..", "./functions/authorizer")
	for _, load := range []struct {
		name   string
		events int
	}{{"cold-start", 1}, {"1k-events", 1000}} {
		for _, f := range []struct {
			name, binary string
			rules        int
		}{{bare, hello, 1}, {"authorizer", authorizer, 1}, {"1k-rules", authorizer, 1000}, {"5k-rules", authorizer, 5000}} {
			if load.events > 1 && f.rules > 1 {
				continue
			}
			b.Run("load="+load.name+"/limiter="+f.name, func(b *testing.B) {
				env := tables(b, f.rules)
				var cpu time.Duration
				var memory int64 // in KB
				for b.Loop() {
					command := exec.Command(f.binary)
					command.Env, command.Stderr = append([]string{}, env...), os.Stderr
					process, err := servers.StartLambda(command)
					check(b, err)
					for i := range load.events { // of a hundred clients in turn
						answer, err := process.Invoke(b.Context(), bytes.ReplaceAll(event, []byte("203.0.113.9"), fmt.Appendf(nil, "203.0.113.%d", i%100)))
						if err != nil || !bytes.Contains(answer, []byte(`"isAuthorized":true`)) {
							b.Fatalf("%s answers %s, %v", f.name, answer, err)
						}
					}
					b.StopTimer()
					status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.PID()))
					check(b, err)
					_, most, _ := strings.Cut(string(status), "VmHWM:")
					_, err = fmt.Sscan(most, &memory)
					check(b, err)
					process.Stop()
					cpu += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
					b.StartTimer()
				}
				b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
				b.ReportMetric(float64(memory)/1024, "MB")
			})
		}
	}
}

// tables creates tables for a function, and returns its environment. It publishes
// n rules: one that admits every event by one write, and others by path.
func tables(b *testing.B, n int) []string {
	client := dynamotest.Connect(b)
	counters := dynamotest.Create(b, client, dynamo.CountersTable(dynamotest.Name()))
	rules := dynamotest.Create(b, client, ruletable.Description(dynamotest.Name()))
	var text strings.Builder
	text.WriteString("rules:\n  - {name: per-ip, key: 'ip:{ip}', limits: [{capacity: 1000000, window: 60s}]}\n")
	for i := range n - 1 {
		fmt.Fprintf(&text, "  - {name: r%d, when: {path: /v1/service-%[1]d/**}, key: 'ip:{ip}', limits: [{capacity: 100, window: 60s}]}\n", i)
	}
	set, err := rulefile.Parse("rules.yaml", []byte(text.String()))
	check(b, err)
	_, err = ruletable.New(client, rules).Publish(b.Context(), ruletable.Version{Text: []byte(text.String()), Document: set.Document()}, 0)
	check(b, err)
	env := []string{"SLIDEGATE_COUNTERS=" + counters, "SLIDEGATE_RULES=" + rules, "SLIDEGATE_DEADLINE=5s", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256"}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	return env
}
