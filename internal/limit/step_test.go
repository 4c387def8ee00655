package limit_test

import (
	"testing"

	"github.com/slidegate/slidegate/internal/storetest"
)

// TestStep plays the tables that every store must answer to, and holds the step
// to them.
func TestStep(t *testing.T) { storetest.Run(t, storetest.Steps) }
