package servers_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/test/servers"
)

// TestFaults sends a request through each fault, and one after it.
func TestFaults(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("a", 1000))
	}))
	defer server.Close()
	for name, test := range map[string]struct {
		fault servers.Fault
		least time.Duration
		want  error
	}{
		"none":      {servers.Fault{}, 0, nil},
		"delay":     {servers.Fault{Delay: 20 * time.Millisecond}, 40 * time.Millisecond, nil},
		"bandwidth": {servers.Fault{BytesPerSecond: 10_000}, 100 * time.Millisecond, nil},
		"blackhole": {servers.Fault{Blackhole: true}, 500 * time.Millisecond, context.DeadlineExceeded},
		"reset":     {servers.Fault{Reset: true}, 0, syscall.ECONNRESET},
		"refuse":    {servers.Fault{Refuse: true}, 0, syscall.ECONNREFUSED},
	} {
		t.Run(name, func(t *testing.T) {
			p := servers.NewProxy(t, server.Listener.Addr().String())
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			get := func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				r, err := http.NewRequestWithContext(ctx, "GET", "http://"+p.Address, http.NoBody)
				if err != nil {
					return err
				}
				answer, err := client.Do(r)
				if err != nil {
					return err
				}
				defer answer.Body.Close()
				_, err = io.Copy(io.Discard, answer.Body)
				return err
			}
			if err := p.Set(test.fault); err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			err := get()
			_, network := errors.AsType[net.Error](err)
			if took := time.Since(started); (err == nil) != (test.want == nil) ||
				test.want != nil && !errors.Is(err, test.want) && !network || took < test.least {
				t.Errorf("error %v after %v, want %v after %v", err, took, test.want, test.least)
			}
			if err := p.Set(servers.Fault{}); err != nil {
				t.Fatal(err)
			}
			client.CloseIdleConnections()
			if err := get(); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
