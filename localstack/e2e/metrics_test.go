//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// writesMetrics: under traffic, the metrics of the authorizer reach a log group as
// the lines that CloudWatch reads. The emulator makes no metrics of them.
func (d *deployment) writesMetrics(t *testing.T, user string) {
	f := d.traffic(t, user)
	f.until(t, "after a line of metrics", func(seen) bool { return d.metrics(t) })
	f.stop(t)
}

// metrics reports whether the log groups have a line of metrics with decisions.
func (d *deployment) metrics(t *testing.T) bool {
	t.Helper()
	var groups struct {
		LogGroups []struct{ LogGroupName string }
	}
	logs(t, "DescribeLogGroups", map[string]any{}, &groups)
	for _, g := range groups.LogGroups {
		var found struct{ Events []struct{ Message string } }
		logs(t, "FilterLogEvents", map[string]any{"logGroupName": g.LogGroupName, "filterPattern": `"CloudWatchMetrics"`}, &found)
		for _, e := range found.Events {
			var line struct {
				Limiter   string
				Decisions int
				AWS       struct {
					CloudWatchMetrics []struct{ Namespace string }
				} `json:"_aws"`
			}
			if json.Unmarshal([]byte(e.Message), &line) != nil || line.Decisions == 0 {
				continue // of a rule, or of a minute without requests
			}
			if !strings.HasSuffix(line.Limiter, "/RateLimit") || line.AWS.CloudWatchMetrics[0].Namespace != "Slidegate" {
				t.Errorf("the line of metrics is %s", e.Message)
			}
			return true
		}
	}
	return false
}

// logs makes a call of CloudWatch Logs, and decodes the answer.
func logs(t *testing.T, action string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, localEndpoint(t), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "Logs_20140328." + action,
		"Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/" + region + "/logs/aws4_request, SignedHeaders=host, Signature=none",
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s is answered %s, error %v", action, resp.Status, err)
	}
}
