package dynamo

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestReasons cancels a transaction for one reason among others.
func TestReasons(t *testing.T) {
	for code, want := range map[string]error{"ThrottlingError": ErrThrottled, "ValidationError": ErrForeign, "AccessDeniedException": ErrNotPermitted} {
		failed := &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
			{Code: aws.String("None")}, {}, {Code: aws.String(code)},
		}}
		if got := Translate(failed, "counters"); !errors.Is(got, want) || !errors.As(got, &failed) {
			t.Errorf("%s: %v", code, got)
		}
	}
	hot := []types.ThrottlingReason{{}, {Reason: aws.String("TableWriteKeyRangeThroughputExceeded")}}
	busy := []types.ThrottlingReason{{Reason: aws.String("TableWriteMaxOnDemandThroughputExceeded")}}
	for name, test := range map[string]struct{ err, want error }{
		"a hot key":              {&types.ThrottlingException{ThrottlingReasons: hot}, ErrHotKey},
		"a hot key, provisioned": {&types.ProvisionedThroughputExceededException{ThrottlingReasons: hot}, ErrHotKey},
		"a table at its maximum": {&types.ThrottlingException{ThrottlingReasons: busy}, ErrThrottled},
		"no reason":              {&types.ProvisionedThroughputExceededException{}, ErrThrottled},
	} {
		if got := Translate(test.err, "counters"); !errors.Is(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	plain := errors.New("something else")
	if got := Translate(plain, "counters"); !errors.Is(got, plain) || got.Error() != "table counters: something else" {
		t.Errorf("got %v", got)
	}
}
