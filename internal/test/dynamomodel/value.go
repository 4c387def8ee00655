package dynamomodel

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// intake copies a value of a caller, with canonical numbers. It fails for a
// value that DynamoDB refuses.
func intake(v types.AttributeValue) (types.AttributeValue, error) {
	taken := copyValue(v)
	return taken, normalize(taken)
}

// normalize makes the numbers of a value canonical, in place.
func normalize(v types.AttributeValue) (err error) {
	switch v := v.(type) {
	case nil:
		return invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case *types.AttributeValueMemberN:
		v.Value, err = canonical(v.Value)
	case *types.AttributeValueMemberL:
		for i := 0; i < len(v.Value) && err == nil; i++ {
			err = normalize(v.Value[i])
		}
	case *types.AttributeValueMemberM:
		for _, field := range v.Value {
			if err = normalize(field); err != nil {
				break
			}
		}
	case *types.AttributeValueMemberSS:
		return checkSet("string", v)
	case *types.AttributeValueMemberBS:
		return checkSet("binary", v)
	case *types.AttributeValueMemberNS:
		for i := range v.Value {
			if v.Value[i], err = canonical(v.Value[i]); err != nil {
				return err
			}
		}
		return checkSet("number", v)
	}
	return err
}

func checkSet(kind string, set types.AttributeValue) error {
	all := elements(set)
	n := len(all)
	switch {
	case n == 0:
		return invalid("One or more parameter values were invalid: An %s set  may not be empty", kind)
	case len(slices.Compact(all)) < n:
		return invalid("One or more parameter values were invalid: Input collection contains duplicates")
	}
	return nil
}

// elements returns the elements of a set in ascending order, as strings; nil
// for other values.
func elements(v types.AttributeValue) (all []string) {
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		all = slices.Clone(v.Value)
	case *types.AttributeValueMemberNS:
		all = slices.Clone(v.Value)
	case *types.AttributeValueMemberBS:
		for _, element := range v.Value {
			all = append(all, string(element))
		}
	}
	slices.Sort(all)
	return all
}

// copyItem copies an item for a caller, nil for none.
func copyItem(from attributes) attributes {
	if from == nil {
		return nil
	}
	copied := make(attributes, len(from))
	for name, v := range from {
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

// equal reports whether two stored values have the same type and value. A
// missing attribute, nil, equals nothing. Sets have no order.
func equal(a, b types.AttributeValue) bool {
	if a == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	switch a := a.(type) {
	case *types.AttributeValueMemberN:
		return a.Value == b.(*types.AttributeValueMemberN).Value
	case *types.AttributeValueMemberL:
		return slices.EqualFunc(a.Value, b.(*types.AttributeValueMemberL).Value, equal)
	case *types.AttributeValueMemberM:
		return maps.EqualFunc(a.Value, b.(*types.AttributeValueMemberM).Value, equal)
	}
	if set := elements(a); set != nil {
		return slices.Equal(set, elements(b))
	}
	return reflect.DeepEqual(a, b)
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

func size(v types.AttributeValue) (n int) {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberBS:
		return sum(elements(v), func(s string) int { return len(s) })
	case *types.AttributeValueMemberNS:
		return sum(v.Value, numberSize)
	case *types.AttributeValueMemberL:
		return 3 + len(v.Value) + sum(v.Value, size)
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + Size(v.Value)
	}
	return 1 // a boolean, or null
}

// numberSize returns one byte, one for every two significant digits, and one
// for a minus sign.
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

// typeName returns a value's type as DynamoDB's messages name it, such as N.
func typeName(v types.AttributeValue) string {
	return strings.TrimPrefix(reflect.TypeOf(v).Elem().Name(), "AttributeValueMember")
}
