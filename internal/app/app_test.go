package app

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestTimezones has every main carry the zone database: a Lambda has none, and rules that name a timezone would be refused
// there.
func TestTimezones(t *testing.T) {
	for _, main := range []string{"functions/authorizer", "cmd/slidegate"} {
		out, err := exec.Command("go", "list", "-deps", "github.com/slidegate/slidegate/"+main).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if !slices.Contains(strings.Fields(string(out)), "time/tzdata") {
			t.Errorf("%s carries no zone database", main)
		}
	}
}
