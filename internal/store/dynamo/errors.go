package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/limit"
)

// The errors of DynamoDB. Each says what to do, and is wrapped together with the
// SDK's own error and the name of the table.
var (
	ErrNoTable                  = errors.New("table does not exist")
	ErrOtherKeys                = errors.New("its keys are not those of this kind of table; are the tables of rules and of counters mixed up?")
	ErrThrottled          error = limit.Throttled("DynamoDB throttles the table; raise its capacity or maximum, or the account's quota")
	ErrHotKey             error = limit.Throttled("DynamoDB throttles the part of the table that has this key; one key takes 1,000 writes a second")
	ErrNotPermitted             = errors.New("AWS does not permit the call; check the role's policy and the credentials")
	ErrExpired                  = errors.New("the AWS credentials have expired; sign in again (aws sso login), or renew AWS_SESSION_TOKEN and its key")
	ErrClock                    = errors.New("AWS refuses the call because this machine's clock is wrong")
	ErrNoCredentials            = errors.New("no AWS credentials; set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	ErrCredentialsTimeout       = errors.New("AWS credentials did not come in time; sign in first (aws sso login), or check credential_process")
	ErrNoRegion                 = errors.New("no AWS region; set AWS_REGION")
	ErrUnreachable              = errors.New("DynamoDB cannot be reached; check the network and AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL")
	ErrTimeout                  = errors.New("DynamoDB did not answer in time")
	errNoItem                   = errors.New("the answer to a write has no item; are AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL those of DynamoDB?")
)

// codes maps the error codes of DynamoDB and of AWS in general, as "Error
// handling with DynamoDB" lists them.
var codes = map[string]error{
	"ResourceNotFoundException":              ErrNoTable,
	"ProvisionedThroughputExceededException": ErrThrottled,
	"RequestLimitExceeded":                   ErrThrottled,
	"ThrottlingException":                    ErrThrottled,
	"ThrottlingError":                        ErrThrottled, // as a reason of a canceled transaction, like the next
	"ProvisionedThroughputExceeded":          ErrThrottled,
	"ValidationError":                        ErrForeign, // the item has a value that cannot be added to
	"AccessDeniedException":                  ErrNotPermitted,
	"UnrecognizedClientException":            ErrNotPermitted,
	"IncompleteSignatureException":           ErrNotPermitted,
	"InvalidSignatureException":              ErrNotPermitted,
	"MissingAuthenticationTokenException":    ErrNotPermitted,
	"ExpiredTokenException":                  ErrExpired,
	"RequestTimeTooSkewed":                   ErrNotPermitted,
	"RequestExpired":                         ErrNotPermitted,
}

// Translate returns this package's error for an error of the SDK, with the
// table's name. Errors of the SDK are translated nowhere else. It returns nil
// for nil.
func Translate(err error, table string) error {
	if err == nil {
		return nil
	}
	known, advice := classify(err), ""
	switch {
	case known == nil:
		return fmt.Errorf("table %s: %w", table, err)
	case errors.Is(known, ErrNoTable):
		advice = whereOf(err) + "; check AWS_REGION, AWS_PROFILE and AWS_ENDPOINT_URL first: only if the table belongs there, make it by " +
			"`slidegate tables create`, or for counters by Store.CreateTable of package dynamostore"
	case errors.Is(known, ErrNotPermitted):
		if skew := skewOf(err); skew.Abs() >= leastSkew {
			known, advice = ErrClock, fmt.Sprintf(": it is %.0f minutes ahead; set it", skew.Minutes())
			if skew < 0 {
				advice = fmt.Sprintf(": it is %.0f minutes behind; set it", -skew.Minutes())
			}
		}
	}
	return fmt.Errorf("table %s: %w%s (%w)", table, known, advice, err)
}

// leastSkew is the least error of a clock for which AWS may refuse a signature.
const leastSkew = 4 * time.Minute

// exchange returns the response behind an error, and its request; nil for none.
func exchange(err error) (*http.Request, *http.Response) {
	failed, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || failed.Response == nil || failed.Response.Response == nil || failed.Response.Request == nil {
		return nil, nil
	}
	return failed.Response.Request, failed.Response.Response
}

// whereOf says which region and endpoint have answered; "" if that is unknown.
func whereOf(err error) string {
	request, _ := exchange(err)
	if request == nil {
		return ""
	}
	where := " at " + request.URL.Host
	if scope := strings.Split(request.Header.Get("Authorization"), "/"); len(scope) == 5 { // key, day, region, service, the rest
		where = " in region " + scope[2] + where
	}
	return where
}

// skewOf returns how far the clock that signed a refused call is ahead of AWS's; 0
// if that is unknown.
func skewOf(err error) time.Duration {
	request, response := exchange(err)
	if request == nil {
		return 0
	}
	date, wrong := http.ParseTime(response.Header.Get("Date"))
	signed, alsoWrong := time.Parse("20060102T150405Z", request.Header.Get("X-Amz-Date"))
	if wrong != nil || alsoWrong != nil {
		return 0
	}
	return signed.Sub(date)
}

// classify returns this package's error for an error of the SDK, nil for none.
// The reasons of a canceled transaction come first, because its own code only
// tells that there are reasons.
func classify(err error) error {
	for _, reason := range cancellationReasons(err) {
		if known := codes[aws.ToString(reason.Code)]; known != nil {
			return known
		}
	}
	api, _ := errors.AsType[smithy.APIError](err)
	network, _ := errors.AsType[net.Error](err)
	_, unsent := errors.AsType[*smithyhttp.RequestSendError](err)
	switch {
	case hotKey(err):
		return ErrHotKey
	case api != nil && codes[api.ErrorCode()] != nil:
		return codes[api.ErrorCode()]
	case unprepared(err) != nil:
		return unprepared(err)
	case api != nil && strings.Contains(api.ErrorMessage(), "key element does not match the schema"): // its code says less
		return ErrOtherKeys
	case errors.Is(err, context.DeadlineExceeded), network != nil && network.Timeout():
		return ErrTimeout
	case unsent && !errors.Is(err, context.Canceled):
		return ErrUnreachable
	}
	return nil
}

// hotKey reports whether DynamoDB throttles because of single keys, and not
// because of the table's load. No higher capacity helps against that.
func hotKey(err error) bool {
	var reasons []types.ThrottlingReason
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		reasons = e.ThrottlingReasons
	}
	return slices.ContainsFunc(reasons, func(r types.ThrottlingReason) bool {
		return strings.HasSuffix(aws.ToString(r.Reason), "KeyRangeThroughputExceeded")
	})
}

// unprepared returns what the SDK lacked to send a request at all; nil if it
// lacked nothing. The SDK has no types for these errors, only texts.
func unprepared(err error) error {
	operation, ok := errors.AsType[*smithy.OperationError](err)
	if !ok || errors.Is(err, context.Canceled) {
		return nil
	}
	text := operation.Err.Error()
	switch credentials := strings.HasPrefix(text, "get identity: "); {
	case credentials && errors.Is(err, context.DeadlineExceeded):
		return ErrCredentialsTimeout
	case credentials && (strings.Contains(text, "expired") || strings.Contains(text, "SSO token")):
		return ErrExpired
	case credentials:
		return ErrNoCredentials
	case strings.HasSuffix(text, "Invalid Configuration: Missing Region"):
		return ErrNoRegion
	}
	return nil
}

// answered reports whether an error of the SDK is DynamoDB's answer to the call.
// A fault of the server, such as a 503 of a load balancer, is none.
func answered(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	response, _ := errors.AsType[*smithyhttp.ResponseError](err)
	fault := ok && api.ErrorFault() == smithy.FaultServer || response != nil && response.HTTPStatusCode() >= 500
	_, throttled := errors.AsType[limit.Throttled](classify(err))
	return ok && (!fault || throttled)
}

// cancellationReasons returns why a transaction was canceled, one reason for
// each of its writes; nil for other errors.
func cancellationReasons(err error) []types.CancellationReason {
	if failed, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return failed.CancellationReasons
	}
	return nil
}
