package bench

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/decideapi"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/recorder"
	"github.com/slidegate/slidegate/internal/rulefile"
)

// BenchmarkDecide asks for decisions over HTTP on one connection of the loopback
// interface, under two rules with the memory store. Client and server share the
// process. The bare server reads the same request, and answers as many bytes.
func BenchmarkDecide(b *testing.B) {
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Recorder: recorder.New(log)})
	decides := httptest.NewServer(decideapi.New(apigw.NewAuthorizer(e, func() time.Time { return epoch }), log))
	defer decides.Close()
	answer := post(b, decides.URL)
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, answer)
	}))
	defer bare.Close()
	for name, server := range map[string]*httptest.Server{"http/bare": bare, "http/slidegate": decides} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				post(b, server.URL)
			}
		})
	}
}

func post(b *testing.B, url string) (answer string) {
	const body = `{"method": "POST", "path": "/v1/items?page=2", "ip": "203.0.113.9", "headers": {"x-user": "7", "accept": "*/*"}}`
	response, err := http.Post(url+"/v1/decisions", "application/json", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.Fatal(response.Status, err)
	}
	return string(text)
}
