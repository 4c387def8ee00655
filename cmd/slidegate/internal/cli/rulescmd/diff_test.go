package rulescmd

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
)

// Rules whose overrides were not all checked are named.
func TestStaleOverridesThatWereNotChecked(t *testing.T) {
	var printed strings.Builder
	printStale(command.NewPrinter(&printed), &StaleReport{Unread: []string{"api"}})
	if want := "rule api has more than 1,000 overrides: the others were not checked\n"; printed.String() != want {
		t.Errorf("printed %q, want %q", printed.String(), want)
	}
}
