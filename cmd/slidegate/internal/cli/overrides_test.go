package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/keyscmd"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

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
	wantSame(t, "a copy differs", documents(listed), documents(mustRun(t, "overrides list plan --json"+again.at)))
}

// rewritten returns the path of a copy of a rules file in which some text is
// replaced.
func rewritten(t *testing.T, path string, pairs ...string) string {
	t.Helper()
	return file(t, "rules.yaml", strings.NewReplacer(pairs...).Replace(read(t, path)))
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

// created is a NewKeyReport whose claims stay JSON.
type created struct {
	keyscmd.NewKeyReport
	Claims json.RawMessage `json:"claims"`
}

// newKeys creates API keys, and returns their names.
func (x *table) newKeys(t *testing.T, flags ...string) (names []string) {
	t.Helper()
	for _, more := range flags {
		report := mustReport[created](t, "apikeys create --who jo --why 'first keys' "+more+x.at)
		if k, ok := apikeys.Parse(report.Secret); !ok || k.Name() != report.Name {
			t.Errorf("the secret %s is not one of %s", report.Secret, report.Name)
		}
		names = append(names, report.Name)
	}
	return names
}

func TestAPIKeys(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	keys := table.newKeys(t, "--id acme --plan pro --until 2100-01-01T00:00:00Z", "--id zeta")
	table.transcript(t, "apikeys", "FIRST", keys[0], "SECOND", keys[1])
}

// TestAPIKeyNotVerified: a key that the rules in force do not take draws a
// warning. Its caller would be anonymous.
func TestAPIKeyNotVerified(t *testing.T) {
	for name, want := range map[string]string{"rules.yaml": "write authentication: {api_key: {}}", "gateway-keys.yaml": "remove authentication.api_key.from"} {
		wantExit(t, 0, "apikeys create --who jo --why x"+newTable(t, "testdata/"+name).at, want)
	}
}

// The listed keys are in the order of their names, which are random.
func TestAPIKeysList(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	keys := table.newKeys(t, "--id acme", "--id zeta --claim tenant=7", "--id acme")
	mustRun(t, "apikeys revoke --why x "+keys[2]+table.at)
	_, err := table.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table.name, Item: attributes("apikey", "sg_broken")})
	if err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string][]string{
		"": keys[:2], "--all": keys, "--id acme": keys[:1], "--id acme --all": {keys[0], keys[2]}, "--id nobody": nil,
	} {
		for _, form := range []string{"", " --json"} {
			r := slidegate(t.Context(), "", "apikeys list "+flags+form+table.at)
			for _, name := range want {
				if !strings.Contains(r.stdout, name) {
					t.Errorf("%s%s lacks %s: %s", flags, form, name, r.stdout)
				}
			}
			if r.code != 0 || strings.Count(r.stdout, "\n") != len(want) || !strings.Contains(r.stderr, "sg_broken") {
				t.Errorf("%s%s: exit %d, printed %s%s", flags, form, r.code, r.stdout, r.stderr)
			}
		}
	}
}

// A key can be made before there are rules. No command but the one that makes it
// prints its secret, and the table does not have it.
func TestAPIKeySecret(t *testing.T) {
	table := newTable(t)
	secret := mustReport[keyscmd.NewKeyReport](t, "apikeys create --id acme --plan pro --why x"+table.at).Secret
	_, random, _ := strings.Cut(secret[3:], "_")
	var printed strings.Builder
	for _, command := range []string{"apikeys list --all", "apikeys list --all --json", "rules history", "rules history --json", "apikeys revoke --why x " + secret} {
		printed.WriteString(mustRun(t, command+table.at))
	}
	items := contents(t, table.client, table.name)
	if n := strings.Count(items, `"p=`); n != 3 {
		t.Fatalf("%d items; want a key and two changes", n)
	}
	printed.WriteString(items)
	if strings.Contains(printed.String(), random) || !strings.Contains(printed.String(), secret[:19]) {
		t.Errorf("the secret %s is in %s", secret, printed.String())
	}
}

func attributes(partition, sort string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: partition}, "s": &types.AttributeValueMemberS{Value: sort}}
}

// TestGrantAtNight runs the runbook's commands on the rules that a page deploys.
// The same rules without overrides refuse the grant, and take it once they are
// published with overrides: their counters stay.
func TestGrantAtNight(t *testing.T) {
	_, rules, _ := strings.Cut(read(t, "../../../../docs/start/attach.md"), "```yaml\n")
	rules, _, _ = strings.Cut(rules, "```")
	lacking := strings.Replace(rules, ", overrides: true", "", 1)
	table := newTable(t, file(t, "rules.yaml", lacking))
	table.names(t)
	mustRun(t, "replay "+recent(t, `"path": "/items", "method": "GET", "ip": "203.0.113.9"`, 3)+" --store dynamodb://"+table.counters+table.at)
	const grant = "grant per-ip ip:203.0.113.9 +5 --for 24h --why 'ticket 7'"
	wantFailure(t, grant+table.at, "write overrides: true in the rule, and publish it: limiters have it within ten seconds, and its counters stay")
	mustRun(t, "rules apply "+file(t, "rules.yaml", rules)+table.at+"--why 'grants, ticket 7'")
	mustRun(t, grant+table.at)
	report := mustReport[operator.InspectReport](t, "inspect per-ip ip:203.0.113.9 --store dynamodb://"+table.counters+table.at)
	if l := report.Rules[0].Limits[0]; lacking == rules || l.Used != 3 || l.Remaining != 12 {
		t.Errorf("used %d, remaining %d, want 3 of 15", l.Used, l.Remaining)
	}
}
