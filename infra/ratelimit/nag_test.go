package ratelimit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/ratelimit"
)

// TestNag checks the limiter, and what Protect adds to an API of each kind, by
// the rules AwsSolutions of cdk-nag. The construct acknowledges what it does on
// purpose, with its reasons. Synthesis panics for anything else.
func TestNag(t *testing.T) {
	app, outdir := cdktest.NewApp(t, nil)
	awscdk.Validations_Of(app).AddPlugins(cdktest.Nag(t, app, ".."))
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		Code: code(t), OperationsCode: code(t), Rules: rulesFile(t, someRules),
		FunctionOptions: &awslambda.FunctionOptions{Vpc: awsec2.Vpc_FromVpcAttributes(stack, jsii.String("Vpc"), &awsec2.VpcAttributes{
			VpcId: jsii.String("vpc-0123456789abcdef0"), AvailabilityZones: jsii.Strings("a"), PrivateSubnetIds: jsii.Strings("subnet-0123456789abcdef0"),
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	alone := awscdk.NewStack(app, jsii.String("Alone"), nil)
	parameter := awscdk.NewCfnParameter(alone, jsii.String("Bucket"), nil).ValueAsString()
	if _, err := ratelimit.New(alone, jsii.String("RateLimit"), &ratelimit.Props{
		Code: code(t), OperationsCode: code(t), Standalone: true,
		RulesObject: &ratelimit.RulesObject{Bucket: parameter, Key: jsii.String("rules.yaml"), Hash: jsii.String("0"), Suffix: ".yaml"},
	}); err != nil {
		t.Fatal(err)
	}
	for _, api := range []constructs.IConstruct{
		newAPI(stack),
		httpAPI(awscdk.NewStack(app, jsii.String("Http"), nil), awsapigatewayv2.HttpApiProps{}),
		webSocketAPI(awscdk.NewStack(app, jsii.String("WebSocket"), nil)),
	} {
		limiter.Protect(api)
		for _, rule := range []string{"APIG1", "APIG2", "APIG3", "APIG6",
			"IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]"} {
			awscdk.Validations_Of(api).Acknowledge(&awscdk.Acknowledgment{
				Id:     jsii.String("AwsSolutions::AwsSolutions-" + rule),
				Reason: jsii.String("the logs, validation and firewall of an API are the app's, and Protect changes none"),
			})
		}
	}
	app.Synth(nil)
	data, err := os.ReadFile(filepath.Join(outdir, "validation-report.json"))
	if err != nil || !bytes.Contains(data, []byte("AwsSolutions")) {
		t.Errorf("the rules did not run: %s, error %v", data, err)
	}
}
