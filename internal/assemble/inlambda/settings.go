package inlambda

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
)

// Settings are what the environment of a function says.
type Settings struct {
	Counters, Rules string        // SLIDEGATE_COUNTERS and SLIDEGATE_RULES name the tables
	Deadline        time.Duration // SLIDEGATE_DEADLINE: such as 250ms
	Keys            receipt.Keys  // SLIDEGATE_RECEIPT_SECRET: signs receipts; nil for none
	Limiter         string        // SLIDEGATE_LIMITER, or AWS_LAMBDA_FUNCTION_NAME: the name in metrics; empty for no metrics
}

// ReadSettings reads the environment.
func ReadSettings() (s Settings, err error) {
	s.Counters, s.Rules = os.Getenv("SLIDEGATE_COUNTERS"), os.Getenv("SLIDEGATE_RULES")
	if s.Deadline, err = deadline(os.Getenv("SLIDEGATE_DEADLINE")); err != nil {
		return s, err
	}
	if secret := os.Getenv("SLIDEGATE_RECEIPT_SECRET"); secret != "" {
		if s.Keys, err = receipt.ParseKeys(secret); err != nil {
			return s, fmt.Errorf("SLIDEGATE_RECEIPT_SECRET: %w", err)
		}
	}
	switch metrics := os.Getenv("SLIDEGATE_METRICS"); metrics {
	case "", "on":
		s.Limiter = cmp.Or(os.Getenv("SLIDEGATE_LIMITER"), os.Getenv("AWS_LAMBDA_FUNCTION_NAME"))
	case "off":
	default:
		return s, fmt.Errorf("SLIDEGATE_METRICS is %q: write on or off, or leave it out for on", metrics)
	}
	return s, nil
}

// RequireKeys returns an error if no secret signs receipts.
func (s Settings) RequireKeys() error {
	if len(s.Keys) == 0 {
		return errors.New("SLIDEGATE_RECEIPT_SECRET is missing: give the functions that decide and those that settle the same secret, " +
			"such as `openssl rand -hex 32` prints, which signs receipts")
	}
	return nil
}

func deadline(value string) (time.Duration, error) {
	if value == "" {
		return engine.DefaultDeadline, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("SLIDEGATE_DEADLINE is %q: want a duration such as 250ms", value)
	}
	return d, nil
}
