package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestPlaces: a request has its place until the end of its answer: until the client
// of a stream hangs up, and until a WebSocket is closed.
func TestPlaces(t *testing.T) {
	for name, request := range map[string]string{
		"a stream":    "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n",
		"a WebSocket": "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	} {
		f := serveBefore(t, "rules: [{name: work, key: all, limits: [{in_flight: 1, expires: 90s}]}]", func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/stream":
				_, _ = io.WriteString(w, "begun\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			case "/socket":
				conn, rw, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nbegun\n")
				_ = rw.Flush()
				_, _ = io.Copy(io.Discard, rw)
			}
		})
		conn, err := net.Dial("tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, request)
		for answer := bufio.NewReader(conn); ; {
			line, err := answer.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, "begun") {
				break
			}
		}
		for range 2 {
			if response, _ := get(t, "GET", "http://"+f.address+"/"); response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" {
				t.Errorf("%s: status %d beside it, Retry-After %q", name, response.StatusCode, response.Header.Get("Retry-After"))
			}
		}
		conn.Close()
		f.handled.Wait()
		if response, _ := get(t, "GET", "http://"+f.address+"/"); response.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d after the client has hung up", name, response.StatusCode)
		}
	}
}
