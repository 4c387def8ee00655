package ratelimit

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// GrantReadRules lets people or a pipeline read rules, versions, overrides and
// the history, by the commands that list and compare them.
func (r *RateLimit) GrantReadRules(grantee awsiam.IGrantable) awsiam.Grant {
	return r.grantStack(grantee).Combine(grantRead(grantee, r.RulesTable, "dynamodb:GetItem", "dynamodb:Query"))
}

// GrantPublishRules lets people or a pipeline publish rules and roll them back,
// by slidegate rules apply and rollback, and read them.
func (r *RateLimit) GrantPublishRules(grantee awsiam.IGrantable) awsiam.Grant {
	return r.grantStack(grantee).Combine(grantWrite(grantee, r.RulesTable, "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"))
}

// GrantReadCounters lets people read single counters. The commands inspect and
// explain read the rules too: see GrantReadRules.
func (r *RateLimit) GrantReadCounters(grantee awsiam.IGrantable) awsiam.Grant {
	return r.grantStack(grantee).Combine(grantRead(grantee, r.CountersTable, "dynamodb:GetItem"))
}

// GrantDecide lets a program ask for decisions and usage: it may invoke
// DecideFunction, and do nothing else. Props need Decide.
func (r *RateLimit) GrantDecide(program awsiam.IGrantable) awsiam.Grant {
	if r.DecideFunction == nil {
		panic("ratelimit: GrantDecide has no function to grant: set Decide in Props")
	}
	return grant(program, r.DecideFunction.FunctionArn(), "lambda:InvokeFunction")
}

// GrantSettle lets a program settle. With Settle in Props, it may invoke
// SettleFunction, and do nothing else. Without, it may update counters, and do
// nothing else, as Go backends do that settle by the authorizer's receipts: they
// find the table by CountersTable.TableName. An app with both kinds grants these
// backends dynamodb:UpdateItem by CountersTable.Grant.
func (r *RateLimit) GrantSettle(program awsiam.IGrantable) awsiam.Grant {
	if r.SettleFunction != nil {
		return grant(program, r.SettleFunction.FunctionArn(), "lambda:InvokeFunction")
	}
	return grantWrite(program, r.CountersTable, "dynamodb:UpdateItem")
}

// GrantOverrides lets a program set and delete overrides of single keys, by package
// rulestable: it may read rules, and cannot publish any. The program finds their
// table by RulesTable.TableName.
func (r *RateLimit) GrantOverrides(program awsiam.IGrantable) awsiam.Grant {
	return grantWrite(program, r.RulesTable, "dynamodb:GetItem").
		Combine(grantPartition(program, r.RulesTable, "override#*", "dynamodb:PutItem", "dynamodb:DeleteItem")).
		Combine(grantPartition(program, r.RulesTable, "history", "dynamodb:PutItem"))
}

// grantStack lets commands find the tables by the stack's outputs: stack://NAME.
func (r *RateLimit) grantStack(grantee awsiam.IGrantable) awsiam.Grant {
	stack := awscdk.Stack_Of(r)
	return grant(grantee, stack.FormatArn(&awscdk.ArnComponents{
		Service:      jsii.String("cloudformation"),
		Resource:     jsii.String("stack"),
		ResourceName: jsii.String(*stack.StackName() + "/*"), // of every stack with this name, one at a time
	}), "cloudformation:DescribeStacks")
}

// grantRead grants actions on a table, and what they need of its key.
func grantRead(grantee awsiam.IGrantable, table awsdynamodb.ITable, actions ...string) awsiam.Grant {
	granted := grant(grantee, table.TableArn(), actions...)
	if key := table.EncryptionKey(); key != nil {
		granted = granted.Combine(key.GrantDecrypt(grantee))
	}
	return granted
}

func grantWrite(grantee awsiam.IGrantable, table awsdynamodb.ITable, actions ...string) awsiam.Grant {
	granted := grant(grantee, table.TableArn(), actions...)
	if key := table.EncryptionKey(); key != nil {
		granted = granted.Combine(key.GrantEncryptDecrypt(grantee))
	}
	return granted
}

func grant(grantee awsiam.IGrantable, resource *string, actions ...string) awsiam.Grant {
	return awsiam.Grant_AddToPrincipal(&awsiam.GrantOnPrincipalOptions{
		Grantee: grantee, Actions: jsii.Strings(actions...), ResourceArns: jsii.Strings(*resource),
	})
}

// grantPartition grants actions on the items of a table whose partition keys look
// like a pattern.
func grantPartition(grantee awsiam.IGrantable, table awsdynamodb.ITable, keys string, actions ...string) awsiam.Grant {
	return awsiam.Grant_AddToPrincipal(&awsiam.GrantOnPrincipalOptions{
		Grantee: grantee, Actions: jsii.Strings(actions...), ResourceArns: jsii.Strings(*table.TableArn()),
		Conditions: &map[string]*map[string]any{"ForAllValues:StringLike": {"dynamodb:LeadingKeys": keys}},
	})
}

// ReceiptParameters hands the authorizer's receipt to the HTTP backend of a REST
// API. Pass it as RequestParameters of the integration, or add it to those. The
// authorizer must sign its receipts: set SLIDEGATE_RECEIPT_SECRET in Secrets.
func (r *RateLimit) ReceiptParameters() *map[string]*string {
	return &map[string]*string{"integration.request.header." + apigw.ReceiptField: jsii.String(apigw.ReceiptSource)}
}

// ReceiptMapping hands the authorizer's receipt to the HTTP backend of an HTTP
// API, as ReceiptParameters does for a REST API. Pass it as ParameterMapping of
// the integration.
func (r *RateLimit) ReceiptMapping() awsapigatewayv2.ParameterMapping {
	return awsapigatewayv2.NewParameterMapping().OverwriteHeader(jsii.String(apigw.ReceiptField),
		awsapigatewayv2.MappingValue_Custom(jsii.String("$"+apigw.ReceiptSource)))
}
