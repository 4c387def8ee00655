// Package ratelimit is the CDK construct that puts Slidegate in front of REST,
// HTTP and WebSocket APIs: two tables, the Lambda authorizer, and the gateway's
// responses to denied requests.
//
//	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
//		Code: awslambda.Code_FromAsset(jsii.String("dist/authorizer_arm64.zip"), nil),
//	})
//	limiter.Protect(api)
package ratelimit

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
)

// Props configures New. Only Code is required.
type Props struct {
	// Code is the authorizer: a zip with an executable named bootstrap, which
	// is functions/authorizer built for Architecture. In a clone of the
	// repository, make build writes dist/authorizer_arm64.zip. The construct cannot
	// build it: an app that imports this module has no writable copy of the
	// source.
	Code awslambda.Code

	// Architecture is the one that Code was built for. Nil means arm64.
	Architecture awslambda.Architecture

	// Deadline bounds one decision; after it, the rule's on_error decides. Zero
	// means the authorizer's default of 250 ms. It must be below the function's
	// timeout of 5 s.
	Deadline time.Duration

	// MaxReads and MaxWrites cap the request units per second of the counters
	// table; zero means no cap. A cap bounds the cost of a flood of new keys.
	// Above the cap DynamoDB throttles, and on_error decides.
	MaxReads, MaxWrites int

	// Standalone is for a limiter without Protect in this app: no warning says that
	// it protects nothing.
	Standalone bool

	// PassDenials lets denied requests of HTTP APIs through to their backends, also
	// those of banned callers and with invalid credentials. The backends must
	// answer them, as lambdalimit.Behind does, or limithttp.SettleMiddleware with
	// ReceiptMapping. A backend that does not is not limited. Without PassDenials
	// an HTTP API answers 403. APIs of other kinds deny all the same.
	PassDenials bool

	// Rules is the path of a rules file, which each deployment publishes. New
	// checks it, so OperationsCode is needed: functions/operations built for
	// Architecture. A file that has not changed publishes nothing, and a rollback of
	// the stack publishes the old one. Without Rules, publish them by slidegate rules
	// apply. Until the first ones, all requests pass, marked as degraded.
	Rules          string
	OperationsCode awslambda.Code

	// RulesObject has rules published that are in a bucket, in place of Rules. New
	// does not check them.
	RulesObject *RulesObject

	// OnChangedRules says what a deployment of another file does if the rules were
	// changed by hand since the last one. Empty means FailOnChangedRules.
	OnChangedRules OnChangedRules

	// RulesWhy is the reason that the history of the rules has for what a deployment
	// publishes. Nil means "deployment".
	RulesWhy *string

	// RemovalPolicy applies to the tables and the log when the stack is
	// deleted. Empty means RETAIN. Unless it is DESTROY, the rules table has
	// deletion protection.
	RemovalPolicy awscdk.RemovalPolicy

	// LogRetention is how long CloudWatch keeps the authorizer's log. Empty
	// means one month.
	LogRetention awslogs.RetentionDays
}

// RateLimit is the construct for the APIs that share rules. Its parts are exported
// so that an app can add alarms, tags and grants.
type RateLimit struct {
	constructs.Construct

	CountersTable awsdynamodb.ITable
	RulesTable    awsdynamodb.ITable
	Function      awslambda.Function
	Log           awslogs.ILogGroup
	Role          awsiam.IRole

	// Operations publishes rules, and PublishedRules has it do so. Both are nil
	// without Rules.
	Operations     awslambda.Function
	PublishedRules awscdk.CustomResource
}

// New adds the tables and the authorizer to scope. It changes no API: see Protect.
func New(scope constructs.Construct, id *string, props *Props) (*RateLimit, error) {
	p, err := props.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("ratelimit %s: %w", *id, err)
	}
	file, err := p.readRules()
	if err != nil {
		return nil, fmt.Errorf("ratelimit %s: %w", *id, err)
	}
	r := &RateLimit{}
	constructs.NewConstruct_Override(r, scope, id) // registers r itself, so that r may be handed to CDK as a scope
	r.CountersTable = newCounters(r, p)
	r.RulesTable = newRules(r, p)
	r.Log = newLog(r, p)
	r.Role = newRole(r)
	r.Function = newFunction(r, p)
	if !p.Standalone {
		addWarning(r, warnNothing, "the limiter protects no API: call Protect with each, or set Standalone")
	}
	publishRules(r, p, file)
	return r, nil
}

// timeout bounds one call of the function. A decision ends at its deadline,
// long before; the rest is for a cold start.
const timeout = 5 * time.Second

func (p *Props) withDefaults() (Props, error) {
	if p == nil || p.Code == nil {
		return Props{}, errors.New("there is no Code: pass the authorizer's zip, for example with awslambda.Code_FromAsset")
	}
	if (p.Rules != "" || p.RulesObject != nil) && p.OperationsCode == nil {
		return Props{}, errors.New("there are rules but no OperationsCode: pass the zip of functions/operations, for example with awslambda.Code_FromAsset")
	}
	if p.Deadline < 0 || p.Deadline >= timeout {
		return Props{}, fmt.Errorf("the Deadline %v is out of range: it must lie above 0 and under the function's timeout of %v",
			p.Deadline, timeout)
	}
	if p.MaxReads < 0 || p.MaxWrites < 0 {
		return Props{}, fmt.Errorf("neither MaxReads %d nor MaxWrites %d may be negative: use 0 for no cap", p.MaxReads, p.MaxWrites)
	}
	q := *p
	if q.Architecture == nil {
		q.Architecture = awslambda.Architecture_ARM_64()
	}
	q.RemovalPolicy = cmp.Or(q.RemovalPolicy, awscdk.RemovalPolicy_RETAIN)
	q.LogRetention = cmp.Or(q.LogRetention, awslogs.RetentionDays_ONE_MONTH)
	return q, nil
}
