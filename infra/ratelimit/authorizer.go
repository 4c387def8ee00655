package ratelimit

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

func newLog(r *RateLimit, p Props) awslogs.LogGroup {
	return awslogs.NewLogGroup(r, jsii.String("Log"), &awslogs.LogGroupProps{
		Retention:     p.LogRetention,
		RemovalPolicy: p.RemovalPolicy,
	})
}

func newFunction(r *RateLimit, p Props) awslambda.Function {
	return awslambda.NewFunction(r, jsii.String("Function"), &awslambda.FunctionProps{
		Description:  jsii.String("Slidegate authorizer: allows or denies each request by its rules"),
		Code:         p.Code,
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Handler:      jsii.String("bootstrap"),
		Architecture: p.Architecture,
		// A decision mostly waits for DynamoDB. More memory brings the CPU
		// share that a cold start needs.
		MemorySize:  jsii.Number(256),
		Timeout:     awscdk.Duration_Millis(jsii.Number(timeout.Milliseconds())),
		Environment: environment(r, p),
		Role:        r.Role,
		LogGroup:    r.Log,
	})
}

// environment returns the variables that functions/authorizer reads.
func environment(r *RateLimit, p Props) *map[string]*string {
	env := map[string]*string{
		"SLIDEGATE_COUNTERS": r.CountersTable.TableName(),
		"SLIDEGATE_RULES":    r.RulesTable.TableName(),
	}
	if p.Deadline > 0 {
		env["SLIDEGATE_DEADLINE"] = jsii.String(p.Deadline.String())
	}
	if p.PassDenials {
		env["SLIDEGATE_PASS_DENIALS"] = jsii.String("true")
	}
	return &env
}

// newRole lists its permissions because the usual shortcuts grant more:
// AWSLambdaBasicExecutionRole covers every log group of the account, and
// Table.Grant covers indexes. A test of functions/authorizer records the calls
// that these permissions are for. A transaction needs UpdateItem for the items
// that it updates. Only operators may delete counters or list and publish rules.
func newRole(r *RateLimit) awsiam.Role {
	role := awsiam.NewRole(r, jsii.String("Role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	r.Log.GrantWrite(role)
	role.AddToPolicy(allow(r.CountersTable.TableArn(), "dynamodb:GetItem", "dynamodb:UpdateItem"))
	role.AddToPolicy(allow(r.RulesTable.TableArn(), "dynamodb:GetItem"))
	return role
}

func allow(resource *string, actions ...string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:   jsii.Strings(actions...),
		Resources: jsii.Strings(*resource),
	})
}
