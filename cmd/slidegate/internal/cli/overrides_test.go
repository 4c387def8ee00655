package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/keyscmd"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

func TestOverrides(t *testing.T) { newTable(t, "testdata/business.yaml").transcript(t, "overrides") }

func TestGrant(t *testing.T) { newTable(t, "testdata/business.yaml").transcript(t, "grant") }

// Keys whose values a client states freely are never raised.
func TestGrantToAClientsKey(t *testing.T) {
	newTable(t, "testdata/partners.yaml").transcript(t, "grant-client")
}

// An override can be shown and deleted even if its rule is gone or if it cannot be
// read.
func TestOrphans(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	mustRun(t, "overrides set api tenant:zeta --capacity 5 --why x"+table.at)
	note := ruletable.Note{Who: "jo", Why: "by hand", When: time.Unix(1_800_000_000, 0)}
	broken := ruletable.Override{Rule: "api", Key: "tenant:broken", Document: `{"capacty": 5}`, Note: note}
	if err := table.SetOverride(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	table.transcript(t, "orphans")
}

func TestOverridesImport(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	limits := file(t, "limits.jsonl", `{"key": "tenant:a|b", "document": {"limits": [{"capacity": 5, "window": "1s"}]}}
{"key": "tenant:c", "document": {"limits": [{"capacity": 7, "window": "1m"}]}}
`)
	wrong := file(t, "wrong.jsonl", `{"key": "tenant:a", "document": {"capacity": -1}}
{"key": "user:7", "document": {"capacity": 7}}
`)
	lines := file(t, "more.jsonl", `{"key": "user:7", "document": {"plan": "pro"}}

{"key": "user:auth0|8", "document": "{deny: true, why: ticket 81}", "who": "jo"}
{"key": "user:9", "grants": [{}]}
`)
	badLines := file(t, "bad.jsonl", `{"key": "user:7", "document": {"plan": "gold"}}
{}
[]
{"key": "user:7", "document": {"deny": true}}
{"key": "user:8"}
{"key": "tenant:8", "document": {"deny": true}}
{"key": "user:9", "document": {"deni": true, "why": 7}}
`+strings.Repeat(`{"key": "user:10", "document": 7}`+"\n", keyscmd.ErrorsShown))
	table.transcript(t, "overrides-import",
		"limits.jsonl", limits, "bad.jsonl", badLines, "wrong.jsonl", wrong, "more.jsonl", lines, "none.jsonl", filepath.Join(t.TempDir(), "none.jsonl"))

	// An import takes what list prints.
	listed := mustRun(t, "overrides list plan --json"+table.at)
	again := newTable(t, "testdata/business.yaml")
	mustRun(t, "overrides import plan "+file(t, "listed.jsonl", listed)+" --why copy"+again.at)
	documents := func(text string) map[string]string {
		found := map[string]string{}
		for line := range strings.Lines(text) {
			var o struct {
				Key      string
				Document json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Fatal(err)
			}
			found[o.Key] = string(o.Document)
		}
		return found
	}
	if diff := cmp.Diff(documents(listed), documents(mustRun(t, "overrides list plan --json"+again.at))); diff != "" {
		t.Errorf("a copy differs (-want +got):\n%s", diff)
	}
}

// rewritten returns the path of a copy of a rules file in which some text is
// replaced.
func rewritten(t *testing.T, path string, pairs ...string) string {
	t.Helper()
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "rules.yaml", strings.NewReplacer(pairs...).Replace(string(document)))
}

// Overrides that were set before a rule hashed its keys are kept apart from those
// that requests look up.
func TestLeftByHashing(t *testing.T) {
	t.Setenv("KEY_SECRET", "correct horse battery staple")
	table := newTable(t, rewritten(t, "testdata/hashed.yaml", ", hash: true", "", "hash_secret: {env: KEY_SECRET, check: c4bbcb1f}", ""))
	for _, name := range []string{"ann", "bob", "eve"} {
		mustRun(t, "overrides set by-mail mail:"+name+"@example.com --deny --why old --who jo"+table.at)
	}
	mustRun(t, "rules apply testdata/hashed.yaml"+table.at)
	table.transcript(t, "left-by-hashing")
	os.Unsetenv("KEY_SECRET") // without it no hash can be computed
	table.transcript(t, "left-by-hashing-no-secret")
}

// Overrides under a rule's old name are found by the keys that list prints.
func TestLeftByARename(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	mustRun(t, "overrides set chat user:auth0|7 --deny --why x --who jo"+table.at)
	mustRun(t, "rules apply "+rewritten(t, "testdata/business.yaml", "chat", "chats")+table.at)
	table.transcript(t, "left-by-a-rename")
}
