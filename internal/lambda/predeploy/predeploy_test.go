package predeploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	const text = `
client_ip: {header: cf-connecting-ip, secret: {header: x-origin-secret, env: ORIGIN_SECRET}}
hash_secret: {env: HASH_SECRET, check: "7b5d1a0c"}
rules:
  - {name: api, key: "{header.x-user}", hash: true, limits: [{capacity: 10, window: 60s}]}
`
	got, err := predeploy.Read(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Text) != text || got.Hash != predeploy.Hash([]byte(text)) {
		t.Errorf("text %q, hash %s", got.Text, got.Hash)
	}
	if diff := cmp.Diff([]string{"ORIGIN_SECRET", "HASH_SECRET"}, got.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if len(got.Warnings) == 0 || !strings.Contains(got.Warnings[0], "rules.yaml:") {
		t.Errorf("warnings %q, want one about x-user with its place", got.Warnings)
	}
}

func TestReadRefuses(t *testing.T) {
	path := write(t, "rules:\n  - {name: api, key: all, limits: [{capacity: 10, window: 60}]}\n")
	if _, err := predeploy.Read(path); err == nil || err.Error() != path+":2:59: rules[0].limits[0].window: needs a unit: write 60s for seconds" {
		t.Errorf("error %v", err)
	}
	if _, err := predeploy.Read("missing.yaml"); err == nil || !strings.HasPrefix(err.Error(), "read the rules: open missing.yaml: ") {
		t.Errorf("error %v", err)
	}
}
