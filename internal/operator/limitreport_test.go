package operator

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

func TestReportUsage(t *testing.T) {
	l := limit.Limit{Capacity: 5, Window: time.Minute}
	for wait, want := range map[time.Duration]float64{0: 0, limit.Never: -1, 1500 * time.Millisecond: 1.5} {
		got := reportUsage(&l, 2, &limit.Result{Remaining: 3, RetryAfter: wait})
		if got.RetryAfter != want || got.Used != 2 || got.Remaining != 3 || got.Cost != 2 {
			t.Errorf("a wait of %v is reported as %+v", wait, got)
		}
	}
}
