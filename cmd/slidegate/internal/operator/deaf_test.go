package operator

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/memory"
)

const askEvents = "GET /live/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

// small accepts connections with the smallest buffers.
type small struct{ net.Listener }

func (l small) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(1)
	}
	return conn, err
}

// TestDeafBrowsers: streams that nothing reads end once their buffers are full.
// They neither keep others out nor delay the end of serve.
func TestDeafBrowsers(t *testing.T) {
	g := openGate(t, memory.New(0))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- gateway.Server{Handler: g.page, Timeouts: gateway.Timeouts{Write: 100 * time.Millisecond}, Log: slog.New(slog.DiscardHandler)}.Serve(ctx, small{l})
	}()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) }), err)
	}}
	ask := func(d net.Dialer) (net.Conn, *bufio.Reader) {
		t.Helper()
		conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, askEvents); err != nil {
			t.Fatal(err)
		}
		read := bufio.NewReaderSize(conn, 16)
		if line, err := read.ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			t.Fatalf("answered %q, %v", line, err)
		}
		return conn, read
	}
	var deaf []net.Conn
	for range 16 {
		conn, _ := ask(dialer)
		deaf = append(deaf, conn)
	}
	g.ticks <- time.Now() // all parts: more than the buffers hold
	for i, conn := range deaf {
		for start := time.Now(); ; time.Sleep(time.Millisecond) {
			if _, err := io.WriteString(conn, "\n"); err != nil {
				break // the server has closed it
			}
			if time.Since(start) > 5*time.Second {
				t.Fatalf("browser %d has its connection after %v", i, time.Since(start))
			}
		}
	}
	_, read := ask(net.Dialer{})
	g.ticks <- time.Now()
	for line := ""; !strings.HasPrefix(line, "data: "); {
		if line, err = read.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	g.stop()
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// onePipe is a listener in memory, which accepts one connection.
type onePipe struct {
	conn   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *onePipe) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conn:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *onePipe) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *onePipe) Addr() net.Addr { return &net.TCPAddr{} }

// TestAdminWriteTime: the admin address of serve gives a browser five seconds to
// take more.
func TestAdminWriteTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := session.Open(t.Context(), session.Locations{RulesFile: "../../../../examples/rules.yaml"}, countAlone(func(string, *rules.Set) error { return nil }))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := &watched{Session: s, observer: admin.NewObserver(engine.NoObserver{}), store: memory.New(0)}
		w.recorder = telemetry.NewRecorder(telemetry.Options{Next: w.observer})
		l := &onePipe{conn: make(chan net.Conn), closed: make(chan struct{})}
		stop := serveAdmin(t.Context(), s, ServeOptions{Admin: l}, w, slog.New(slog.DiscardHandler))
		client, server := net.Pipe()
		defer client.Close()
		l.conn <- server
		if _, err := io.WriteString(client, askEvents); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		_, err = io.WriteString(client, "more") // nothing reads this while the connection is open
		if took := time.Since(start); !errors.Is(err, io.ErrClosedPipe) || took != 5*time.Second {
			t.Errorf("the connection is open for %v, %v; want 5s", took, err)
		}
		stop()
	})
}
