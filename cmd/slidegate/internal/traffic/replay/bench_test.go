package replay

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// BenchmarkReplay replays the recorded log twenty times over, by a limit in
// memory and without any decision: what reading, parsing and sorting take.
func BenchmarkReplay(b *testing.B) {
	lines := strings.Repeat(recordedLog(b), 20)
	const rules = "rules: [{name: per-ip, key: 'ip:{ip}', limit: 10/minute}]"
	allow := &engine.Decision{Allowed: true}
	for name, decider := range map[string]func() Decider{
		"undecided": func() Decider {
			return deciderFunc(func(time.Time, *request.Request) (*engine.Decision, error) { return allow, nil })
		},
		"limited": func() Decider {
			e, _ := newEngine(b, rules, memory.New(0), &Failures{})
			return e
		},
	} {
		for _, order := range []logs.Order{logs.ByTime, logs.AsLogged} {
			b.Run(name+"/"+string(order), func(b *testing.B) {
				b.SetBytes(int64(len(lines)))
				var requests int64
				for b.Loop() {
					log := logs.Stream("log", strings.NewReader(lines), logs.CLF)
					report, err := Run(b.Context(), &logs.Traffic{Logs: []logs.Log{log}, Order: order}, Options{Engine: decider()})
					if err != nil {
						b.Fatal(err)
					}
					requests += report.Requests
				}
				b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "lines/s")
			})
		}
	}
}

func recordedLog(b testing.TB) string {
	file, err := os.Open("../../../../../examples/traffic/apache-access-2015.log.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		b.Fatal(err)
	}
	content, err := io.ReadAll(text)
	if err != nil {
		b.Fatal(err)
	}
	return string(content)
}
