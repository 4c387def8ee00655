package rulesfile_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulesfile"
	"github.com/slidegate/slidegate/limittest"
)

const perIP = `rules: [{name: per-ip, key: "ip:{ip}", limit: N/minute}]`

// ofUnits returns a file whose only rule allows n units a minute.
func ofUnits(n string) string { return strings.ReplaceAll(perIP, "N", n) }

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+"~", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

func decide(t *testing.T, g *gate.Gate) *gate.Decision {
	t.Helper()
	d, err := g.Decide(t.Context(), &gate.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("192.0.2.1")})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestWatch: every gate of a file follows it. Bad rules change nothing, and are
// logged. Without Watch, a file is read once.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rules.yaml")
		write(t, path, ofUnits("5"))
		file, err := rulesfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		var gates []*gate.Gate
		for range 2 {
			g, err := gate.New(file, slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			if err != nil {
				t.Fatal(err)
			}
			gates = append(gates, g)
		}
		ctx, stop := context.WithCancel(t.Context())
		want := func(units int64, logged string) {
			t.Helper()
			synctest.Wait()
			for i, g := range gates {
				if d := decide(t, g); d.Limit != units || d.Rule != "per-ip" || d.Key != "ip:192.0.2.1" {
					t.Errorf("gate %d allows %d units of %s, want %d", i, d.Limit, d.Key, units)
				}
			}
			if !strings.Contains(log.String(), logged) || logged == "" && log.Len() > 0 {
				t.Errorf("logged %q, want %q", &log, logged)
			}
			log.Reset()
		}
		want(5, "")
		write(t, path, ofUnits("7"))
		time.Sleep(5 * time.Second)
		want(5, "")
		go file.Watch(ctx)
		time.Sleep(3 * time.Second)
		want(7, "rules reloaded")
		write(t, path, "rules: [{name: per-ip}]")
		time.Sleep(3 * time.Second)
		want(7, "rules.yaml:1:9: rules[0]: key is missing")
		write(t, path, ofUnits("9"))
		time.Sleep(3 * time.Second)
		want(9, "rules reloaded")
		stop()
		synctest.Wait()
		write(t, path, ofUnits("11"))
		time.Sleep(3 * time.Second)
		want(9, "")
	})
}

// TestErrors: the errors of a file are those of the command.
func TestErrors(t *testing.T) {
	const file = "client_ip: {header: x-client, secret: {header: x-secret, env: SLIDEGATE_TEST_SECRET}}\n"
	for content, want := range map[string]string{
		"rules: [{name: a}]": `rulesfile: rules.yaml:1:9: rules[0]: key is missing: write what to count by, such as key: "ip:{ip}"`,
		"rulez: []":          "rulesfile: rules.yaml:1:1:",
		file + ofUnits("5"):  "rulesfile: rules.yaml: client_ip: a secret that the rules name is not set: set the environment variable SLIDEGATE_TEST_SECRET",
	} {
		if _, err := rulesfile.Parse("rules.yaml", content); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngives %v\nwant %s", content, err, want)
		}
	}
	if _, err := rulesfile.Open(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v for a file that does not exist", err)
	}
}

// TestSecrets are read from the environment.
func TestSecrets(t *testing.T) {
	t.Setenv("SLIDEGATE_TEST_SECRET", "hush")
	source, err := rulesfile.Parse("rules.yaml", "client_ip: {header: x-client, secret: {header: x-secret, env: SLIDEGATE_TEST_SECRET}}\n"+ofUnits("5"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(source)
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]string{"hush": "ip:198.51.100.7", "guess": "ip:192.0.2.1"} {
		d, err := g.Decide(t.Context(), &gate.Request{Path: "/", IP: netip.MustParseAddr("192.0.2.1"),
			Headers: map[string][]string{"X-Client": {"198.51.100.7"}, "X-Secret": {secret}}})
		if err != nil || d.Key != want {
			t.Errorf("with the secret %s: counts by %s, %v; want %s", secret, d.Key, err, want)
		}
	}
}

// TestPolicies: the gate's error policy is for files that state none.
func TestPolicies(t *testing.T) {
	quiet := slidegate.WithLogger(slog.New(slog.DiscardHandler))
	for _, test := range []struct {
		defaults string
		options  []gate.Option
		want     int // requests that pass, of 9
	}{
		{"", nil, 1}, // 10 units for 20 processes
		{"", []gate.Option{slidegate.FailOpen()}, 9},
		{"", []gate.Option{slidegate.FailLocal(2)}, 5},
		{"defaults: {on_error: deny}\n", []gate.Option{slidegate.FailOpen()}, 0},
		{"defaults: {on_error: local}\n", []gate.Option{slidegate.FailOpen()}, 1},
		{"defaults: {instances: 5}\n", []gate.Option{slidegate.FailLocal(2)}, 2},
	} {
		source, invalid := rulesfile.Parse("rules.yaml", test.defaults+ofUnits("10"))
		g, err := gate.New(source, append(test.options, quiet, slidegate.WithStore(limittest.NewStore(limittest.Fail(errors.New("away")))))...)
		if err := errors.Join(invalid, err); err != nil {
			t.Fatal(err)
		}
		passed := 0
		for range 9 {
			if decide(t, g).Allowed {
				passed++
			}
		}
		if passed != test.want {
			t.Errorf("%q: %d requests pass, want %d", test.defaults, passed, test.want)
		}
	}
}

// TestWarnings go to the gate's log, also that a gate verifies no credentials and
// sees no GraphQL operations.
func TestWarnings(t *testing.T) {
	const document = "authentication: {api_key: {}}\nrules: [{name: one, when: {match: {graphql.type: query}}, key: x, limit: 5/minute}]"
	path := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, path, document)
	file, notOpened := rulesfile.Open(path)
	text, err := rulesfile.Parse("rules.yaml", document)
	if err := errors.Join(notOpened, err); err != nil {
		t.Fatal(err)
	}
	for _, source := range []gate.RuleSource{file, text} {
		var log bytes.Buffer
		_, err := gate.New(source, slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil || !strings.Contains(log.String(), "rules.yaml:2:") ||
			strings.Count(log.String(), "authentication in the rules has no effect in a Go program") != 1 ||
			strings.Count(log.String(), `no other request has one" rules=`) != 1 || !strings.Contains(log.String(), `reads="rule one reads graphql.type"`) {
			t.Errorf("logged %q, %v", &log, err)
		}
	}
}

// TestFinishByUsage: usage settles limits that have weights. An unknown name is
// logged and observed, and settles nothing.
func TestFinishByUsage(t *testing.T) {
	source, err := rulesfile.Parse("rules.yaml", "rules: [{name: chat, key: all, limits: ["+
		"{capacity: 900, window: 1h, cost: {from: header.x, min: 1, max: 100, settle: true, weights: {input: 1, output: 2.5}}}]}]")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	var failed []slidegate.Event
	g, err := gate.New(source, slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), slidegate.WithObserver(func(_ context.Context, e slidegate.Event) {
		if e.Err != nil {
			failed = append(failed, e)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	type usage = map[string]int64
	for i, test := range []struct {
		usage usage
		left  int64
	}{{nil, 800}, {usage{"input": 12, "output": 3}, 700}, {usage{"inputs": 12}, 680}, {nil, 580}} {
		d := decide(t, g)
		if d.Remaining != test.left {
			t.Errorf("request %d: %d left, want %d", i, d.Remaining, test.left)
		}
		g.Finish(t.Context(), d, gate.Outcome{Status: 200, Usage: test.usage})
	}
	if len(failed) != 1 || failed[0].Action != slidegate.ActionSettle || failed[0].Key != "all" ||
		!strings.Contains(log.String(), `msg="usage refused, so the charge stays" action=settle rule=chat key=all error="limit chat: usage \"inputs\" has no weight`) {
		t.Errorf("observed %+v, and logged %s", failed, &log)
	}
}
