package main

import (
	"fmt"
	"os"

	"github.com/slidegate/slidegate/internal/assemble/inlambda"
)

// settings are what the environment says.
type settings struct {
	inlambda.Settings
	simple      bool // SLIDEGATE_SIMPLE_RESPONSES: false for an HTTP API that takes IAM policies
	passDenials bool // SLIDEGATE_PASS_DENIALS: true if the backends of HTTP APIs answer denied requests
}

func readSettings() (s settings, err error) {
	if s.Settings, err = inlambda.ReadSettings(); err != nil {
		return s, err
	}
	if s.simple, err = yes("SLIDEGATE_SIMPLE_RESPONSES", true); err != nil {
		return s, err
	}
	s.passDenials, err = yes("SLIDEGATE_PASS_DENIALS", false)
	return s, err
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
