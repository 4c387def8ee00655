package cli

import (
	"testing"
)

func TestComplete(t *testing.T) {
	signedOut(t)
	transcript(t, "complete", "", scrubElapsed)
}
