package report

import (
	"fmt"
	"math"

	"github.com/slidegate/slidegate/internal/text"
)

// number writes a figure with two or three significant digits.
func number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case math.Abs(v) >= 99.5:
		return thousands(v)
	case math.Abs(v) >= 9.95:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 2:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func thousandths(v float64) string { return fmt.Sprintf("%.3f", v) }

func times(v float64) string { return number(v) + " ×" }

// duration writes nanoseconds as ns, µs or ms.
func duration(ns float64) string {
	switch {
	case ns >= 1e6:
		return number(ns/1e6) + " ms"
	case ns >= 1e3:
		return number(ns/1e3) + " µs"
	}
	return fmt.Sprintf("%.0f ns", ns)
}

func thousands(v float64) string { return text.Thousands(int64(math.Round(v))) }
