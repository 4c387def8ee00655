package ratelimit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/lambdas"
	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

// zip is lambdas.Zip, which tests replace.
var zip = lambdas.Zip

// code returns the code of a Lambda: given, or the module's zip. It writes that
// below the directory of the synthesized app, so no synthesis needs another one.
func code(scope constructs.Construct, given awslambda.Code, name string, architecture awslambda.Architecture) (awslambda.Code, error) {
	if given != nil {
		return given, nil
	}
	goarch := map[string]string{"arm64": "arm64", "x86_64": "amd64"}[*architecture.Name()]
	data, err := zip(name, goarch)
	if err != nil {
		return nil, fmt.Errorf("there is no code of the Lambda %s: %w", name, err)
	}
	stage := awscdk.Stage_Of(scope)
	if stage == nil {
		return nil, errors.New("the scope is in no App: pass a construct of one")
	}
	path := filepath.Join(*stage.AssetOutdir(), "slidegate-"+name+"-"+goarch+".zip")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return nil, fmt.Errorf("write the code of the Lambda %s: %w", name, err)
	}
	return awslambda.Code_FromAsset(&path, nil), nil
}

// newFunction adds the options of the app to the construct's.
func newFunction(r *RateLimit, p Props) awslambda.Function {
	props := &awslambda.FunctionProps{}
	options, target := reflect.ValueOf(*p.FunctionOptions), reflect.ValueOf(props).Elem()
	for i, field := range reflect.VisibleFields(options.Type()) {
		target.FieldByName(field.Name).Set(options.Field(i)) // FunctionProps has all of them
	}
	props.Code = p.Code
	props.Runtime = awslambda.Runtime_PROVIDED_AL2023()
	props.Handler = jsii.String("bootstrap")
	props.Architecture = p.Architecture
	props.Environment = environment(r, p)
	props.Role = r.Role
	props.Description = cmp.Or(props.Description, jsii.String("Slidegate authorizer: allows or denies each request by its rules"))
	// A decision mostly waits for DynamoDB. More memory brings the CPU share that
	// a cold start needs.
	props.MemorySize = cmp.Or(props.MemorySize, jsii.Number(predeploy.MemoryMB))
	if props.Timeout == nil {
		props.Timeout = awscdk.Duration_Millis(jsii.Number(defaultTimeout.Milliseconds()))
	}
	if props.LogGroup == nil {
		props.LogGroup = awslogs.NewLogGroup(r, jsii.String("Log"), &awslogs.LogGroupProps{
			Retention:     p.LogRetention,
			RemovalPolicy: p.RemovalPolicy,
		})
	}
	// Lines about the start and end of each call would be a fifth of the bill.
	props.LoggingFormat = cmp.Or(props.LoggingFormat, awslambda.LoggingFormat_JSON)
	if props.LoggingFormat == awslambda.LoggingFormat_JSON {
		props.SystemLogLevelV2 = cmp.Or(props.SystemLogLevelV2, awslambda.SystemLogLevel_WARN)
	}
	return awslambda.NewFunction(r, jsii.String("Function"), props)
}

// newRole returns the role of the function: given, or a new one.
func newRole(r *RateLimit, options *awslambda.FunctionOptions) awsiam.IRole {
	if options.Role != nil {
		return options.Role
	}
	role := awsiam.NewRole(r, jsii.String("Role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	if options.Vpc != nil {
		acknowledge(role, "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole]", "network interfaces have no narrower policy")
		role.AddManagedPolicy(awsiam.ManagedPolicy_FromAwsManagedPolicyName(jsii.String("service-role/AWSLambdaVPCAccessExecutionRole")))
	}
	return role
}

// grantAuthorizer lists the permissions because the usual shortcuts grant more:
// AWSLambdaBasicExecutionRole covers every log group of the account, and
// Table.Grant covers indexes. A test of functions/authorizer records the calls
// that these permissions are for. A transaction needs UpdateItem for the items
// that it updates. Only operators may delete counters or list and publish rules.
func grantAuthorizer(r *RateLimit) {
	r.LogGroup.GrantWrite(r.Role)
	grantWrite(r.Role, r.CountersTable, "dynamodb:GetItem", "dynamodb:UpdateItem")
	grantRead(r.Role, r.RulesTable, "dynamodb:GetItem")
}
