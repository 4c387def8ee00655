package limit_test

import (
	"testing"

	"github.com/slidegate/slidegate/internal/test/storetest"
)

// TestReference runs the suite for stores against the step itself.
func TestReference(t *testing.T) { storetest.Run(t, storetest.ReferenceHarness) }
