package cli

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/rules"
)

// TestServeAdmin: Prometheus scrapes serve under load. In the end, metrics and
// status agree with what the clients counted, to the unit.
func TestServeAdmin(t *testing.T) {
	const clients, requests, capacity = 8, 120, 50
	rules := file(t, "rules.yaml", `
deny: [{path: /admin/**}]
rules:
- {name: api, key: 'user:{header.x-user}', limit: 50/hour}
- {name: next, mode: shadow, key: 'user:{header.x-user}', limit: 20/hour}
`)
	p := startServe(t, "--admin", "127.0.0.1:0", "--rules", rules)
	mustRun(t, "health "+strings.TrimPrefix(p.Admin, "http://"))
	var answers map[int]int // by status
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		answers = load(t, p.URL, clients, requests)
	}()
	last, scrapes := 0., 0
	for under := true; under; scrapes++ {
		select {
		case <-ended:
			under = false
		default:
		}
		now := scrape(t, p.Admin)["slidegate_decisions_total"]
		if now < last || now > clients*requests {
			t.Fatalf("scrape %d: %v decisions after %v", scrapes, now, last)
		}
		last = now
	}
	const banned = clients * requests / 10
	allowed, denied := answers[200], answers[429]+answers[403]
	if allowed != clients*capacity || allowed+denied != clients*requests {
		t.Fatalf("the clients counted %v", answers)
	}
	got := scrape(t, p.Admin)
	for name, want := range map[string]float64{
		"slidegate_decisions_total":             clients * requests,
		"slidegate_denied_total{api}":           float64(denied - banned),
		"slidegate_denied_total{}":              banned,
		"slidegate_denied_total{next}":          0,
		"slidegate_shadow_denied_total{next}":   clients * (capacity - 20),
		"slidegate_near_limit_total{api}":       clients * capacity / 5,
		"slidegate_degraded_total":              0,
		"slidegate_snapshot_denials_total":      float64(denied - banned), // of two rules, the full one shows before a charge
		"slidegate_store_attempts_total":        2 * clients * capacity,
		"slidegate_store_latency_seconds_count": 2 * clients * capacity,
		"slidegate_writes_total":                0,
	} {
		if value, reported := got[name]; value != want || !reported {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
	wantEach := fmt.Sprintf(`"Decisions":%v,`, got["slidegate_decisions_total"])
	if _, status := send(t, "GET", p.Admin+"/v1/status", ""); !strings.Contains(status, wantEach) || !strings.Contains(status, `"ready":true`) {
		t.Errorf("the status is %s, want %s", status, wantEach)
	}
	p.end(os.Interrupt, 0)
}

// load has each client send requests, each tenth of them for a path that is
// denied. It returns how often they got each status.
func load(t *testing.T, url string, clients, requests int) map[int]int {
	var all sync.WaitGroup
	var mu sync.Mutex
	answers := map[int]int{}
	for i := range clients {
		all.Go(func() {
			for n := range requests {
				path := "/"
				if n%10 == 9 {
					path = "/admin/x"
				}
				status, _ := send(t, "GET", url+path, "", "X-User", fmt.Sprint(i))
				mu.Lock()
				answers[status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return answers
}

// scrape reads /metrics as Prometheus does: values by name and rule.
func scrape(t *testing.T, base string) map[string]float64 {
	t.Helper()
	_, text := send(t, "GET", base+"/metrics", "")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			name := name
			for _, label := range m.GetLabel() {
				name += "{" + label.GetValue() + "}"
			}
			switch family.GetType() {
			case dto.MetricType_HISTOGRAM:
				values[name+"_count"] = float64(m.GetHistogram().GetSampleCount())
			case dto.MetricType_GAUGE:
				values[name] = m.GetGauge().GetValue()
			default:
				values[name] = m.GetCounter().GetValue()
			}
		}
	}
	return values
}

// TestAdminAnnounced: serve says where the admin address is, and warns if other
// machines may reach it.
func TestAdminAnnounced(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1": "slidegate: live page on http://127.0.0.1:9090, metrics and status at /metrics and /v1/status\n",
		"192.0.2.1": "slidegate: warning: 192.0.2.1:9090: " + adminExposure + "\nslidegate: live page on http://192.0.2.1:9090, metrics and status at /metrics and /v1/status\n",
	} {
		var text strings.Builder
		a := announcement{
			Session: &session.Session{Rules: &rules.Set{}}, address: &net.TCPAddr{IP: net.ParseIP("127.0.0.1"), Port: 8080},
			admin: &net.TCPAddr{IP: net.ParseIP(address), Port: 9090},
		}
		a.print(&command.Console{Stderr: &text})
		wantSame(t, "the output", want+"slidegate: listening on http://127.0.0.1:8080, 0 rules, counters in memory\n", text.String())
		text.Reset()
		a.log(slog.New(slog.NewJSONHandler(&text, nil)))
		if got := text.String(); !strings.Contains(got, `"admin":"http://`+address+`:9090"`) || strings.Contains(got, adminExposure) != (address != "127.0.0.1") {
			t.Errorf("logged %s", got)
		}
	}
}
