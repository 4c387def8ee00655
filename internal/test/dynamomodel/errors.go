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
