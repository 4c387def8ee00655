package limit_test

import (
	"testing"

	"github.com/slidegate/slidegate/internal/storetest"
)

// TestReference plays the tables that every store must answer to, and holds the
// step to them.
func TestReference(t *testing.T) { storetest.Run(t, storetest.ReferenceHarness) }
