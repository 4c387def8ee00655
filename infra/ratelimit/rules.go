package ratelimit

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

// OnChangedRules says what a deployment does with rules that were changed by
// hand since the last one.
type OnChangedRules string

const (
	// FailOnChangedRules fails the deployment, and says who changed what and how to
	// keep or discard that. It is the default.
	FailOnChangedRules OnChangedRules = "fail"
	// OverwriteChangedRules publishes the file all the same.
	OverwriteChangedRules OnChangedRules = "overwrite"
	// KeepChangedRules publishes nothing.
	KeepChangedRules OnChangedRules = "keep"
)

// RulesObject is a rules file in a bucket.
type RulesObject struct {
	Bucket, Key *string
	Hash        *string // SHA-256 of the file in hex, by which a deployment knows another file
	Suffix      string  // that Key has, such as .yaml: the Lambda may read the bucket's objects with this suffix
}

// readRules reads and checks the file of Rules; nil without one. Its errors are
// those of slidegate rules validate.
func (p *Props) readRules() (*predeploy.File, error) {
	switch {
	case p.RulesObject != nil && p.Rules != "":
		return nil, errors.New("there are both Rules and RulesObject: leave one out")
	case p.RulesObject != nil && p.RulesObject.Suffix == "":
		return nil, errors.New("RulesObject has no Suffix, such as .yaml: without one the function might read the whole bucket")
	case p.Rules == "":
		return nil, nil
	case filepath.Ext(p.Rules) == "": // likewise
		return nil, fmt.Errorf("the file %s of Rules has no suffix: name it %[1]s.yaml", p.Rules)
	}
	switch p.OnChangedRules {
	case "", FailOnChangedRules, OverwriteChangedRules, KeepChangedRules:
	default:
		return nil, fmt.Errorf("OnChangedRules is %q: use %s, %s or %s", p.OnChangedRules,
			FailOnChangedRules, OverwriteChangedRules, KeepChangedRules)
	}
	file, err := predeploy.Read(p.Rules)
	if err != nil {
		return nil, fmt.Errorf("the Rules cannot be published:\n%w", err)
	}
	return file, nil
}

// publishMinutes is how long CloudFormation waits for the Lambda that publishes.
// Then it rolls the stack back.
const publishMinutes = 15

// publishRules adds what publishes rules when the stack is deployed: the Lambda
// functions/operations, and a custom resource that calls it. file is what
// readRules returned.
func publishRules(r *RateLimit, p Props, file *predeploy.File) {
	object := p.RulesObject
	if file != nil {
		for _, warning := range file.Warnings {
			warn(r, "slidegate:rules", warning)
		}
		asset := awss3assets.NewAsset(r, jsii.String("RulesFile"), &awss3assets.AssetProps{Path: &p.Rules}) // the file as it is
		object = &RulesObject{Bucket: asset.S3BucketName(), Key: asset.S3ObjectKey(), Suffix: filepath.Ext(p.Rules), Hash: &file.Hash}
	}
	r.Operations = newOperations(r, p, object)
	properties := map[string]any{
		"Table": r.RulesTable.TableName(), "Bucket": object.Bucket, "Key": object.Key, "Hash": object.Hash,
		"OnChangedRules": cmp.Or(p.OnChangedRules, FailOnChangedRules),
		"Why":            cmp.Or(p.RulesWhy, "deployment"),
	}
	if p.Rules != "" {
		properties["File"] = p.Rules // for messages
	}
	r.PublishedRules = awscdk.NewCustomResource(r, jsii.String("PublishedRules"), &awscdk.CustomResourceProps{
		ResourceType:   jsii.String("Custom::SlidegateRules"),
		ServiceToken:   r.Operations.FunctionArn(),
		ServiceTimeout: awscdk.Duration_Minutes(jsii.Number(publishMinutes)), // CloudFormation would wait an hour for a Lambda that cannot start
		Properties:     &properties,
	})
	// Rules may need the code and the secrets that are deployed with them. No event
	// may be sent before the function's MaxEventAge is set.
	r.PublishedRules.Node().AddDependency(r.Function.Node().DefaultChild(), r.Operations)
}

func newOperations(r *RateLimit, p Props, object *RulesObject) awslambda.Function {
	function := operation(r, p, "publish", "publishes the rules of a deployment")
	function.Timeout = awscdk.Duration_Minutes(jsii.Number(1))
	// Lambda would keep an event for six hours, and run it after the rollback.
	function.MaxEventAge = awscdk.Duration_Minutes(jsii.Number(publishMinutes - 1)) // less Timeout
	function.Role = newOperationsRole(r, object)
	return awslambda.NewFunction(r, jsii.String("Operations"), function)
}

// operation returns a function of functions/operations, which does what its handler
// says.
func operation(r *RateLimit, p Props, handler, does string) *awslambda.FunctionProps {
	return &awslambda.FunctionProps{
		Description:      jsii.String("Slidegate operations: " + does),
		Code:             p.OperationsCode,
		Runtime:          awslambda.Runtime_PROVIDED_AL2023(),
		Handler:          &handler,
		Architecture:     p.Architecture,
		MemorySize:       jsii.Number(predeploy.MemoryMB),
		LogGroup:         r.LogGroup,
		LoggingFormat:    awslambda.LoggingFormat_JSON,
		SystemLogLevelV2: awslambda.SystemLogLevel_WARN,
	}
}

// newOperationsRole lists its permissions as grantAuthorizer does; a test of
// functions/operations records the calls. It may read all rules files of the
// bucket: a policy that changed with each file would take effect too late, also
// when a stack rolls back. Of its own stack the Lambda asks whether it does.
func newOperationsRole(r *RateLimit, object *RulesObject) awsiam.Role {
	role := newFunctionRole(r, "OperationsRole")
	bucket := awss3.Bucket_FromBucketName(r, jsii.String("RulesBucket"), object.Bucket)
	grantWrite(role, r.RulesTable, "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query")
	grant(role, bucket.ArnForObjects(jsii.String("*"+object.Suffix)), "s3:GetObject")
	acknowledge(role, "IAM5[Resource::arn:<AWS::Partition>:s3:::"+r.flat(object.Bucket)+"/*"+object.Suffix+"]", "a policy for one file would change with it, and take effect after the deployment that publishes it")
	grant(role, awscdk.Stack_Of(r).StackId(), "cloudformation:DescribeStacks")
	return role
}

// newFunctionRole returns the role of a function, which may write the log.
func newFunctionRole(r *RateLimit, id string) awsiam.Role {
	role := awsiam.NewRole(r, &id, &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	r.LogGroup.GrantWrite(role)
	return role
}

// flat writes the name of a bucket as cdk-nag does, with <NAME> for a reference.
func (r *RateLimit) flat(bucket *string) string {
	switch resolved := awscdk.Stack_Of(r).Resolve(bucket).(type) {
	case string:
		return resolved
	case map[string]any:
		if name, ok := resolved["Ref"].(string); ok {
			return "<" + name + ">"
		}
		sub, _ := resolved["Fn::Sub"].(string)
		return strings.NewReplacer("${", "<", "}", ">").Replace(sub)
	}
	return ""
}
