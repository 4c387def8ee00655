package clock

import (
	"log/slog"
	"time"

	"github.com/slidegate/slidegate/internal/logthrottle"
)

// LogSteps returns a function that logs steps of a clock, once in ten seconds
// at most.
func LogSteps(log *slog.Logger) func(Step) {
	throttled := slog.New(logthrottle.New(log.Handler()))
	return func(s Step) {
		text := "the machine's clock was set; limits go on as if it had not been"
		if s.Corrected {
			text = "the machine's clock is wrong; limits go by DynamoDB's"
		}
		throttled.Warn(text, "step", s.By.Round(time.Millisecond).String())
	}
}
