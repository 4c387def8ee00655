package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/operator"
)

// Two secrets for keys and their checks, as printf %s SECRET | sha256sum tells them.
const (
	secretA, checkA = "correct horse battery staple", "c4bbcb1f"
	secretB, checkB = "another secret, of another stage", "603f49c6"
)

// hashing writes rules whose keys are hashed, but for those of one.
func hashing(t *testing.T, env, check string) (path string) {
	t.Helper()
	return file(t, check+".yaml", fmt.Sprintf(`
hash_secret: {env: %s, check: %s}
plan: {overrides: "user:{jwt.sub}", hash: true}
rules:
  - {name: api, key: "user:{jwt.sub}", hash: true, overrides: true, limits: [{capacity: 1, window: 60s}]}
  - {name: team, key: "team:{jwt.team}|user:{jwt.sub}", hash: true, overrides: "team:{jwt.team}", limits: [{capacity: 9, window: 60s}]}
  - {name: open, key: "user:{jwt.sub}", overrides: true, limits: [{capacity: 9, window: 60s}]}
`, env, check))
}

// Rules that limiters with the secret of this environment would refuse are not published: the next that starts would fail.
func TestRulesForAnotherSecretAreNotPublished(t *testing.T) {
	const publishing = "PUBLISHED_KEYS"
	table := newOperated(t)
	a, b := hashing(t, publishing, checkA), hashing(t, publishing, checkB)
	t.Setenv(publishing, secretA)
	table.apply(t, a)

	log := file(t, "log.jsonl", `{"time":1,"jwt":{"sub":"ann"}}`)
	another := func(is, theirs string) string {
		return "hash_secret: the secret in PUBLISHED_KEYS is not the one that the rules were written for: its check is " + is + ", and theirs is " + theirs
	}
	const refusal, unset = "; limiters with this secret would refuse the rules: ", "unset the variable if theirs is another than this\n"
	const wayOut = refusal + "write the check of their secret, or " + unset
	for _, more := range []string{"", " --dry-run", " --json", " --against " + log} {
		wantFailure(t, "rules apply "+b+" --rules "+table.place+more, "slidegate: "+b+": "+another(checkA, checkB)+wayOut)
	}
	r := slidegate(t.Context(), "", "rules", "diff", b, "--rules", table.place)
	if want := "slidegate: warning: " + another(checkA, checkB) + "\n"; r.code != 0 || r.stderr != want {
		t.Errorf("diff: exit %d, said %q, want %q", r.code, r.stderr, want)
	}
	t.Setenv(publishing, "short")
	wantFailure(t, "rules apply "+a+" --rules "+table.place, "slidegate: "+a+": hash_secret: the secret in PUBLISHED_KEYS has 5 bytes", wayOut)
	table.wantInForce(t, 1, 1)

	os.Unsetenv(publishing)
	table.apply(t, b)
	t.Setenv(publishing, secretB)
	const rollback = "rules rollback 1 --why x --who jo --rules "
	for _, more := range []string{"", " --dry-run", " --json"} {
		wantFailure(t, rollback+table.place+more, "slidegate: "+table.place+" version 1: "+another(checkB, checkA)+refusal+unset) // a version cannot be written anew
	}
	table.wantInForce(t, 2, 2)
	t.Setenv(publishing, "")
	mustRun(t, strings.Fields(rollback+table.place)...)
	t.Setenv(publishing, secretB)
	mustRun(t, strings.Fields("rules rollback 2 --why x --who jo --rules "+table.place)...)
	table.wantInForce(t, 2, 4)
}

// Another secret loses the overrides that were set by command, and whoever changes it hears which.
func TestOverridesOfAnotherSecret(t *testing.T) {
	const env = "ROTATED_KEYS"
	table := newOperated(t)
	a, b := hashing(t, env, checkA), hashing(t, env, checkB)
	t.Setenv(env, secretA)
	table.apply(t, a)
	for _, set := range []string{
		"api user:ann --capacity 5", "team team:red --deny", "plan user:ann --deny", "open user:ann --capacity 5",
	} {
		mustRun(t, append(append([]string{"overrides", "set"}, strings.Fields(set)...), "--why", "x", "--who", "jo", "--rules", table.place)...)
	}
	table.set(t, "api", "user:plain", "{capacity: 5}")
	os.Unsetenv(env)

	misfitsOf := func(command ...string) (reasons map[string]string) {
		t.Helper()
		var report operator.PublishReport
		if err := json.Unmarshal([]byte(mustRun(t, append(command, "--json", "--rules", table.place)...)), &report); err != nil {
			t.Fatal(err)
		}
		reasons = map[string]string{}
		for _, m := range report.StaleOverrides.Overrides {
			key, _, _ := strings.Cut(m.Key, "-")
			reasons[m.Rule+" "+key] = m.Reason
		}
		return reasons
	}
	const lost = "its key is a hash, and found only if these rules have made it: by their secret, of a key of their form"
	want := map[string]string{
		"api %hmac": lost, "team %hmac": lost, "plan %hmac": lost,
		"api user:plain": `"user:plain" is not hashed, and overrides of rule api are found by hashes alone`,
	}
	for _, command := range [][]string{{"rules", "diff", b}, {"rules", "apply", b, "--dry-run"}, {"rules", "apply", b}, {"rules", "rollback", "1", "--dry-run"}} {
		if diff := cmp.Diff(want, misfitsOf(command...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", strings.Join(command, " "), diff)
		}
	}
	if diff := cmp.Diff(map[string]string{}, misfitsOf("rules", "diff", hashing(t, "OTHER_VARIABLE", checkB))); diff != "" {
		t.Errorf("the same secret in another variable (-want +got):\n%s", diff)
	}
}

// Two secrets in one variable cannot be compared by traffic: it is told which rules lack theirs, and how to have both.
func TestRecordedTrafficUnderTwoSecrets(t *testing.T) {
	const env = "BOTH_KEYS"
	table := newOperated(t)
	a, b := hashing(t, env, checkA), hashing(t, env, checkB)
	t.Setenv(env, secretA)
	table.apply(t, a)
	against := " --rules " + table.place + " --against " + file(t, "log.jsonl", strings.Repeat(`{"time":1,"jwt":{"sub":"ann"}}`+"\n", 2))
	const wayOut = "; the two need two secrets: keep the old one in its variable, and name another variable in the new rules' hash_secret.env, or leave out --against\n"
	fails := func(secret string, parts ...string) {
		t.Helper()
		t.Setenv(env, secret)
		r := slidegate(t.Context(), "", strings.Fields("rules diff "+b+against)...)
		said := r.stderr[strings.LastIndex(strings.TrimSuffix(r.stderr, "\n"), "\n")+1:] // after the warning
		if r.code != 1 || r.stdout != "" {
			t.Errorf("exit %d, printed %q", r.code, r.stdout)
		}
		for _, part := range append(parts, wayOut) {
			if !strings.Contains(said, part) {
				t.Errorf("said %q, want %q in it", said, part)
			}
		}
	}
	fails(secretA, "slidegate: --against: the new rules: hash_secret: the secret in BOTH_KEYS is not the one", "theirs is "+checkB)
	fails(secretB, "slidegate: --against: the rules in force: hash_secret: the secret in BOTH_KEYS is not the one", "theirs is "+checkA)
	fails("", "slidegate: --against: the rules in force: hash_secret: ", "set the environment variable BOTH_KEYS")

	// With a variable each there is a comparison, and without one of them no way out is needed but the reason.
	next := hashing(t, "NEXT_KEYS", checkB)
	t.Setenv(env, secretA)
	t.Setenv("NEXT_KEYS", secretB)
	if got := mustRun(t, strings.Fields("rules diff "+next+against)...); !strings.Contains(got, "of 2 recorded requests") {
		t.Errorf("printed %q", got)
	}
	os.Unsetenv("NEXT_KEYS")
	wantFailure(t, "rules diff "+next+against, "slidegate: --against: the new rules: hash_secret: a secret that the rules name is not set: set the environment variable NEXT_KEYS\n")
}
