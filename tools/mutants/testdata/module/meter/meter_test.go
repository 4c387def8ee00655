package meter

import (
	"flag"
	"testing"

	"example.com/module/dose"
)

var factor = flag.Int("factor", 0, "what the tests count by; they fail without it")

func TestHalve(t *testing.T) {
	if got := dose.Halve(4 * *factor); got != 6 {
		t.Errorf("half of %d is %d", 4**factor, got)
	}
}
