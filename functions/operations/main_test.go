package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// pointer is the item that names the version in force.
func pointer(version string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberS{Value: "set"}, "s": &types.AttributeValueMemberS{Value: "current"},
		"version": &types.AttributeValueMemberN{Value: version},
	}
}

func TestUnknownHandler(t *testing.T) {
	_, err := build(t.Context(), "bootstrap", slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), `the function's handler is "bootstrap": set it to one of publish`) {
		t.Errorf("error %v", err)
	}
}
