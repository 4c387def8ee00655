// Package ratelimit is the CDK construct that puts Slidegate in front of REST,
// HTTP and WebSocket APIs: two tables, the Lambda authorizer, and the gateway's
// responses to denied requests.
//
//	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
//		Rules: "rules.yaml", // published when the stack is deployed
//	})
//	limiter.Protect(api)
//
// Released versions have the Lambdas' code; Props are optional.
package ratelimit

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// RateLimit is the construct for the APIs that share rules. Its parts are exported
// so that an app can add alarms, tags and grants.
type RateLimit struct {
	constructs.Construct

	CountersTable awsdynamodb.ITable
	RulesTable    awsdynamodb.ITable
	Function      awslambda.Function
	LogGroup      awslogs.ILogGroup
	Role          awsiam.IRole

	// Operations publishes rules, and PublishedRules has it do so. Both are nil
	// without Rules.
	Operations     awslambda.Function
	PublishedRules awscdk.CustomResource

	// DecideFunction and SettleFunction are what programs invoke. They are nil
	// without Decide and Settle.
	DecideFunction, SettleFunction awslambda.Function

	// Alarms are by their names in docs/runbook.md, such as SlowStore. Dashboard
	// is nil without one.
	Alarms    map[string]awscloudwatch.Alarm
	Dashboard awscloudwatch.Dashboard
}

// New adds the tables and the authorizer to scope. It changes no API: see
// Protect. Nil props are enough with a released version of this module. The error
// is lambdas.ErrNone where the code of the Lambda is missing, as in a clone.
func New(scope constructs.Construct, id *string, props *Props) (*RateLimit, error) {
	r, err := newRateLimit(scope, id, props)
	if err != nil {
		return nil, fmt.Errorf("ratelimit %s: %w", *id, err)
	}
	return r, nil
}

// newRateLimit adds nothing to scope if it fails.
func newRateLimit(scope constructs.Construct, id *string, props *Props) (*RateLimit, error) {
	p, err := props.withDefaults()
	if err != nil {
		return nil, err
	}
	file, err := p.readRules()
	if err != nil {
		return nil, err
	}
	if err := p.checkSecrets(scope, file); err != nil {
		return nil, err
	}
	if p.Code, err = code(scope, p.Code, "authorizer", p.Architecture); err != nil {
		return nil, err
	}
	publishes := file != nil || p.RulesObject != nil
	if publishes || p.Decide || p.Settle {
		if p.OperationsCode, err = code(scope, p.OperationsCode, "operations", p.Architecture); err != nil {
			return nil, err
		}
	}
	r := &RateLimit{CountersTable: p.CountersTable, RulesTable: p.RulesTable}
	constructs.NewConstruct_Override(r, scope, id) // registers r itself, so that r may be handed to CDK as a scope
	r.addAuthorizer(p)
	if publishes {
		publishRules(r, p, file)
	}
	addCalled(r, p)
	if !p.WithoutAlarms {
		addAlarms(r, p)
	}
	if !p.WithoutDashboard && !p.WithoutMetrics {
		addDashboard(r)
	}
	addOutputs(r)
	if !p.Standalone {
		addWarning(r, warnNothing, "the limiter protects no API: call Protect with each, or set Standalone")
	}
	return r, nil
}

// addAuthorizer adds the function, with its log and role, and the tables unless
// the app gave some.
func (r *RateLimit) addAuthorizer(p Props) {
	if r.CountersTable == nil {
		r.CountersTable = newCounters(r, p)
	}
	if r.RulesTable == nil {
		r.RulesTable = newRules(r, p)
	}
	r.Role = newRole(r, p.FunctionOptions)
	r.Function = newFunction(r, p)
	r.LogGroup = r.Function.LogGroup()
	grantAuthorizer(r)
}

type output struct {
	name, description string
	value             *string
}

// addOutputs states what people need after a deployment. stack://STACK/ID finds
// the tables by the ends of these names.
func addOutputs(r *RateLimit) {
	next := "apply rules.yaml"
	if r.Operations != nil { // which publishes them
		next = "list"
	}
	id := r.outputID()
	outputs := []output{
		{"CountersTable", "the table of counters", r.CountersTable.TableName()},
		{"RulesTable", "the table of rules", r.RulesTable.TableName()},
		{"Function", "the function of the authorizer", r.Function.FunctionName()},
		{"Next", "the next command", jsii.String("slidegate rules " + next + " --rules stack://" + *awscdk.Aws_STACK_NAME() + "/" + id)},
	}
	if r.Dashboard != nil {
		outputs = append(outputs, output{"Dashboard", "the dashboard in CloudWatch", r.Dashboard.DashboardName()})
	}
	if r.DecideFunction != nil {
		outputs = append(outputs, output{"DecideFunction", "the function that programs invoke for decisions and usage", r.DecideFunction.FunctionName()})
	}
	if r.SettleFunction != nil {
		outputs = append(outputs, output{"SettleFunction", "the function that programs invoke for settlements and renewals", r.SettleFunction.FunctionName()})
	}
	for _, o := range outputs {
		added := awscdk.NewCfnOutput(r, jsii.String("Output"+o.name), &awscdk.CfnOutputProps{Description: &o.description, Value: o.value})
		added.OverrideLogicalId(jsii.String(id + o.name))
	}
}

// outputID is the construct's path in its stack, without characters that outputs
// cannot have: the id, unless another construct is around it.
func (r *RateLimit) outputID() string {
	path := strings.TrimPrefix(*r.Node().Path(), *awscdk.Stack_Of(r).Node().Path())
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return -1
	}, path)
}
