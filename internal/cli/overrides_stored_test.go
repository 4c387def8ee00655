package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/dynamotest"
)

// rewritten returns the path of a copy of a rules file, with some of its text replaced.
func rewritten(t *testing.T, file string, pairs ...string) (path string) {
	t.Helper()
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(document))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What was set before a rule hashed its keys is told from what requests look up, and neither is taken for the other.
func TestLeftByHashing(t *testing.T) {
	t.Setenv("KEY_SECRET", "correct horse battery staple")
	plain := rewritten(t, "testdata/hashed.yaml", ", hash: true", "", "hash_secret: {env: KEY_SECRET, check: c4bbcb1f}", "")
	table, place := published(t, dynamotest.Connect(t), plain)
	for _, name := range []string{"ann", "bob", "eve"} {
		mustRun(t, "overrides", "set", "by-mail", "mail:"+name+"@example.com", "--deny", "--why", "old", "--who", "jo", "--rules", place)
	}
	mustRun(t, "rules", "apply", "testdata/hashed.yaml", "--rules", place)
	const at = " --rules dynamodb://TABLE"
	const said = at + " --who jo --why 'ticket 87'"
	text := tableSession(t, table,
		"overrides get by-mail mail:ann@example.com"+at,
		"overrides get by-mail mail:ann@example.com --json"+at,
		"overrides set by-mail mail:ann@example.com --capacity 20000"+said,
		"overrides get by-mail mail:ann@example.com"+at,
		"overrides get by-mail mail:ann@example.com --json"+at,
		"overrides get by-mail mail:ann@example.com --as-listed"+at,
		"overrides get by-mail mail:bob@example.com"+at,
		"overrides list by-mail"+at,
		"overrides list by-mail --limit 2 --json"+at,
		"overrides list by-mail --prefix mail:"+at,
		"overrides list by-mail --prefix tel:"+at,
		"overrides list by-mail --prefix %hmac-4"+at,
		"overrides list by-mail --prefix %hmac-5"+at,
		"overrides list plan --prefix mail:"+at,
		"overrides delete by-mail mail:ann@example.com --as-listed"+said,
		"overrides delete by-mail mail:ann@example.com --as-listed"+said,
		"overrides delete by-mail mail:ann@example.com"+said,
		"overrides delete by-mail mail:ann@example.com"+said,
		"overrides delete by-mail mail:bob@example.com"+said,
		"overrides delete by-mail mail:eve@example.com"+said,
		"overrides set by-mail mail:ann@example.com --capacity 20000"+said,
		"overrides get by-mail %hmac-49089c9db944259ecf9ee8f475060259"+at,
	)
	os.Unsetenv("KEY_SECRET") // what a hash is of is not known now
	text += tableSession(t, table,
		"overrides get by-mail mail:bob@example.com"+at,
		"overrides get by-mail mail:bob@example.com --as-listed"+at,
		"overrides get by-mail %hmac-49089c9db944259ecf9ee8f475060259"+at,
		"overrides delete by-mail mail:bob@example.com"+said,
	)
	golden(t, "left-by-hashing", text)
}

// What a rule had under its old name is found by the keys that are listed.
func TestLeftByARename(t *testing.T) {
	table, place := published(t, dynamotest.Connect(t), "testdata/business.yaml")
	mustRun(t, "overrides", "set", "chat", "user:auth0|7", "--deny", "--why", "x", "--who", "jo", "--rules", place)
	mustRun(t, "rules", "apply", rewritten(t, "testdata/business.yaml", "chat", "chats"), "--rules", place)
	const at = " --rules dynamodb://TABLE"
	const said = at + " --who jo --why 'ticket 88'"
	golden(t, "left-by-a-rename", tableSession(t, table,
		"overrides get chat 'user:auth0|7'"+at,
		"overrides delete chat 'user:auth0|7'"+said,
		"overrides delete chats 'user:auth0|7'"+said,
		"overrides delete cats 'user:auth0|7'"+said,
		"overrides list chat"+at,
		"overrides list chat --prefix user:b"+at,
		"overrides delete chat user:auth0%7C7"+said,
		"overrides delete chat user:auth0%7C7"+said,
		"overrides delete chat user:auth0%7C7 --as-listed"+said,
		"overrides list chat"+at,
	))
}
