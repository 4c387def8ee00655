package cli

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/test/servers"
)

// needsRedis returns a command of each kind that calls Redis. OUT is a file that
// must not appear.
func needsRedis(url string) []string {
	return []string{
		"serve --listen 127.0.0.1:0 --rules testdata/rules.yaml --store " + url,
		"replay testdata/day.log --rules testdata/rules.yaml --decisions OUT --store " + url,
		"inspect ip:203.0.113.9 --rules testdata/rules.yaml --store " + url,
		"reset per-ip ip:203.0.113.9 --rules testdata/rules.yaml --store " + url,
		"explain GET / --rules testdata/rules.yaml --store " + url,
		"explain GET / --at 2026-01-01T00:00:00Z --rules testdata/rules.yaml --store " + url,
	}
}

// If Redis refuses, a command fails within seconds, before it changes anything.
// Its message has the address and never the password.
func TestRedisRefuses(t *testing.T) {
	gone, silent := listen(t), listen(t)
	gone.Close()
	defer silent.Close()
	server := servers.StartRedis(t, "user jo on >secret ~* +@all -evalsha")
	for url, part := range map[string]string{
		"redis://jo:secret@" + gone.Addr().String():   "slidegate: redis://" + gone.Addr().String() + "/0: redis cannot be reached",
		"redis://jo:secret@" + silent.Addr().String(): "slidegate: redis://" + silent.Addr().String() + "/0: redis did not answer in time",
		"redis://jo:wrong@" + server.Address:          "slidegate: redis://" + server.Address + "/0: redis does not know this user or password",
		"redis://jo:secret@" + server.Address:         "slidegate: redis://" + server.Address + "/0: redis does not permit the call; the user needs ~slidegate:* +eval",
	} {
		wantRefusal(t, part, needsRedis(url)...)
		command := strings.ReplaceAll(needsRedis(url)[1], "OUT", os.DevNull)
		if r := slidegate(t.Context(), "", command); strings.Contains(r.stderr, "secret") {
			t.Errorf("stderr %q", r.stderr)
		}
	}
	if n, err := server.Client.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("%d keys, %v", n, err)
	}
}

// Atomic rules that a Cluster cannot charge together are refused at the start. A
// single one is charged like any other.
func TestClusterRefusesAtomic(t *testing.T) {
	server := servers.StartCluster(t)
	const rule = "  - {name: %s, atomic: true, key: 'ip:{ip}', limits: [{capacity: 5, window: 60s}]}\n"
	one := file(t, "one.yaml", "rules:\n"+fmt.Sprintf(rule, "a"))
	two := file(t, "two.yaml", "rules:\n"+fmt.Sprintf(rule, "a")+fmt.Sprintf(rule, "b"))
	wantRefusal(t, "rules a, b say atomic: true, and "+server.URL()+" is a Redis Cluster",
		"serve --listen 127.0.0.1:0 --rules "+two+" --store "+server.URL(),
		"replay testdata/day.log --decisions OUT --rules "+two+" --store "+server.URL(),
	)
	mustRun(t, "replay testdata/day.log --rules "+one+" --store "+server.URL())
}

// Two gateways, one of them over TLS, share a client's counter.
func TestServeWithRedis(t *testing.T) {
	server := servers.StartRedis(t, "requirepass secret")
	encrypted, certificate := server.Encrypt(t)
	certificates := file(t, "authority.pem", string(certificate))
	plain := serveWith(t, "redis://:secret@"+server.Address, "redis://"+server.Address+"/0")
	secure := serveWith(t, "rediss://:secret@"+encrypted, "rediss://"+encrypted+"/0", "SSL_CERT_FILE="+certificates)
	statuses := ""
	for _, gateway := range []string{plain, secure, plain, secure} {
		response, err := http.Get(gateway)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		statuses += fmt.Sprint(response.StatusCode, " ")
	}
	if want := "200 200 200 429 "; statuses != want {
		t.Errorf("answered %s, want %s", statuses, want)
	}
}

// serveWith starts a gateway with a store and returns its address. It stops with
// the test.
func serveWith(t *testing.T, store, shown string, environment ...string) string {
	t.Helper()
	cmd := program(t, "serve", "--rules", "testdata/hourly.yaml", "--listen", "127.0.0.1:0", "--store", store)
	cmd.Env = append(cmd.Env, environment...)
	_, _, stderr := pipes(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { interrupt(t, cmd, stderr) })
	var address string
	line := readLine(t, stderr)
	if _, err := fmt.Sscanf(line, "slidegate: listening on %s", &address); err != nil || !strings.HasSuffix(line, ", counters in "+shown+"\n") {
		t.Fatalf("%q, %v", line, err)
	}
	const shares = "slidegate: on_error: local counts in this process, as one of 1: hourly: 3 per 1h; "
	if line := readLine(t, stderr); !strings.HasPrefix(line, shares) {
		t.Errorf("%q, want %s", line, shares)
	}
	return strings.TrimSuffix(address, ",")
}
