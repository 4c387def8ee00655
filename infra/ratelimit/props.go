package ratelimit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

// Props configures New. All fields are optional.
type Props struct {
	// Code is the authorizer: a zip with an executable named bootstrap, which is
	// functions/authorizer built for Architecture. Nil means the one of the module
	// infra/lambdas, which released versions have.
	Code awslambda.Code

	// Architecture is the one that Code was built for. Nil means arm64.
	Architecture awslambda.Architecture

	// Deadline bounds one decision; after it, the rule's on_error decides. Zero
	// means the authorizer's default of 250 ms. It must be below the function's
	// timeout, which is 5 s unless FunctionOptions have another.
	Deadline time.Duration

	// FunctionOptions are further options of the authorizer's function, such as a
	// VPC, layers or reserved concurrency. Environment is merged with the
	// construct's variables. Role, LogGroup, LoggingFormat, SystemLogLevelV2,
	// MemorySize, Timeout and Description replace the construct's own. What the
	// construct has a prop for is an error: Architecture, LogRetention and
	// LogRemovalPolicy.
	FunctionOptions *awslambda.FunctionOptions

	// CountersTable and RulesTable are tables of the app to use in place of new
	// ones. Both have text keys: counters k, and rules p and the sort key s.
	// Counters need the TTL attribute ttl.
	CountersTable, RulesTable awsdynamodb.ITable

	// MaxReadRequestUnits and MaxWriteRequestUnits cap the units per second of the
	// counters table; zero means no cap. A cap bounds the cost of a flood of new
	// keys. Above the cap DynamoDB throttles, and on_error decides.
	MaxReadRequestUnits, MaxWriteRequestUnits int

	// Secrets are environment variables of the authorizer, from Secrets Manager or
	// a parameter of the template: SLIDEGATE_RECEIPT_SECRET, and those that the
	// rules name (hash_secret and client_ip). CloudFormation reads a new value when
	// a deployment changes the function. Who may read the function's configuration
	// can read them.
	Secrets map[string]awscdk.SecretValue

	// Standalone is for a limiter without Protect in this app: no warning says that
	// it protects nothing.
	Standalone bool

	// PassDenials lets denied requests of HTTP APIs through to their backends, also
	// those of banned callers and with invalid credentials. The backends must
	// answer them, as limitlambda.Behind does, or limithttp.SettleMiddleware with
	// ReceiptMapping. A backend that does not is not limited. Without PassDenials
	// an HTTP API answers 403. APIs of other kinds deny all the same.
	PassDenials bool

	// Rules is the path of a rules file, which each deployment publishes. New
	// checks it. A file that has not changed publishes nothing, and a rollback of
	// the stack publishes the old one. Without Rules, publish them by slidegate rules
	// apply. Until the first ones, all requests pass, marked as degraded.
	Rules string

	// RulesObject has rules published that are in a bucket, in place of Rules. New
	// does not check them.
	RulesObject *RulesObject

	// OnChangedRules says what a deployment of another file does if the rules were
	// changed by hand since the last one. Empty means FailOnChangedRules.
	OnChangedRules OnChangedRules

	// RulesWhy is the reason that the history of the rules has for what a deployment
	// publishes. Empty means "deployment".
	RulesWhy string

	// AlarmTopic gets a message when an alarm starts and ends. Without it alarms show in
	// CloudWatch alone. The topic's policy and key must let CloudWatch publish.
	AlarmTopic awssns.ITopic

	// MaxWritesPerDay adds an alarm on more writes to DynamoDB in 24 hours than
	// planned. Zero means none.
	MaxWritesPerDay int

	// WithoutAlarms and WithoutDashboard leave these out. WithoutMetrics has the
	// authorizer write no metrics. It leaves out the dashboard and the alarms on
	// these metrics, but not the alarms on AWS's own.
	WithoutAlarms, WithoutDashboard, WithoutMetrics bool

	// Decide and Settle add functions that programs without a server invoke, in any
	// language: Decide for decisions and usage, Settle for settlements and
	// renewals. GrantDecide and GrantSettle let programs call them. Both need
	// SLIDEGATE_RECEIPT_SECRET in Secrets. They share the authorizer's tables, log and
	// metrics. Of its FunctionOptions, they have none but the environment of Decide.
	Decide, Settle bool

	// OperationsCode is functions/operations built for Architecture, which
	// publishes rules, decides and settles. Nil means the one of the module
	// infra/lambdas.
	OperationsCode awslambda.Code

	// RemovalPolicy applies to the tables and the log when the stack is
	// deleted. Empty means RETAIN, with which alone the rules table has deletion
	// protection.
	RemovalPolicy awscdk.RemovalPolicy

	// LogRetention is how long CloudWatch keeps the authorizer's log. Empty
	// means one month.
	LogRetention awslogs.RetentionDays
}

// defaultTimeout bounds one call of the function. A decision ends at its
// deadline, long before; the rest is for a cold start.
const defaultTimeout = 5 * time.Second

// withDefaults returns complete props, or what is wrong with them.
func (p *Props) withDefaults() (Props, error) {
	var q Props
	if p != nil {
		q = *p
	}
	if q.FunctionOptions == nil {
		q.FunctionOptions = &awslambda.FunctionOptions{}
	}
	for _, check := range []func() error{q.checkOptions, q.checkDeadline, q.checkTables, q.checkAlarms, q.checkEnvironment} {
		if err := check(); err != nil {
			return Props{}, err
		}
	}
	if q.Architecture == nil {
		q.Architecture = awslambda.Architecture_ARM_64()
	}
	q.RemovalPolicy = cmp.Or(q.RemovalPolicy, awscdk.RemovalPolicy_RETAIN)
	q.LogRetention = cmp.Or(q.LogRetention, awslogs.RetentionDays_ONE_MONTH)
	return q, nil
}

// checkOptions refuses options that would contradict the construct.
func (p *Props) checkOptions() error {
	instead := map[string]string{
		"Architecture":        "Props.Architecture",
		"LogRetention":        "Props.LogRetention",
		"LogRemovalPolicy":    "Props.RemovalPolicy",
		"LogFormat":           "LoggingFormat",
		"SystemLogLevel":      "SystemLogLevelV2",
		"ApplicationLogLevel": "ApplicationLogLevelV2",
	}
	options := reflect.ValueOf(*p.FunctionOptions)
	for _, name := range slices.Sorted(maps.Keys(instead)) {
		if !options.FieldByName(name).IsZero() {
			return fmt.Errorf("FunctionOptions.%s has no effect here: set %s", name, instead[name])
		}
	}
	if p.FunctionOptions.LogGroup != nil && p.LogRetention != "" {
		return fmt.Errorf("LogRetention %s is for the construct's own log: leave it out, or FunctionOptions.LogGroup", p.LogRetention)
	}
	level := p.FunctionOptions.ApplicationLogLevelV2
	if slices.Contains([]awslambda.ApplicationLogLevel{"WARN", "ERROR", "FATAL"}, level) && !p.WithoutMetrics {
		return fmt.Errorf("the application's log level %s of FunctionOptions drops the lines with metrics, which have the level INFO: leave it out, or set WithoutMetrics", level)
	}
	return nil
}

func (p *Props) checkDeadline() error {
	timeout := defaultTimeout
	if t := p.FunctionOptions.Timeout; t != nil {
		timeout = time.Duration(*t.ToMilliseconds(nil)) * time.Millisecond
	}
	if p.Deadline < 0 || p.Deadline >= timeout {
		return fmt.Errorf("the Deadline %v is out of range: it must lie above 0 and under the function's timeout of %v", p.Deadline, timeout)
	}
	return nil
}

func (p *Props) checkTables() error {
	if p.MaxReadRequestUnits < 0 || p.MaxWriteRequestUnits < 0 {
		return fmt.Errorf("neither MaxReadRequestUnits %d nor MaxWriteRequestUnits %d may be negative: use 0 for no cap", p.MaxReadRequestUnits, p.MaxWriteRequestUnits)
	}
	if p.CountersTable != nil && p.MaxReadRequestUnits+p.MaxWriteRequestUnits > 0 {
		return fmt.Errorf("MaxReadRequestUnits %d and MaxWriteRequestUnits %d are for the construct's own table: set them on the CountersTable", p.MaxReadRequestUnits, p.MaxWriteRequestUnits)
	}
	return nil
}

// checkAlarms refuses props for an alarm that there is not.
func (p *Props) checkAlarms() error {
	switch {
	case p.MaxWritesPerDay < 0:
		return fmt.Errorf("MaxWritesPerDay %d may not be negative: use 0 for no alarm", p.MaxWritesPerDay)
	case p.WithoutAlarms && (p.AlarmTopic != nil || p.MaxWritesPerDay > 0):
		return errors.New("AlarmTopic and MaxWritesPerDay are for alarms: leave them out, or WithoutAlarms")
	case p.WithoutMetrics && p.MaxWritesPerDay > 0:
		return errors.New("the alarm of MaxWritesPerDay is on a metric: leave it out, or WithoutMetrics")
	}
	return nil
}

// variable is what Lambda takes for the name of an environment variable.
var variable = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]+$`)

// checkEnvironment refuses variables that are stated twice.
func (p *Props) checkEnvironment() error {
	given := environmentOf(p.FunctionOptions)
	for name, prop := range map[string]string{
		"SLIDEGATE_COUNTERS": "CountersTable", "SLIDEGATE_RULES": "RulesTable", "SLIDEGATE_METRICS": "WithoutMetrics",
		"SLIDEGATE_DEADLINE": "Deadline", "SLIDEGATE_PASS_DENIALS": "PassDenials",
	} {
		if given[name] != nil || p.Secrets[name] != nil {
			return fmt.Errorf("the construct sets the variable %s: use the prop %s", name, prop)
		}
	}
	if given["SLIDEGATE_LIMITER"] != nil || p.Secrets["SLIDEGATE_LIMITER"] != nil {
		return errors.New("the construct sets the variable SLIDEGATE_LIMITER, by which alarms and dashboard find metrics: leave it out")
	}
	if given["SLIDEGATE_SIMPLE_RESPONSES"] != nil && !p.Standalone {
		return fmt.Errorf("Protect takes simple responses: leave out SLIDEGATE_SIMPLE_RESPONSES, or set Standalone")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		switch {
		case !variable.MatchString(name):
			return fmt.Errorf("the secret %q has a name that Lambda does not take: use letters, digits and _, such as SLIDEGATE_RECEIPT_SECRET", name)
		case p.Secrets[name] == nil:
			return fmt.Errorf("the secret %s is nil: pass a value such as secret.SecretValue()", name)
		case given[name] != nil:
			return fmt.Errorf("the variable %s is in Secrets and in FunctionOptions.Environment: leave one out", name)
		}
	}
	return nil
}

// receiptSecret is the variable with what signs receipts.
const receiptSecret = "SLIDEGATE_RECEIPT_SECRET"

// checkSecrets refuses secrets that CloudFormation does not give to a function,
// and parts and rules that need one which there is not.
func (p *Props) checkSecrets(scope constructs.Construct, file *predeploy.File) error {
	for name, secret := range p.Secrets {
		if s, _ := awscdk.Stack_Of(scope).Resolve(secret).(string); strings.HasPrefix(s, "{{resolve:ssm-secure:") {
			return fmt.Errorf("the secret %s is a secure parameter of SSM, which CloudFormation gives to no function: use Secrets Manager", name)
		}
	}
	lacks := func(name string) bool { return p.Secrets[name] == nil && environmentOf(p.FunctionOptions)[name] == nil }
	if (p.Decide || p.Settle) && lacks(receiptSecret) {
		return fmt.Errorf("there are no receipts for Decide and Settle without the variable %s: add it to Secrets", receiptSecret)
	}
	if file == nil {
		return nil
	}
	for _, name := range file.Secrets {
		if lacks(name) {
			return fmt.Errorf("the Rules read a secret from the variable %s, which the authorizer lacks: add it to Secrets", name)
		}
	}
	return nil
}

// environment returns the variables that functions/authorizer reads.
func environment(r *RateLimit, p Props) *map[string]*string {
	env := map[string]*string{
		"SLIDEGATE_COUNTERS": r.CountersTable.TableName(),
		"SLIDEGATE_RULES":    r.RulesTable.TableName(),
		"SLIDEGATE_LIMITER":  jsii.String(r.limiter()),
	}
	if p.WithoutMetrics {
		env["SLIDEGATE_METRICS"] = jsii.String("off")
	}
	if p.Deadline > 0 {
		env["SLIDEGATE_DEADLINE"] = jsii.String(p.Deadline.String())
	}
	if p.PassDenials {
		env["SLIDEGATE_PASS_DENIALS"] = jsii.String("true")
	}
	maps.Copy(env, environmentOf(p.FunctionOptions))
	for name, secret := range p.Secrets {
		env[name] = secret.UnsafeUnwrap()
	}
	return &env
}

func environmentOf(options *awslambda.FunctionOptions) map[string]*string {
	if options.Environment == nil {
		return nil
	}
	return *options.Environment
}
