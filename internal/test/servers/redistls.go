package servers

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"testing"
)

// Encrypt puts a TLS proxy before the server, because the server may lack TLS.
// It returns the proxy's address, and the certificate that clients have to
// trust: httptest's, which is for 127.0.0.1 and not for localhost.
func (s *Redis) Encrypt(t testing.TB) (address string, certificate []byte) {
	t.Helper()
	known := httptest.NewTLSServer(nil)
	known.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: known.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go join(client, s.Address)
		}
	}()
	return l.Addr().String(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw})
}

// join copies data between a client and a server until one of them closes.
func join(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}
