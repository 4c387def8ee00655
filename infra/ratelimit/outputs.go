package ratelimit

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

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
