package memory_test

import (
	"flag"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

var wide = flag.Bool("wide", false, "make more random calls, as make test-wide does")

func TestConformance(t *testing.T) {
	rounds, histories := 3, 60
	if *wide {
		rounds, histories = 10, 200
	}
	storetest.Run(t, func(*testing.T) storetest.Harness {
		store := memory.New(0)
		return storetest.Harness{Client: func(testing.TB) limit.Store { return store }, Rounds: rounds, Histories: histories}
	})
}
