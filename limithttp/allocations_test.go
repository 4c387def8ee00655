package limithttp_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

// TestSetFieldsAllocates: SetFields must not compile the limits again for each
// answer, which makes hundreds of allocations.
func TestSetFieldsAllocates(t *testing.T) {
	lim, err := slidegate.New(slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	r, err := lim.Allow(t.Context(), "user:7")
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	const most = 30
	if n := testing.AllocsPerRun(100, func() { limithttp.SetFields(h, lim, r) }); n > most {
		t.Errorf("SetFields makes %v allocations, want at most %d", n, most)
	}
}
