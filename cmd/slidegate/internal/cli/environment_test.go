package cli

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/test/servers"
)

// The environment names rules and store where the flags do not.
func TestLocationsOfTheEnvironment(t *testing.T) {
	explain := func(more string) string { return "explain GET /v1/login" + more }
	for name, test := range map[string]struct {
		rules, store string
		command      string
		code         int
		want         string // in what it prints
	}{
		"rules":                 {"testdata/rules.yaml", "", explain(""), 0, "rule per-ip"},
		"the flag wins":         {"testdata/bad.yaml", "", explain(" --rules testdata/rules.yaml"), 0, "rule per-ip"},
		"an empty flag":         {"testdata/rules.yaml", "", explain(" --rules ''"), 2, "--rules is missing"},
		"no table":              {"testdata/rules.yaml", "", "rules list", 2, "SLIDEGATE_RULES testdata/rules.yaml: this works on a table"},
		"wrong rules":           {"redis://:secret@h", "", explain(""), 2, "SLIDEGATE_RULES redis://…: want a file"},
		"wrong rules, and flag": {"redis://:secret@h", "", explain(" --rules testdata/rules.yaml"), 0, "rule per-ip"},
		"wrong name of a table": {"dynamodb://x", "", explain(""), 2, `SLIDEGATE_RULES: "x" is no name of a table`},
		"wrong store":           {"testdata/rules.yaml", "mysql://:secret@h", explain(""), 2, "SLIDEGATE_STORE mysql://…: want memory"},
		"wrong store, and flag": {"testdata/rules.yaml", "mysql://:secret@h", "inspect x --store redis://:secret@h/x", 2, "--store: the database"},
		"no address":            {"testdata/rules.yaml", "redis://secret@h", explain(""), 2, "SLIDEGATE_STORE: a user without a password"},
		"memory, for serve":     {"testdata/rules.yaml", "memory", explain(""), 0, "taken to be empty"},
		"memory, for inspect":   {"testdata/rules.yaml", "memory", "inspect ip:203.0.113.9", 2, "--store is missing"},
		// The store would be charged for good: this one is not even read.
		"replay": {"testdata/rules.yaml", "mysql://:secret@h", "replay testdata/day.log", 0, "requests"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SLIDEGATE_RULES", test.rules)
			t.Setenv("SLIDEGATE_STORE", test.store)
			r := slidegate(t.Context(), "", test.command)
			if out := r.stdout + r.stderr; r.code != test.code || !strings.Contains(out, test.want) || strings.Contains(out, "secret") {
				t.Errorf("%s: exit %d, want %d; printed %q, want %q and no secret", test.command, r.code, test.code, out, test.want)
			}
		})
	}
}

// The password of Redis need not be among the arguments, which every user of the
// machine can list.
func TestRedisPasswordOfTheEnvironment(t *testing.T) {
	server := servers.StartRedis(t, "requirepass secret")
	t.Setenv("SLIDEGATE_STORE", server.URL())
	t.Setenv("SLIDEGATE_RULES", "testdata/rules.yaml")
	wantFailure(t, "inspect ip:203.0.113.9", "redis does not know this user or password")
	t.Setenv("SLIDEGATE_REDIS_PASSWORD", "secret")
	if got := mustRun(t, "inspect ip:203.0.113.9"); !strings.Contains(got, "per-ip") {
		t.Errorf("printed %q", got)
	}
}

// No part of a URL is quoted: any of them may hold the password.
func TestBackendWithPassword(t *testing.T) {
	for _, url := range []string{
		"http://jo:secret@127.0.0.1:3000", "http://jo:secret@127.0.0.1:3000/base",
		"http://jo:secret%zz@h", "ftp://jo:secret@h", "http://jo:secret/x@h",
	} {
		if r := wantExit(t, 2, "serve --rules testdata/rules.yaml --listen 127.0.0.1:0 --backend "+url, "--backend: want"); strings.Contains(r.stderr, "secret") {
			t.Errorf("%s: %q", url, r.stderr)
		}
	}
}

// A token of decisions is long, and fits into a header. Its text is not quoted.
func TestDecideToken(t *testing.T) {
	for _, token := range []string{"secret", "secret-secret-1", "secret secret secret", "secret-secret-secret\n", "secret-secret-s\u00e9cret"} {
		t.Setenv("SLIDEGATE_DECIDE_TOKEN", token)
		if r := wantExit(t, 2, "serve --decide --rules testdata/rules.yaml --listen 127.0.0.1:0", "SLIDEGATE_DECIDE_TOKEN: want 16 characters or more"); strings.Contains(r.stderr, "secret") {
			t.Errorf("%q: %q", token, r.stderr)
		}
	}
}
