package localstack_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestExposedEngineIsStopped has an engine listen on a second address.
// 127.0.0.2 stands for any: nothing outside this machine reaches it.
func TestExposedEngineIsStopped(t *testing.T) {
	root := fakeEngine(t, `exec python3 -c '
import http.server, socket, sys
also = socket.create_server(("127.0.0.2", int(sys.argv[2])))
http.server.HTTPServer((sys.argv[1], int(sys.argv[2])), http.server.SimpleHTTPRequestHandler).serve_forever()
' "$2" "$4"`)
	run(t, root, "localstack/engine.sh", "dynoxide", "echo", "never").
		expect(t, 1, `^$`, `^engine: dynoxide listens on more than 127\.0\.0\.1: it was stopped\n$`)
	nothingLeft(t, root)
}

// TestLoopback preloads loopback.c into a program that binds every address.
func TestLoopback(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	preload := filepath.Join(t.TempDir(), "loopback.so")
	if out, err := exec.Command(cc, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O", "-o", preload, "engines/loopback.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range []struct{ family, address, want string }{
		{"AF_INET", `("0.0.0.0", 0)`, "127.0.0.1"},
		{"AF_INET", `("127.0.0.2", 0)`, "127.0.0.1"},
		{"AF_INET6", `("::", 0)`, "refused"},
		{"AF_UNIX", `"socket"`, "socket"},
	} {
		cmd := exec.Command("python3", "-c", `
import socket
s = socket.socket(socket.`+test.family+`)
try:
    s.bind(`+test.address+`)
    name = s.getsockname()
    print(name if isinstance(name, str) else name[0], end="")
except OSError:
    print("refused", end="")`)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+preload)
		out, err := cmd.Output()
		if err != nil || string(out) != test.want {
			t.Errorf("%s %s is bound to %q, %v; want %s", test.family, test.address, out, err, test.want)
		}
	}
}
