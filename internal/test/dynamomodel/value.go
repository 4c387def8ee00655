package dynamomodel

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// intake returns a value of a caller, with a canonical number. It fails for a
// value that DynamoDB refuses, and for a type that no counter has.
func intake(v types.AttributeValue) (types.AttributeValue, error) {
	switch v := v.(type) {
	case nil:
		return nil, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case *types.AttributeValueMemberN:
		n, err := canonical(v.Value)
		return &types.AttributeValueMemberN{Value: n}, err
	case *types.AttributeValueMemberS, *types.AttributeValueMemberB:
		return v, nil
	}
	return nil, unmodelled("the type " + typeName(v))
}

// compare orders two stored values; ok is false unless both are numbers, both
// strings or both binary.
func compare(a, b types.AttributeValue) (order int, ok bool) {
	switch a := a.(type) {
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return compareNumbers(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberB:
		if b, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(a.Value, b.Value), true
		}
	}
	return 0, false
}

// Size returns the bytes of an item as "DynamoDB item sizes and formats"
// computes them.
func Size(item map[string]types.AttributeValue) (n int) {
	for name, value := range item {
		n += len(name) + size(value)
	}
	return n
}

func size(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	}
	return 0
}

// numberSize returns one byte, one for every two significant digits, and one
// for a minus sign.
func numberSize(s string) int {
	unsigned := strings.TrimPrefix(s, "-")
	significant := strings.Trim(unsigned, "0.")
	digits := len(significant) - strings.Count(significant, ".")
	return 1 + (digits+1)/2 + len(s) - len(unsigned)
}

// typeName returns a value's type as DynamoDB's messages name it, such as N.
func typeName(v types.AttributeValue) string {
	return strings.TrimPrefix(reflect.TypeOf(v).Elem().Name(), "AttributeValueMember")
}

// DynamoDB's numbers, from "Supported data types and naming rules": up to 38
// significant decimal digits, magnitudes from 1E-130 to 9.99…E+125, and zero.
// The canonical form of a number is the plain notation that DynamoDB returns,
// without needless zeros. Stored numbers are canonical.
const (
	maxDigits   = 38
	maxExponent = 125 // of the first digit
	minExponent = -130
	maxDecimals = maxDigits - 1 - minExponent // after the point
)

var (
	errOverflow  = invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	errUnderflow = invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	errPrecision = invalid("Attempting to store more than %d significant digits in a Number", maxDigits)
)

// decimal matches numbers like 12, -0.5, .5 and 1e+3: sign, digits before and
// after the point, exponent.
var decimal = regexp.MustCompile(`^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$`)

// canonical returns a number in canonical form.
func canonical(s string) (string, error) {
	if _, ok := integer(s); ok {
		return s, nil
	}
	parts := decimal.FindStringSubmatch(s)
	if parts == nil || parts[2]+parts[3] == "" {
		return "", notNumeric(s)
	}
	sign, digits := strings.TrimPrefix(parts[1], "+"), strings.TrimLeft(parts[2]+parts[3], "0")
	exponent, err := strconv.Atoi(cmp.Or(parts[4], "0"))
	if err != nil {
		return "", notNumeric(s)
	}
	point := len(digits) - len(parts[3]) + exponent // the number is 0.digits × 10^point
	digits = strings.TrimRight(digits, "0")
	switch {
	case digits == "":
		return "0", nil
	case point-1 > maxExponent:
		return "", errOverflow
	case point-1 < minExponent:
		return "", errUnderflow
	case len(digits) > maxDigits:
		return "", errPrecision
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits, nil
	case point < len(digits):
		return sign + digits[:point] + "." + digits[point:], nil
	}
	return sign + digits + strings.Repeat("0", point-len(digits)), nil
}

func notNumeric(s string) error {
	return invalid("The parameter cannot be converted to a numeric value: %s", s)
}

// integer returns the value of an integer in canonical form. ok is false for
// one of more than 18 digits, because the sum of two could overflow.
func integer(s string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= -1e18 || n >= 1e18 {
		return 0, false
	}
	var text [20]byte
	return n, string(strconv.AppendInt(text[:0], n, 10)) == s
}

// rational returns a canonical number.
func rational(s string) *big.Rat {
	n, _ := new(big.Rat).SetString(s)
	return n
}

// compareNumbers orders two canonical numbers.
func compareNumbers(a, b string) int {
	m, ok := integer(a)
	if n, too := integer(b); ok && too {
		return cmp.Compare(m, n)
	}
	return rational(a).Cmp(rational(b))
}

// add returns a + b, or a - b, of two canonical numbers.
func add(a, b string, minus bool) (string, error) {
	m, ok := integer(a)
	if n, too := integer(b); ok && too {
		if minus {
			n = -n
		}
		return strconv.FormatInt(m+n, 10), nil
	}
	x, y := rational(a), rational(b)
	if minus {
		y.Neg(y)
	}
	sum, err := canonical(x.Add(x, y).FloatString(maxDecimals))
	if err != nil { // DynamoDB calls a result that is too precise an overflow as well
		return "", errOverflow
	}
	return sum, nil
}

// Limits of DynamoDB, from "Service, account, and table quotas".
const (
	maxKey        = 2048       // bytes
	maxItem       = 400 * 1024 // bytes
	maxExpression = 4096       // bytes
	maxOperators  = 300        // operators and functions in an expression
	maxTransacted = 100        // items
)

// invalid returns a ValidationException, which has no type in the SDK.
func invalid(format string, a ...any) error {
	return &smithy.GenericAPIError{
		Code: "ValidationException", Message: fmt.Sprintf(format, a...), Fault: smithy.FaultClient,
	}
}

// unmodelled refuses a part of the API that DynamoDB has and the model lacks.
func unmodelled(what string) error {
	return invalid("dynamomodel: %s is not modelled", what)
}
