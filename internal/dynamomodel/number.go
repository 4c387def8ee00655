package dynamomodel

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// DynamoDB's numbers, from "Supported data types and naming rules": up to 38
// significant decimal digits, magnitudes from 1E-130 to 9.99…E+125, and zero.
// It keeps and returns them in plain notation, without needless zeros.
const (
	maxDigits   = 38
	maxExponent = 125 // of the first digit
	minExponent = -130
)

var (
	errOverflow  = invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	errUnderflow = invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	errPrecision = invalid("Attempting to store more than %d significant digits in a Number", maxDigits)
)

func notNumeric(s string) error {
	return invalid("The parameter cannot be converted to a numeric value: %s", s)
}

// canonical returns a number as DynamoDB returns it.
func canonical(s string) (string, error) {
	if plain(s) {
		return s, nil
	}
	n, err := parseDecimal(s)
	if err != nil {
		return "", err
	}
	return n.String(), nil
}

// plain reports whether s is an integer in canonical form, short enough to need
// no other look.
func plain(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 18 || digits[0] == '0' && s != "0" {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

// small returns a canonical number as an integer if it is one of at most 18
// digits, so that two of them add up without overflow.
func small(s string) (n int64, ok bool) {
	if len(s) > 19 || !plain(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// compareNumbers orders two canonical numbers.
func compareNumbers(a, b string) int {
	if m, ok := small(a); ok {
		if n, ok := small(b); ok {
			return cmp.Compare(m, n)
		}
	}
	return mustDecimal(a).cmp(mustDecimal(b))
}

// add returns a + b, or a - b, of two canonical numbers.
func add(a, b string, minus bool) (string, error) {
	if m, ok := small(a); ok {
		if n, ok := small(b); ok {
			if minus {
				n = -n
			}
			return strconv.FormatInt(m+n, 10), nil
		}
	}
	sum := mustDecimal(a).add(mustDecimal(b), minus)
	// DynamoDB calls a result that is too precise an overflow as well.
	if err := sum.check(); err != nil {
		return "", errOverflow
	}
	return sum.String(), nil
}

// decimal is coefficient × 10^exponent. The coefficient of a normal one does
// not end in 0, and zero is 0 × 10^0.
type decimal struct {
	coefficient big.Int
	exponent    int
}

// parseDecimal reads what a number may be written like: 12, -0.5, .5, 1e+3.
func parseDecimal(s string) (*decimal, error) {
	mantissa, power, scientific := strings.Cut(strings.ReplaceAll(s, "E", "e"), "e")
	exponent := 0
	if scientific {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return nil, notNumeric(s)
		}
	}
	unsigned := strings.TrimPrefix(strings.TrimPrefix(mantissa, "-"), "+")
	whole, fraction, _ := strings.Cut(unsigned, ".")
	digits := whole + fraction
	if digits == "" || len(mantissa)-len(unsigned) > 1 || strings.Trim(digits, "0123456789") != "" {
		return nil, notNumeric(s)
	}
	significant := strings.Trim(digits, "0")
	n := &decimal{}
	if significant == "" {
		return n, nil
	}
	ended := len(digits) - len(strings.TrimRight(digits, "0"))
	n.exponent = exponent - len(fraction) + ended
	first := n.exponent + len(significant) - 1
	if err := checkRange(first, len(significant)); err != nil {
		return nil, err
	}
	n.coefficient.SetString(significant, 10)
	if mantissa[0] == '-' {
		n.coefficient.Neg(&n.coefficient)
	}
	return n, nil
}

// mustDecimal reads a canonical number.
func mustDecimal(s string) *decimal {
	n, err := parseDecimal(s)
	if err != nil { // cannot be: every stored number was taken in by canonical
		return &decimal{}
	}
	return n
}

func checkRange(first, digits int) error {
	switch {
	case first > maxExponent:
		return errOverflow
	case first < minExponent:
		return errUnderflow
	case digits > maxDigits:
		return errPrecision
	}
	return nil
}

// check reports whether a normal number can be stored.
func (n *decimal) check() error {
	if n.coefficient.Sign() == 0 {
		return nil
	}
	digits := len(n.digits())
	return checkRange(n.exponent+digits-1, digits)
}

// digits returns the coefficient's, without the sign.
func (n *decimal) digits() string { return strings.TrimPrefix(n.coefficient.String(), "-") }

// scaled returns the coefficient for a lower exponent.
func (n *decimal) scaled(exponent int) *big.Int {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n.exponent-exponent)), nil)
	return power.Mul(power, &n.coefficient)
}

func (n *decimal) cmp(m *decimal) int {
	low := min(n.exponent, m.exponent)
	return n.scaled(low).Cmp(m.scaled(low))
}

func (n *decimal) add(m *decimal, minus bool) *decimal {
	sum := &decimal{exponent: min(n.exponent, m.exponent)}
	left, right := n.scaled(sum.exponent), m.scaled(sum.exponent)
	if minus {
		right.Neg(right)
	}
	sum.coefficient.Add(left, right)
	return sum.normalize()
}

func (n *decimal) normalize() *decimal {
	digits := n.coefficient.String()
	significant := strings.TrimRight(digits, "0")
	if digits == "0" {
		return &decimal{}
	}
	n.exponent += len(digits) - len(significant)
	n.coefficient.SetString(significant, 10)
	return n
}

// String returns the plain notation.
func (n *decimal) String() string {
	digits, sign := n.digits(), ""
	if n.coefficient.Sign() < 0 {
		sign = "-"
	}
	point := len(digits) + n.exponent
	switch {
	case n.exponent >= 0:
		return sign + digits + strings.Repeat("0", n.exponent)
	case point > 0:
		return sign + digits[:point] + "." + digits[point:]
	}
	return sign + "0." + strings.Repeat("0", -point) + digits
}
