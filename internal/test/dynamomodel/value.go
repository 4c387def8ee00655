package dynamomodel

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
