package oplog

import (
	"log/slog"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
)

// LogClockSteps returns a function that logs steps of a clock, once in ten seconds
// at most.
func LogClockSteps(log *slog.Logger) func(clock.Step) {
	throttled := Throttle(log)
	return func(s clock.Step) {
		message := "the machine's clock was set; limits go on as if it had not been"
		if s.Corrected {
			message = "the machine's clock is wrong; limits go by DynamoDB's"
		}
		throttled.Warn(message, "step", s.By.Round(time.Millisecond).String())
	}
}
