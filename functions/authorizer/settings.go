package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
)

// settings are what the environment says.
type settings struct {
	counters, rules string        // SLIDEGATE_COUNTERS and SLIDEGATE_RULES name the tables
	deadline        time.Duration // SLIDEGATE_DEADLINE: such as 250ms
	simple          bool          // SLIDEGATE_SIMPLE_RESPONSES: false for an HTTP API that takes IAM policies
	passDenials     bool          // SLIDEGATE_PASS_DENIALS: true if the backends of HTTP APIs answer denied requests
	keys            receipt.Keys  // SLIDEGATE_RECEIPT_SECRET: signs receipts for backends that get them as a header
	limiter         string        // SLIDEGATE_LIMITER, or AWS_LAMBDA_FUNCTION_NAME: the name in metrics; empty for no metrics
}

func readSettings() (s settings, err error) {
	s.counters, s.rules = os.Getenv("SLIDEGATE_COUNTERS"), os.Getenv("SLIDEGATE_RULES")
	if s.counters == "" || s.rules == "" {
		return s, errors.New("SLIDEGATE_COUNTERS and SLIDEGATE_RULES must name the tables")
	}
	if s.deadline, err = deadline(os.Getenv("SLIDEGATE_DEADLINE")); err != nil {
		return s, err
	}
	if s.simple, err = yes("SLIDEGATE_SIMPLE_RESPONSES", true); err != nil {
		return s, err
	}
	if s.passDenials, err = yes("SLIDEGATE_PASS_DENIALS", false); err != nil {
		return s, err
	}
	if secret := os.Getenv("SLIDEGATE_RECEIPT_SECRET"); secret != "" {
		if s.keys, err = receipt.ParseKeys(secret); err != nil {
			return s, fmt.Errorf("SLIDEGATE_RECEIPT_SECRET: %w", err)
		}
	}
	switch metrics := os.Getenv("SLIDEGATE_METRICS"); metrics {
	case "", "on":
		s.limiter = cmp.Or(os.Getenv("SLIDEGATE_LIMITER"), os.Getenv("AWS_LAMBDA_FUNCTION_NAME"))
	case "off":
	default:
		return s, fmt.Errorf("SLIDEGATE_METRICS is %q: write on or off, or leave it out for on", metrics)
	}
	return s, nil
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

// yes reads an environment variable that is true or false.
func yes(name string, byDefault bool) (bool, error) {
	switch value := os.Getenv(name); value {
	case "":
		return byDefault, nil
	case "true", "false":
		return value == "true", nil
	default:
		return false, fmt.Errorf("%s is %q: want true or false", name, value)
	}
}
