package ratelimit

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// addCalled adds the functions that programs invoke. A test of functions/operations
// records the calls that their permissions are for. A settlement reads no rules, and
// needs no secret but that of receipts.
func addCalled(r *RateLimit, p Props) {
	environment := *environment(r, p)
	if p.Decide {
		role := newFunctionRole(r, "DecideRole")
		grantWrite(role, r.CountersTable, "dynamodb:GetItem", "dynamodb:UpdateItem")
		grantRead(role, r.RulesTable, "dynamodb:GetItem")
		r.DecideFunction = newCalled(r, role, "Decide", operation(r, p, "decide", "decides requests of programs that invoke it"), environment)
	}
	if p.Settle {
		role := newFunctionRole(r, "SettleRole")
		grantWrite(role, r.CountersTable, "dynamodb:UpdateItem")
		env := map[string]*string{}
		for _, name := range []string{"SLIDEGATE_COUNTERS", "SLIDEGATE_LIMITER", "SLIDEGATE_METRICS", receiptSecret} {
			if environment[name] != nil {
				env[name] = environment[name]
			}
		}
		r.SettleFunction = newCalled(r, role, "Settle", operation(r, p, "settle", "settles for programs that invoke it"), env)
	}
}

func newCalled(r *RateLimit, role awsiam.IRole, id string, function *awslambda.FunctionProps, env map[string]*string) awslambda.Function {
	function.Role, function.Environment = role, &env
	function.Timeout = awscdk.Duration_Millis(jsii.Number(defaultTimeout.Milliseconds()))
	return awslambda.NewFunction(r, &id, function)
}
