package aws

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// The errors of AWS's services. Each is wrapped together with the SDK's own.
var (
	ErrNoStack      = errors.New("does not exist")
	ErrNotPermitted = errors.New("AWS does not permit the call")
	errCredentials  = errors.New("AWS does not accept the credentials; sign in again (aws sso login), or check AWS_PROFILE and AWS_ACCESS_KEY_ID")
	errThrottled    = errors.New("AWS throttles the calls; repeat the command in a minute")
	errQuota        = errors.New("a quota of the account is reached; delete what nobody uses, or ask for more in Service Quotas")
	errUnreachable  = errors.New("AWS cannot be reached; check the network, AWS_REGION and AWS_ENDPOINT_URL")
	errTimeout      = errors.New("AWS did not answer in time; check the network, AWS_REGION and AWS_ENDPOINT_URL")
)

// codes maps the error codes that the services share.
var codes = map[string]error{
	"AccessDenied": ErrNotPermitted, "AccessDeniedException": ErrNotPermitted, "Forbidden": ErrNotPermitted, "UnauthorizedOperation": ErrNotPermitted,
	"ExpiredToken": errCredentials, "ExpiredTokenException": errCredentials, "InvalidClientTokenId": errCredentials,
	"InvalidAccessKeyId": errCredentials, "SignatureDoesNotMatch": errCredentials, "UnrecognizedClientException": errCredentials,
	"Throttling": errThrottled, "ThrottlingException": errThrottled, "SlowDown": errThrottled, "RequestLimitExceeded": errThrottled,
	"LimitExceeded": errQuota, "LimitExceededException": errQuota, "TooManyBuckets": errQuota, "ServiceQuotaExceededException": errQuota,
}

// codeOf returns AWS's code of an error; "" if AWS did not answer.
func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// Explain returns an error of the SDK with what to do about it. It returns nil
// for nil.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	known := codes[codeOf(err)]
	_, unsent := errors.AsType[*smithyhttp.RequestSendError](err)
	switch {
	case errors.Is(known, ErrNotPermitted):
		return fmt.Errorf("%w: %s; %s (%w)", ErrNotPermitted, deniedCall(err), policyAdvice, err)
	case known != nil:
		return fmt.Errorf("%w (%w)", known, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w (%w)", errTimeout, err)
	case unsent && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%w (%w)", errUnreachable, err)
	}
	return err
}

const policyAdvice = "`slidegate aws policy` prints the policy that deployments need"

// denied is how AWS's services name the right that somebody lacks.
var denied = regexp.MustCompile(`not authorized to perform: ([\w-]+:\w+)(?: on resource: "?([^\s"]+))?`)

// deniedCall names the right that a refused call needs. S3 does not always name
// it: then the call does.
func deniedCall(err error) string {
	if rights := deniedRights(err.Error()); len(rights) > 0 {
		return rights[0]
	}
	call, ok := errors.AsType[*smithy.OperationError](err)
	if !ok {
		return "a call"
	}
	name := call.Operation()
	if action := actions[name]; action != "" {
		name = action
	}
	return strings.ToLower(call.Service()) + ":" + name
}

// actions names the rights of calls whose rights have other names.
var actions = map[string]string{
	"HeadBucket": "ListBucket", "HeadObject": "GetObject",
}

// deniedRights returns the rights that messages of AWS say are missing, with
// their resources.
func deniedRights(messages string) (rights []string) {
	for _, match := range denied.FindAllStringSubmatch(messages, -1) {
		right := match[1]
		if match[2] != "" {
			right += " on " + match[2]
		}
		rights = append(rights, right)
	}
	return rights
}
