package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// The errors of DynamoDB. Each is wrapped together with the SDK's own error.
var (
	ErrNoTable            = errors.New("table does not exist; `slidegate tables create` makes it")
	ErrThrottled          = errors.New("DynamoDB throttles the table")
	ErrNotPermitted       = errors.New("AWS does not permit the call; check the role's policy and the credentials")
	ErrNoCredentials      = errors.New("no AWS credentials; set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	ErrCredentialsTimeout = errors.New("AWS credentials did not come in time; sign in first (aws sso login), or check credential_process")
	ErrNoRegion           = errors.New("no AWS region; set AWS_REGION")
	ErrUnreachable        = errors.New("DynamoDB cannot be reached; check the network and AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL")
	ErrTimeout            = errors.New("DynamoDB did not answer in time")
)

// codes maps the error codes of DynamoDB and of AWS in general, as "Error
// handling with DynamoDB" lists them.
var codes = map[string]error{
	"ResourceNotFoundException":              ErrNoTable,
	"ProvisionedThroughputExceededException": ErrThrottled,
	"RequestLimitExceeded":                   ErrThrottled,
	"ThrottlingException":                    ErrThrottled,
	"ThrottlingError":                        ErrThrottled, // as a reason of a cancelled transaction, like the next
	"ProvisionedThroughputExceeded":          ErrThrottled,
	"ValidationError":                        ErrForeign, // the item holds what cannot be added to
	"AccessDeniedException":                  ErrNotPermitted,
	"UnrecognizedClientException":            ErrNotPermitted,
	"IncompleteSignatureException":           ErrNotPermitted,
	"InvalidSignatureException":              ErrNotPermitted,
	"MissingAuthenticationTokenException":    ErrNotPermitted,
	"ExpiredTokenException":                  ErrNotPermitted,
}

// Translate returns this package's error for an error of the SDK, with the
// table's name. Errors of the SDK are translated nowhere else. It returns nil
// for nil.
func Translate(err error, table string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("table %s: %w", table, classify(err))
}

func classify(err error) error {
	var api smithy.APIError
	var send *smithyhttp.RequestSendError
	var network net.Error
	for _, reason := range canceled(err) {
		if known := codes[aws.ToString(reason.Code)]; known != nil {
			return fmt.Errorf("%w (%w)", known, err)
		}
	}
	switch {
	case errors.As(err, &api) && codes[api.ErrorCode()] != nil:
		return fmt.Errorf("%w (%w)", codes[api.ErrorCode()], err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("%w (%w)", ErrTimeout, err)
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &send):
		return fmt.Errorf("%w (%w)", ErrUnreachable, err)
	}
	return err
}

// isConditionFailed reports whether the condition of a write failed, and
// returns the item as it was; nil if there was none.
func isConditionFailed(err error) (old map[string]types.AttributeValue, refused bool) {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item, true
	}
	return nil, false
}

// isTransactionConflict reports whether a write was refused, and nothing done,
// because a transaction holds the item.
func isTransactionConflict(err error) bool {
	var conflict *types.TransactionConflictException
	return errors.As(err, &conflict)
}

// canceled returns why a transaction was cancelled, one reason for each of its
// writes; nil for other errors.
func canceled(err error) []types.CancellationReason {
	var failed *types.TransactionCanceledException
	if errors.As(err, &failed) {
		return failed.CancellationReasons
	}
	return nil
}
