package app

import (
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// TestTimezones: every main package links the zone database. A Lambda has none,
// and would refuse rules that name a timezone.
func TestTimezones(t *testing.T) {
	for _, main := range []string{"functions/authorizer", "cmd/slidegate"} {
		out, err := exec.Command("go", "list", "-deps", "github.com/slidegate/slidegate/"+main).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if !slices.Contains(strings.Fields(string(out)), "time/tzdata") {
			t.Errorf("%s links no zone database", main)
		}
	}
}

// TestNewPrepare: a warning names the rules that need credentials, once for
// each document.
func TestNewPrepare(t *testing.T) {
	var out strings.Builder
	prepare := NewPrepare(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	for document, want := range map[string]string{
		`rules: [{name: r, key: "ip:{ip}", limits: [{capacity: 1, window: 1s}]}]`: "",
		`rules: [{name: r, key: "{jwt.sub}", limits: [{capacity: 1, window: 1s}]}, {name: s, when: {caller: known}, key: all, limits: [{capacity: 1, window: 1s}]}]`: "" +
			`level=WARN msg="rules need credentials that are not verified" rules=f never_matched=[s] count_all_callers_as_one=[r]` + "\n",
	} {
		out.Reset()
		set, err := rulefile.Parse("f", []byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if err := prepare("f", set); err != nil || out.String() != want {
			t.Errorf("%s: %v, logged %q, want %q", document, err, out.String(), want)
		}
	}
	const hashed = "{hash_secret: {env: SLIDEGATE_TEST_SECRET, check: 1a2b3c4d}, rules: [{name: r, key: k, hash: true, limits: [{capacity: 1, window: 1s}]}]}"
	set, err := rulefile.Parse("f", []byte(hashed))
	if err != nil {
		t.Fatal(err)
	}
	if err := prepare("f", set); !errors.Is(err, rules.ErrMissingSecret) {
		t.Errorf("without a secret: %v", err)
	}
}
