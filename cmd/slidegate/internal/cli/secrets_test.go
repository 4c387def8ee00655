package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Two secrets for keys and their checks: the first 8 digits that
// printf %s SECRET | sha256sum prints.
const (
	secretA, checkA = "correct horse battery staple", "c4bbcb1f"
	secretB, checkB = "another secret, of another stage", "603f49c6"
)

// hashing writes rules, all but one with hashed keys.
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

// Rules that limiters with the secret of this environment would refuse are not
// published: the next limiter to start would fail.
func TestRulesForAnotherSecretAreNotPublished(t *testing.T) {
	const publishing = "PUBLISHED_KEYS"
	table := newTable(t)
	a, b := hashing(t, publishing, checkA), hashing(t, publishing, checkB)
	t.Setenv(publishing, secretA)
	table.apply(t, a)

	log := file(t, "log.jsonl", `{"time":1,"method":"GET","path":"/","jwt":{"sub":"ann"}}`)
	another := func(is, theirs string) string {
		return fmt.Sprintf("hash_secret: the secret in PUBLISHED_KEYS has the check %q, and the rules say %q: "+
			"set the secret that the rules were written for", is, theirs)
	}
	const refusal, unset = "; limiters with this secret would refuse the rules: ", "unset the variable if theirs is another than this\n"
	const wayOut = refusal + "write the check of their secret, or " + unset
	for _, more := range []string{"", " --dry-run", " --json", " --against " + log} {
		wantFailure(t, "rules apply "+b+table.at+more, "slidegate: "+b+": "+another(checkA, checkB)+wayOut)
	}
	wantSame(t, "diff", "slidegate: warning: "+another(checkA, checkB)+"\n", wantExit(t, 0, "rules diff "+b+table.at).stderr)
	t.Setenv(publishing, "short")
	wantFailure(t, "rules apply "+a+table.at, "slidegate: "+a+": hash_secret: the secret in PUBLISHED_KEYS has 5 bytes", wayOut)
	table.wantInForce(t, 1, 1)

	os.Unsetenv(publishing)
	table.apply(t, b)
	t.Setenv(publishing, secretB)
	const rollback = " --why x --who jo"
	for _, more := range []string{"", " --dry-run", " --json"} {
		wantFailure(t, "rules rollback 1"+rollback+table.at+more, "slidegate: "+table.place+" version 1: "+another(checkB, checkA)+refusal+unset) // a version cannot be rewritten
	}
	table.wantInForce(t, 2, 2)
	t.Setenv(publishing, "")
	mustRun(t, "rules rollback 1"+rollback+table.at)
	t.Setenv(publishing, secretB)
	mustRun(t, "rules rollback 2"+rollback+table.at)
	table.wantInForce(t, 2, 4)
}

// With another secret the overrides set by command are not found. Diff, apply and
// rollback list them.
func TestOverridesOfAnotherSecret(t *testing.T) {
	const env = "ROTATED_KEYS"
	table := newTable(t)
	a, b := hashing(t, env, checkA), hashing(t, env, checkB)
	t.Setenv(env, secretA)
	table.apply(t, a)
	for _, set := range []string{
		"api user:ann --capacity 5", "team team:red --deny", "plan user:ann --deny", "open user:ann --capacity 5",
	} {
		mustRun(t, "overrides set "+set+" --why x --who jo"+table.at)
	}
	table.set(t, "api", "user:plain", "{capacity: 5}")
	os.Unsetenv(env)

	staleOf := func(command string) map[string]string {
		t.Helper()
		reasons := map[string]string{}
		for _, o := range mustReport[published](t, command+table.at).StaleOverrides.Overrides {
			key, _, _ := strings.Cut(o.Key, "-")
			reasons[o.Rule+" "+key] = o.Reason
		}
		return reasons
	}
	const lost = "its key is a hash, and found only if these rules have made it: by their secret, of a key of their form"
	want := map[string]string{
		"api %hmac": lost, "team %hmac": lost, "plan %hmac": lost,
		"api user:plain": `"user:plain" is not hashed, and overrides of rule api are found by hashes alone`,
	}
	for _, command := range []string{"rules diff " + b, "rules apply --dry-run " + b, "rules apply " + b, "rules rollback 1 --dry-run"} {
		wantSame(t, command, want, staleOf(command))
	}
	wantSame(t, "the same secret in another variable", map[string]string{}, staleOf("rules diff "+hashing(t, "OTHER_VARIABLE", checkB)))
}

// Rules with two secrets in one variable cannot be compared by traffic. The error
// says which rules lack theirs, and how to have both.
func TestRecordedTrafficUnderTwoSecrets(t *testing.T) {
	const env = "BOTH_KEYS"
	table := newTable(t)
	a, b := hashing(t, env, checkA), hashing(t, env, checkB)
	t.Setenv(env, secretA)
	table.apply(t, a)
	against := table.at + "--against " + file(t, "log.jsonl", strings.Repeat(`{"time":1,"method":"GET","path":"/","jwt":{"sub":"ann"}}`+"\n", 2))
	const wayOut = "; the two need two secrets: keep the old one in its variable, and name another variable in the new rules' hash_secret.env, or leave out --against\n"
	fails := func(secret string, parts ...string) {
		t.Helper()
		t.Setenv(env, secret)
		r := wantExit(t, 1, "rules diff "+b+against, append(parts, wayOut)...)
		if lines := strings.Count(r.stderr, "\n"); r.stdout != "" || !strings.HasSuffix(r.stderr, wayOut) || lines > 2 { // after the warning
			t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
		}
	}
	fails(secretA, "slidegate: --against: the new rules: hash_secret: the secret in BOTH_KEYS has the check", "the rules say \""+checkB)
	fails(secretB, "slidegate: --against: the rules in force: hash_secret: the secret in BOTH_KEYS has the check", "the rules say \""+checkA)
	fails("", "slidegate: --against: the rules in force: hash_secret: ", "set the environment variable BOTH_KEYS")
	wantFailure(t, "replay "+file(t, "log.jsonl", `{"time":1,"method":"GET","path":"/","jwt":{"sub":"ann"}}`)+table.at, "hash_secret", "set the environment variable BOTH_KEYS")

	// With a variable each they can be compared. If one is not set, the error names it.
	next := hashing(t, "NEXT_KEYS", checkB)
	t.Setenv(env, secretA)
	t.Setenv("NEXT_KEYS", secretB)
	if got := mustRun(t, "rules diff "+next+against); !strings.Contains(got, "of 2 recorded requests") {
		t.Errorf("printed %q", got)
	}
	os.Unsetenv("NEXT_KEYS")
	wantFailure(t, "rules diff "+next+against, "slidegate: --against: the new rules: hash_secret: a secret that the rules name is not set: set the environment variable NEXT_KEYS\n")
}
