package cli

import (
	"strings"
	"testing"
	"unicode"
)

// TestControlCharacters: names of files, flags and values reach a terminal
// escaped, in errors, reports and JSON.
func TestControlCharacters(t *testing.T) {
	signedOut(t)
	const odd = "a\x1b[2Jb\u202ec\u009bd\x7f"
	dir := t.TempDir() + "/"
	for name, text := range map[string]string{odd: read(t, "testdata/rules.yaml"), odd + "bad": "rules: [{nam: x}]"} {
		write(t, dir+name, text)
	}
	file := "'" + dir + odd + "'"
	for _, command := range []string{
		"'" + odd + "'", "rules '--" + odd + "'", "rules list '-" + odd + "'", "help '" + odd + "'", "__complete rules '" + odd + "'",
		"rules validate " + file, "rules validate --json " + file, "rules validate '" + dir + odd + "bad'", "rules validate --json '" + dir + odd + "bad'",
		"rules validate '" + odd + "'", "rules diff testdata/next.yaml --rules " + file, "rules diff --json testdata/next.yaml --rules " + file,
		"rules diff testdata/next.yaml --rules '" + dir + odd + "bad'", "replay '" + odd + "' --rules " + file, "serve --listen '" + odd + "' --rules " + file,
		"explain GET '/" + odd + "' --rules " + file, "explain --json GET '/" + odd + "' --rules " + file, "explain GET / --ip '" + odd + "' --rules " + file,
		"explain GET / -H 'X: " + odd + "' --claim 'x=" + odd + "' --apikey '" + odd + "' --rules " + file, "explain GET / --claims '" + odd + "' --rules " + file,
		"inspect '" + odd + "' --store memory --rules " + file, "rules import --format envoy '" + odd + "'",
	} {
		r := slidegate(t.Context(), "", command)
		if i := strings.IndexFunc(r.stdout+r.stderr, func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) }); i >= 0 {
			t.Errorf("%q prints %q", command, r.stdout+r.stderr)
		}
	}
}

// A command line that makes no sense exits with 2 and says what to type.
func TestUsage(t *testing.T) {
	signedOut(t) // a call to AWS would fail with another message
	const rules = " --rules testdata/rules.yaml"
	for command, want := range map[string]string{
		"validate testdata/rules.yaml": "unknown command \"validate\" for \"slidegate\": did you mean slidegate rules validate?\nsee: slidegate --help\n",
		"create":                       "did you mean slidegate apikeys create or slidegate tables create?",
		"list":                         "did you mean slidegate apikeys list or slidegate overrides list or slidegate rules list?",
		"versoin":                      "did you mean slidegate version?",
		"rules vaildate":               "did you mean slidegate rules validate?",
		"rules valid":                  "did you mean slidegate rules validate?",
		"rules nonsense --rules x":     "unknown command \"nonsense\" for \"slidegate rules\"\nsee: slidegate rules --help\n",
		"apikeys lst --json":           "did you mean slidegate apikeys list?",
		"rules --nonsense":             "unknown flag: --nonsense\nsee: slidegate rules --help\n",
		"help nonsense":                "unknown command \"nonsense\" for \"slidegate\"\nsee: slidegate help --help\n",
		"help rules vaildate":          "did you mean slidegate rules validate?",

		"rules list":                                            "--rules is missing: dynamodb://TABLE or stack://NAME\n",
		"serve testdata/rules.yaml":                             "want no arguments besides flags, got testdata/rules.yaml: write --rules testdata/rules.yaml\n",
		"serve --listen 8080" + rules:                           "--listen 8080: want HOST:PORT, such as 127.0.0.1:8080\n",
		"serve --usage-path usage" + rules:                      "--usage-path usage: want a fixed path such as /usage, without wildcards, query or escapes\n",
		"serve --usage-path /usage/*" + rules:                   "--usage-path /usage/*: want a fixed path such as /usage, without wildcards, query or escapes\n",
		"serve --decide --usage-path /healthz" + rules:          "--usage-path /healthz: /healthz is an endpoint of decisions: want another path, such as /usage\n",
		"serve --decide --backend http://127.0.0.1" + rules:     "--decide passes no requests on: leave out --backend, --backend-timeout and --pass-host\n",
		"serve --decide --backend-timeout 1s" + rules:           "--decide passes no requests on: leave out --backend, --backend-timeout and --pass-host\n",
		"serve --pass-host --rules testdata/none.yaml":          "--backend-timeout and --pass-host are for --backend URL, which is missing\n",
		"serve --backend-timeout 1s --rules testdata/none.yaml": "--backend-timeout and --pass-host are for --backend URL, which is missing\n",
		"serve --deadline 1s" + rules:                           "--deadline is for rules or counters in DynamoDB or Redis, and there are none: leave it out\n",
		"serve --deadline 0" + rules:                            "--deadline 0: want a duration above 0, such as 30s or 5m\n",
		"serve --max-keys 1m" + rules:                           "--max-keys 1m: want a number of keys from 1000 to 1000000000\n",
		"serve --max-keys 1000 --store redis://h:1/0" + rules:   "--max-keys is for counters in memory, without --store and SLIDEGATE_STORE\n",
		"serve --drain x" + rules:                               "--drain x: want a duration such as 30s or 5m, or 0\n",
		"init -":                                                "-: want the name of a new file, such as rules.yaml\n",
		"suggest x --key ip:{ip} --write -":                     "--write -: want the name of a new file, such as rules.yaml\n",
		"inspect ip:203.0.113.9 --store x" + rules:              "--store: want dynamodb://TABLE, stack://NAME or redis://HOST:PORT/DB\n",
		"rules diff - --rules testdata/rules.yaml":              "want one rules file, got -; /dev/stdin is standard input\n",
		"explain GET / --rules -":                               "--rules -: want a file, dynamodb://TABLE or stack://NAME; /dev/stdin is standard input\n",
	} {
		if r := wantExit(t, 2, command, want); r.stdout != "" {
			t.Errorf("%s printed %q", command, r.stdout)
		}
	}
}
