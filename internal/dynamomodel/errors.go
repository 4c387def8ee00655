package dynamomodel

import (
	"fmt"

	"github.com/aws/smithy-go"
)

// Limits of DynamoDB, from "Service, account, and table quotas".
const (
	maxKey        = 2048       // bytes
	maxItem       = 400 * 1024 // bytes
	maxExpression = 4096       // bytes
	maxOperators  = 300        // operators and functions in an expression
	maxTransacted = 100        // items
)

// invalid returns a ValidationException. It has no type of its own in the SDK.
func invalid(format string, a ...any) error {
	return &smithy.GenericAPIError{
		Code: "ValidationException", Message: fmt.Sprintf(format, a...), Fault: smithy.FaultClient,
	}
}

// unmodelled returns the refusal of what DynamoDB would take but this model
// does not know.
func unmodelled(what string) error {
	return invalid("dynamomodel: %s is not modelled", what)
}
