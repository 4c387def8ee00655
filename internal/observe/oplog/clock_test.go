package oplog_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/observe/oplog"
)

// TestStepsAreLogged logs one line for many steps in a row.
func TestStepsAreLogged(t *testing.T) {
	for step, want := range map[clock.Step]string{
		{By: -time.Hour}: `level=WARN msg="the machine's clock was set; limits go on as if it had not been" step=-1h0m0s`,
		{By: 40*time.Second + 1, Corrected: true}: `level=WARN msg="the machine's clock is wrong; limits go by DynamoDB's" step=40s`,
	} {
		var log bytes.Buffer
		notice := oplog.LogClockSteps(slog.New(slog.NewTextHandler(&log, nil)))
		for range 100 {
			notice(step)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, want+"\n") {
			t.Errorf("logged\n%s, want\n%s", got, want)
		}
	}
}
