package dynamomodel

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// intake copies a value that a caller hands in and puts its numbers into
// canonical form. It fails for what DynamoDB refuses.
func intake(v types.AttributeValue) (types.AttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		n, err := canonical(v.Value)
		return &types.AttributeValueMemberN{Value: n}, err
	case *types.AttributeValueMemberL:
		elements := make([]types.AttributeValue, len(v.Value))
		for i, element := range v.Value {
			var err error
			if elements[i], err = intake(element); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberL{Value: elements}, nil
	case *types.AttributeValueMemberM:
		fields := make(attributes, len(v.Value))
		for name, field := range v.Value {
			var err error
			if fields[name], err = intake(field); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberM{Value: fields}, nil
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}, checkSet("string", v.Value, cmp.Compare)
	case *types.AttributeValueMemberBS:
		return copyValue(v), checkSet("binary", v.Value, bytes.Compare)
	case *types.AttributeValueMemberNS:
		return intakeNumbers(v)
	case nil:
		return nil, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	}
	return copyValue(v), nil
}

// checked returns a value of a request as intake does, but shares a short
// number with the request.
func checked(v types.AttributeValue) (types.AttributeValue, error) {
	if n, ok := v.(*types.AttributeValueMemberN); ok && plain(n.Value) {
		return v, nil
	}
	return intake(v)
}

func intakeNumbers(v *types.AttributeValueMemberNS) (types.AttributeValue, error) {
	numbers := make([]string, len(v.Value))
	for i, s := range v.Value {
		var err error
		if numbers[i], err = canonical(s); err != nil {
			return nil, err
		}
	}
	return &types.AttributeValueMemberNS{Value: numbers}, checkSet("number", numbers, cmp.Compare)
}

func checkSet[E any](kind string, set []E, compare func(E, E) int) error {
	if len(set) == 0 {
		return invalid("One or more parameter values were invalid: An %s set  may not be empty", kind)
	}
	sorted := slices.SortedFunc(slices.Values(set), compare)
	same := func(a, b E) bool { return compare(a, b) == 0 }
	if len(slices.CompactFunc(sorted, same)) < len(set) {
		return invalid("One or more parameter values were invalid: Input collection contains duplicates")
	}
	return nil
}

// copyItem copies an item for a caller, nil for none.
func copyItem(from attributes) attributes {
	if from == nil {
		return nil
	}
	copied := make(attributes, len(from))
	numbers := make([]types.AttributeValueMemberN, 0, len(from)) // most of a counter, in one piece of memory
	for name, v := range from {
		if n, ok := v.(*types.AttributeValueMemberN); ok {
			copied[name] = keep(&numbers, types.AttributeValueMemberN{Value: n.Value})
			continue
		}
		copied[name] = copyValue(v)
	}
	return copied
}

func copyValue(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberNULL:
		return &types.AttributeValueMemberNULL{Value: v.Value}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: collect(v.Value, slices.Clone[[]byte])}
	case *types.AttributeValueMemberL:
		return &types.AttributeValueMemberL{Value: collect(v.Value, copyValue)}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: copyItem(v.Value)}
	}
	return v
}

func collect[E any](from []E, f func(E) E) []E {
	made := make([]E, len(from))
	for i, e := range from {
		made[i] = f(e)
	}
	return made
}

// equal reports whether two stored values are of one type and the same; nil, a
// missing attribute, equals nothing. Sets have no order.
func equal(a, b types.AttributeValue) bool {
	if order, ok := compare(a, b); ok {
		return order == 0
	}
	switch a := a.(type) {
	case *types.AttributeValueMemberBOOL:
		b, ok := b.(*types.AttributeValueMemberBOOL)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberNULL:
		_, ok := b.(*types.AttributeValueMemberNULL)
		return ok
	case *types.AttributeValueMemberSS:
		b, ok := b.(*types.AttributeValueMemberSS)
		return ok && equalSets(a.Value, b.Value, cmp.Compare)
	case *types.AttributeValueMemberNS:
		b, ok := b.(*types.AttributeValueMemberNS)
		return ok && equalSets(a.Value, b.Value, cmp.Compare)
	case *types.AttributeValueMemberBS:
		b, ok := b.(*types.AttributeValueMemberBS)
		return ok && equalSets(a.Value, b.Value, bytes.Compare)
	case *types.AttributeValueMemberL:
		b, ok := b.(*types.AttributeValueMemberL)
		return ok && slices.EqualFunc(a.Value, b.Value, equal)
	case *types.AttributeValueMemberM:
		b, ok := b.(*types.AttributeValueMemberM)
		return ok && maps.EqualFunc(a.Value, b.Value, equal)
	}
	return false
}

func equalSets[E any](a, b []E, compare func(E, E) int) bool {
	sort := func(set []E) []E { return slices.SortedFunc(slices.Values(set), compare) }
	return slices.EqualFunc(sort(a), sort(b), func(x, y E) bool { return compare(x, y) == 0 })
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

// size returns the bytes of a value as "DynamoDB item sizes and formats"
// computes them.
func size(v types.AttributeValue) (n int) {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		return sum(v.Value, func(s string) int { return len(s) })
	case *types.AttributeValueMemberNS:
		return sum(v.Value, numberSize)
	case *types.AttributeValueMemberBS:
		return sum(v.Value, func(b []byte) int { return len(b) })
	case *types.AttributeValueMemberL:
		return 3 + sum(v.Value, func(e types.AttributeValue) int { return 1 + size(e) })
	case *types.AttributeValueMemberM:
		n = 3
		for name, field := range v.Value {
			n += 1 + len(name) + size(field)
		}
		return n
	}
	return 1 // a boolean, or null
}

// numberSize is a byte, one for every two significant digits, and one for a
// minus sign.
func numberSize(s string) int {
	unsigned := strings.TrimPrefix(s, "-")
	significant := strings.Trim(unsigned, "0.")
	digits := len(significant) - strings.Count(significant, ".")
	return 1 + (digits+1)/2 + len(s) - len(unsigned)
}

func sum[E any](from []E, f func(E) int) (n int) {
	for _, e := range from {
		n += f(e)
	}
	return n
}

// typeName is a value's type as messages have it.
func typeName(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberBS:
		return "BS"
	case *types.AttributeValueMemberL:
		return "L"
	}
	return "M"
}
