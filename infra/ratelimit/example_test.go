package ratelimit_test

import (
	"log"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/ratelimit"
)

// A stack with an API behind the limiter.
func ExampleNew() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), nil)
	if err != nil {
		log.Fatal(err)
	}
	api := awsapigateway.NewRestApi(stack, jsii.String("Api"), nil)
	api.Root().AddMethod(jsii.String("GET"), nil, nil)
	limiter.Protect(api)
	app.Synth(nil)
}

// Rules that each deployment publishes.
func ExampleProps_rules() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	api := awsapigateway.NewRestApi(stack, jsii.String("Api"), nil)
	api.Root().AddMethod(jsii.String("GET"), nil, nil)
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		Rules:        "rules.yaml",
		Architecture: awslambda.Architecture_ARM_64(), // the local AWS of an x86-64 machine needs X86_64
	})
	if err != nil {
		log.Fatal(err)
	}
	limiter.Protect(api) // a RestApi, SpecRestApi, HttpApi or WebSocketApi
	app.Synth(nil)
}

// Alarms that reach people by a topic, and one more on a rule of the app.
func ExampleRateLimit_MetricDeniedByRule() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	topic := awssns.NewTopic(stack, jsii.String("Alarms"), nil)
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		AlarmTopic:      topic,
		MaxWritesPerDay: 5_000_000,
	})
	if err != nil {
		log.Fatal(err)
	}
	logins := limiter.MetricDeniedByRule(jsii.String("logins"), &awscloudwatch.MetricOptions{Period: awscdk.Duration_Hours(jsii.Number(1))})
	logins.CreateAlarm(stack, jsii.String("ManyLogins"), &awscloudwatch.CreateAlarmOptions{
		Threshold: jsii.Number(1000), EvaluationPeriods: jsii.Number(1),
	}).AddAlarmAction(awscloudwatchactions.NewSnsAction(topic))
	app.Synth(nil)
}

// An HTTP API whose function answers denials with 429, and settles. The function
// wraps its handler in limitlambda.Behind, on the table that COUNTERS names.
func ExampleRateLimit_GrantSettle() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		PassDenials: true, // every backend of the API must answer denials
	})
	if err != nil {
		log.Fatal(err)
	}
	backend := awslambda.NewFunction(stack, jsii.String("Backend"), &awslambda.FunctionProps{
		Code:        awslambda.Code_FromAsset(jsii.String("dist/shop.zip"), nil),
		Runtime:     awslambda.Runtime_PROVIDED_AL2023(),
		Handler:     jsii.String("bootstrap"),
		Environment: &map[string]*string{"COUNTERS": limiter.CountersTable.TableName()},
	})
	limiter.GrantSettle(backend)
	limiter.Protect(awsapigatewayv2.NewHttpApi(stack, jsii.String("Api"), &awsapigatewayv2.HttpApiProps{
		DefaultIntegration: awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Integration"), backend, nil),
	}))
	app.Synth(nil)
}

// An HTTP API in front of a server, which wraps its handler in
// limithttp.SettleMiddleware. The integration hands the signed receipt on.
func ExampleRateLimit_ReceiptMapping() {
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	// The server reads the secret too. A comma would part two secrets.
	secret := awssecretsmanager.NewSecret(stack, jsii.String("ReceiptSecret"), &awssecretsmanager.SecretProps{
		GenerateSecretString: &awssecretsmanager.SecretStringGenerator{ExcludePunctuation: jsii.Bool(true)},
	})
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		PassDenials: true,
		Secrets:     map[string]awscdk.SecretValue{"SLIDEGATE_RECEIPT_SECRET": secret.SecretValue()},
	})
	if err != nil {
		log.Fatal(err)
	}
	server := awsapigatewayv2integrations.NewHttpUrlIntegration(jsii.String("Server"), jsii.String("https://shop.example.com"),
		&awsapigatewayv2integrations.HttpUrlIntegrationProps{ParameterMapping: limiter.ReceiptMapping()})
	limiter.Protect(awsapigatewayv2.NewHttpApi(stack, jsii.String("Api"), &awsapigatewayv2.HttpApiProps{DefaultIntegration: server}))
	app.Synth(nil)
}
