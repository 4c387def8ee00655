package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/ratelimit"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
)

// writeTemplate writes the CloudFormation template of a limiter alone, which
// slidegate aws deploy deploys. It synthesizes the construct, so one definition
// serves people with the CDK and without.
func writeTemplate(version, out string) error {
	dir, err := os.MkdirTemp("", "template")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: &dir})
	stack, err := newLimiterStack(app, version)
	if err != nil {
		return err
	}
	template, err := stamp(app.Synth(nil).GetStackArtifact(stack.ArtifactId()).Template().(map[string]any), version)
	if err != nil {
		return err
	}
	return os.WriteFile(out, template, 0o644)
}

// stamp returns a template as JSON, and in it the output SlidegateVersion: the
// version, and the hash of all the rest, by which a deployment knows whether it
// would change anything.
func stamp(template map[string]any, version string) ([]byte, error) {
	text, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	template["Outputs"].(map[string]any)["SlidegateVersion"] = map[string]any{
		"Description": "the version of the template", "Value": fmt.Sprintf("%s+%.6x", version, sha256.Sum256(text)),
	}
	text, err = json.MarshalIndent(template, "", " ")
	return append(text, '\n'), err
}

// newLimiterStack returns the stack of a limiter alone. What a deployment decides is in
// parameters, which cmd/slidegate/internal/aws states.
func newLimiterStack(app awscdk.App, version string) (awscdk.Stack, error) {
	stack := awscdk.NewStack(app, jsii.String("Limiter"), &awscdk.StackProps{
		Description: jsii.String("Slidegate " + version + ": a rate limiter for APIs of this account"),
		Synthesizer: awscdk.NewDefaultStackSynthesizer(&awscdk.DefaultStackSynthesizerProps{GenerateBootstrapVersionRule: jsii.Bool(false)}),
	})
	code := awss3.Bucket_FromBucketName(stack, jsii.String("Code"), required(stack, "CodeBucket", "the bucket of the Lambdas' code"))
	authorizer := required(stack, "AuthorizerKey", "the key of the authorizer's code")
	operations := required(stack, "OperationsKey", "the key of the code that publishes rules")
	architecture := choice(stack, "Architecture", "of the Lambdas' code", "arm64", "x86_64")
	key := optional(stack, "RulesKey", "the key of a rules file to publish; empty for none")
	boundary := optional(stack, "PermissionsBoundary", "the ARN of a policy that bounds the rights of the roles; empty for none")
	awsiam.PermissionsBoundary_Of(stack).Apply(awsiam.ManagedPolicy_FromManagedPolicyArn(stack, jsii.String("Boundary"), orNone(given(stack, "HasPermissionsBoundary", boundary), boundary)))
	topic := optional(stack, "AlarmTopic", "the ARN of an SNS topic that hears of alarms; empty for none")
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		Code:           awslambda.Code_FromBucket(code, authorizer, nil),
		OperationsCode: awslambda.Code_FromBucket(code, operations, nil),
		Architecture:   awslambda.Architecture_Custom(architecture, nil),
		Standalone:     true,
		Decide:         true, // unless a parameter leaves it out, as the next one
		Settle:         true,
		RulesObject: &ratelimit.RulesObject{
			Bucket: required(stack, "RulesBucket", "the bucket of the rules file"), Key: key,
			Hash: optional(stack, "RulesHash", "SHA-256 of the rules file, in hex"), Suffix: ".yaml",
		},
		AlarmTopic:      awssns.Topic_FromTopicArn(stack, jsii.String("Topic"), orNone(given(stack, "HasAlarmTopic", topic), topic)),
		MaxWritesPerDay: 1, // for the alarm, which watchWrites completes
		OnChangedRules:  ratelimit.OnChangedRules(*choice(stack, "OnChangedRules", "what to do if rules were published since the last deployment", "fail", "overwrite", "keep")),
		Secrets: map[string]awscdk.SecretValue{
			"SLIDEGATE_RECEIPT_SECRET": secret(stack, "ReceiptSecret", "signs receipts"),
			"SLIDEGATE_HASH_SECRET":    secret(stack, "HashSecret", "hashes keys"),
			"SLIDEGATE_ORIGIN_SECRET":  secret(stack, "OriginSecret", "is sent by the proxy in front"),
		},
	})
	if err != nil {
		return nil, err
	}
	watchWrites(stack, limiter.Alarms[watch.WritesADay])
	if err := allowWithout(stack, limiter); err != nil {
		return nil, err
	}
	onDemand(stack, limiter)
	published := given(stack, "PublishesRules", key)
	limiter.PublishedRules.Node().DefaultChild().(awscdk.CfnResource).CfnOptions().SetCondition(published)
	next := limiter.Node().FindChild(jsii.String("OutputNext")).(awscdk.CfnOutput)
	next.SetValue(awscdk.Fn_ConditionIf(published.LogicalId(), next.Value(),
		jsii.String("slidegate rules apply rules.yaml --rules stack://"+*awscdk.Aws_STACK_NAME()+"/RateLimit")).ToString())
	awscdk.Validations_Of(stack).Acknowledge(&awscdk.Acknowledgment{
		Id: jsii.String("CloudFormation-Validate::W2509"), Reason: jsii.String("the parameters hold names of secrets, not secrets"),
	})
	admitGateways(stack, limiter.Function)
	return stack, nil
}

// watchWrites has a parameter state the threshold of an alarm.
func watchWrites(stack awscdk.Stack, alarm awscloudwatch.Alarm) {
	writes := awscdk.NewCfnParameter(stack, jsii.String("MaxWritesPerDay"), &awscdk.CfnParameterProps{
		Description: jsii.String("alarm on so many writes to DynamoDB in 24 hours; 0 for no alarm"), Type: jsii.String("Number"), Default: 0, MinValue: jsii.Number(0),
	})
	stated := condition(stack, "HasMaxWritesPerDay", awscdk.Fn_ConditionNot(awscdk.Fn_ConditionEquals(writes.ValueAsString(), jsii.String("0"))))
	resource := alarm.Node().DefaultChild().(awscloudwatch.CfnAlarm)
	resource.SetThreshold(writes.ValueAsNumber())
	resource.CfnOptions().SetCondition(stated)
}

// allowWithout lets parameters leave out metrics, alarms and the dashboard.
func allowWithout(stack awscdk.Stack, limiter *ratelimit.RateLimit) error {
	with := func(name string) (parameter *string, on awscdk.CfnCondition) {
		parameter = choice(stack, name, "off leaves out the "+strings.ToLower(name), "on", "off")
		return parameter, condition(stack, "With"+name, awscdk.Fn_ConditionEquals(parameter, jsii.String("on")))
	}
	parameter, metrics := with("Metrics")
	_, alarms := with("Alarms")
	_, dashboard := with("Dashboard")
	for _, function := range []awslambda.Function{limiter.Function, limiter.DecideFunction, limiter.SettleFunction} {
		function.AddEnvironment(jsii.String("SLIDEGATE_METRICS"), parameter, nil)
	}
	own := condition(stack, "WithOwnAlarms", awscdk.Fn_ConditionAnd(alarms, metrics))
	for _, name := range slices.Sorted(maps.Keys(limiter.Alarms)) {
		needed := own
		if slices.ContainsFunc(watch.Alarms(watch.Settings{WithoutMetrics: true}), func(a watch.Alarm) bool { return a.Name == name }) {
			needed = alarms
		}
		options := limiter.Alarms[name].Node().DefaultChild().(awscdk.CfnResource).CfnOptions()
		if also := options.Condition(); also != nil {
			needed = condition(stack, "With"+name, awscdk.Fn_ConditionAnd(needed, also))
		}
		options.SetCondition(needed)
	}
	shown := condition(stack, "ShowsDashboard", awscdk.Fn_ConditionAnd(dashboard, metrics))
	limiter.Node().FindChild(jsii.String("OutputDashboard")).(awscdk.CfnOutput).SetCondition(shown)
	resource := limiter.Dashboard.Node().DefaultChild().(awscloudwatch.CfnDashboard)
	resource.CfnOptions().SetCondition(shown)
	return showAlarms(stack, resource, alarms)
}

// onDemand has parameters add the functions that programs invoke.
func onDemand(stack awscdk.Stack, limiter *ratelimit.RateLimit) {
	for _, name := range []string{"Decide", "Settle"} {
		parameter := choice(stack, name, "on adds the function "+strings.ToLower(name)+", which programs invoke; it needs ReceiptSecret", "off", "on")
		on := condition(stack, "With"+name, awscdk.Fn_ConditionEquals(parameter, jsii.String("on")))
		for _, part := range []string{name, name + "Role", "Output" + name + "Function"} {
			for _, child := range *limiter.Node().FindChild(&part).Node().FindAll(constructs.ConstructOrder_PREORDER) {
				switch element := child.(type) {
				case awscdk.CfnResource:
					element.CfnOptions().SetCondition(on)
				case awscdk.CfnOutput:
					element.SetCondition(on)
				}
			}
		}
	}
}

// showAlarms keeps the status of alarms out of a dashboard if there are none: a
// stack cannot name a resource that it lacks. The status is the first widget.
func showAlarms(stack awscdk.Stack, dashboard awscloudwatch.CfnDashboard, alarms awscdk.CfnCondition) error {
	const begin, end = `{"widgets":[`, `"]}},`
	body, _ := stack.Resolve(dashboard.DashboardBody()).(map[string]any)
	join, _ := body["Fn::Join"].([]any)
	if len(join) != 2 {
		return errors.New("the dashboard's body names no alarm")
	}
	parts := slices.Clone(join[1].([]any))
	last := slices.IndexFunc(parts, func(part any) bool {
		text, _ := part.(string)
		return strings.HasPrefix(text, end)
	})
	first, _ := parts[0].(string)
	if last < 0 || !strings.HasPrefix(first, begin+`{"type":"alarm"`) {
		return errors.New("the dashboard does not begin with the status of alarms")
	}
	parts[0] = strings.TrimPrefix(first, begin)
	status := append(slices.Clone(parts[:last]), end)
	parts[last] = strings.TrimPrefix(parts[last].(string), end)
	either := map[string]any{"Fn::If": []any{alarms.LogicalId(), joined(status), ""}}
	dashboard.AddPropertyOverride(jsii.String("DashboardBody"), joined(append([]any{begin, either}, parts[last:]...)))
	return nil
}

func joined(parts []any) map[string]any { return map[string]any{"Fn::Join": []any{"", parts}} }

func condition(stack awscdk.Stack, name string, expression awscdk.ICfnConditionExpression) awscdk.CfnCondition {
	return awscdk.NewCfnCondition(stack, &name, &awscdk.CfnConditionProps{Expression: expression})
}

// admitGateways lets the authorizers of all APIs of the account and region call
// the function: their ids are not known here.
func admitGateways(stack awscdk.Stack, function awslambda.Function) {
	function.AddPermission(jsii.String("Gateways"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("apigateway.amazonaws.com"), nil),
		SourceArn: stack.FormatArn(&awscdk.ArnComponents{Service: jsii.String("execute-api"), Resource: jsii.String("*/authorizers/*")}),
	})
	output(stack, "AuthorizerUri", "for the authorizer of an API", stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("apigateway"), Account: jsii.String("lambda"), Resource: jsii.String("path/2015-03-31/functions"),
		ResourceName: jsii.String(*function.FunctionArn() + "/invocations"),
	}))
}

func required(stack awscdk.Stack, name, description string) *string {
	return parameter(stack, name, &awscdk.CfnParameterProps{Description: &description, MinLength: jsii.Number(1)})
}

func optional(stack awscdk.Stack, name, description string) *string {
	return parameter(stack, name, &awscdk.CfnParameterProps{Description: &description, Default: jsii.String("")})
}

// choice is one of several words, the first unless another is given.
func choice(stack awscdk.Stack, name, description string, words ...string) *string {
	return parameter(stack, name, &awscdk.CfnParameterProps{Description: &description, Default: words[0], AllowedValues: jsii.Strings(words...)})
}

func parameter(stack awscdk.Stack, name string, props *awscdk.CfnParameterProps) *string {
	return awscdk.NewCfnParameter(stack, &name, props).ValueAsString()
}

// secret is a variable that Secrets Manager has, under the name that a parameter
// states. The function has no such variable if the parameter is empty.
func secret(stack awscdk.Stack, name, does string) awscdk.SecretValue {
	has := given(stack, "Has"+name, optional(stack, name, "the name or ARN in Secrets Manager of the secret that "+does+"; empty for none"))
	return awscdk.SecretValue_UnsafePlainText(orNone(has, awscdk.Fn_Sub(jsii.String("{{resolve:secretsmanager:${"+name+"}}}"), nil)))
}

// orNone returns a value, or under a condition that does not hold no property.
func orNone(condition awscdk.CfnCondition, value *string) *string {
	return awscdk.Fn_ConditionIf(condition.LogicalId(), value, awscdk.Aws_NO_VALUE()).ToString()
}

// given is the condition that a parameter is not empty.
func given(stack awscdk.Stack, name string, parameter *string) awscdk.CfnCondition {
	return condition(stack, name, awscdk.Fn_ConditionNot(awscdk.Fn_ConditionEquals(parameter, jsii.String(""))))
}
