package memory_test

import (
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness {
		store := memory.New(0)
		return storetest.Harness{Client: func(testing.TB) limit.Store { return store }, Rounds: 10}
	})
}
