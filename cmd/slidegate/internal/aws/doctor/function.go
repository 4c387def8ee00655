package doctor

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"golang.org/x/mod/semver"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/embedded"
	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

// checkVersion compares the templates of the stack and of this command. A stack of
// a CDK app has no version.
func (e *exam) checkVersion() error {
	if e.noWanted != nil {
		return e.noWanted
	}
	has, want := e.deployed.Version, e.wanted.version
	if has == "" || has == want {
		return nil
	}
	what, mend := fmt.Sprintf("it has version %s, and this command carries %s", has, want), e.deploy()
	if semver.Compare(has, want) > 0 {
		mend = "install the command of version " + has + ", and run it again"
	}
	e.find("version", "stack "+e.report.Stack, what, mend)
	return nil
}

// deploy is the command that deploys the stack as it must be.
func (e *exam) deploy() string {
	if e.deployed.CodeKey == "" {
		return "deploy the CDK app again, with the construct of this command's version"
	}
	return "slidegate aws deploy --stack " + e.report.Stack
}

func (e *exam) readFunction(ctx context.Context) error {
	name := e.deployed.Function
	if name == "" {
		return errors.New("the stack has no output that names the function: deploy it by a later version")
	}
	function, err := e.Functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	if _, gone := errors.AsType[*types.ResourceNotFoundException](err); gone {
		e.find("function", "function "+name, "it does not exist: APIs with the authorizer answer every request with 500",
			"deploy the stack under another name, and have the APIs use its authorizer: CloudFormation makes nothing again that somebody else deleted")
		return nil
	}
	if err == nil {
		e.function = function
		if function.Environment != nil {
			e.variables = function.Environment.Variables
			e.counters, e.rules = cmp.Or(e.variables[countersVariable], e.counters), cmp.Or(e.variables[rulesVariable], e.rules)
		}
	}
	return err
}

var sha256 = regexp.MustCompile(`[0-9a-f]{64}`)

// checkCode compares the function's code with that of the stack's parameters, or
// of this command for a CDK app.
func (e *exam) checkCode() error {
	if e.function == nil {
		return errNoFunction
	}
	of, mend := "this command's version", e.deploy()
	want := sha256.FindString(e.deployed.CodeKey)
	if want != "" {
		of = "the stack"
		mend = aws.UpdateCode(e.deployed.Function, e.deployed.CodeBucket, e.deployed.CodeKey)
	} else {
		goarch := "arm64"
		if len(e.function.Architectures) > 0 && e.function.Architectures[0] == types.ArchitectureX8664 {
			goarch = "amd64"
		}
		zip, err := embedded.Zip("authorizer", goarch)
		if err != nil {
			return err
		}
		want = predeploy.Hash(zip)
	}
	has, err := base64.StdEncoding.DecodeString(sdk.ToString(e.function.CodeSha256))
	if err == nil && hex.EncodeToString(has) != want {
		e.find("code", "function "+e.deployed.Function, fmt.Sprintf("its code is not that of %s: SHA-256 %.6x…, not %.12s…", of, has, want), mend)
	}
	return err
}

func (e *exam) checkLogFormat() error {
	if e.function == nil {
		return errNoFunction
	}
	if e.noWanted != nil {
		return e.noWanted
	}
	has := "Text"
	if c := e.function.LoggingConfig; c != nil {
		has = string(c.LogFormat)
	}
	if want := fmt.Sprint(e.wanted.logging["LogFormat"]); has != want {
		logging := maps.Clone(e.wanted.logging)
		logging["LogGroup"] = e.logGroup()
		e.find("log-format", "function "+e.deployed.Function, fmt.Sprintf("its log format is %s, not %s: CloudWatch takes no metrics out of it", has, want),
			fmt.Sprintf("aws lambda update-function-configuration --function-name %s --logging-config %s", e.deployed.Function, quoteJSON(logging)))
	}
	return nil
}

func (e *exam) logGroup() string { return aws.LogGroup(e.deployed.Function, e.function.LoggingConfig) }

// leastConcurrency is how many calls at a time an account should have. New ones
// have 10, which ten slow requests take up.
const leastConcurrency = 100

func (e *exam) checkConcurrency(ctx context.Context) error {
	settings, err := e.Functions.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return err
	}
	if settings.AccountLimit == nil {
		return errors.New("AWS states no limit of the account")
	}
	if has := settings.AccountLimit.ConcurrentExecutions; has < leastConcurrency {
		e.find("concurrency", "account, region "+e.Region, fmt.Sprintf("all functions together run %d calls at a time: above that, APIs answer 500", has),
			"aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000")
	}
	return nil
}

// checkAlarms looks at the alarms of the limiter, which CloudFormation names after
// the stack and the construct. They fit on one page.
func (e *exam) checkAlarms(ctx context.Context) error {
	alarms, err := e.Alarms.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmNamePrefix: sdk.String(e.report.Stack + "-" + e.deployed.ID)})
	if err != nil {
		return err
	}
	var mute, off []string
	for _, a := range alarms.MetricAlarms {
		if len(a.AlarmActions) == 0 {
			mute = append(mute, sdk.ToString(a.AlarmName))
		} else if !sdk.ToBool(a.ActionsEnabled) {
			off = append(off, sdk.ToString(a.AlarmName))
		}
	}
	if mute != nil {
		mend := "give the construct an AlarmTopic, and deploy the CDK app"
		if e.deployed.CodeKey != "" {
			mend = e.deploy() + " --alarm-topic ARN, of an SNS topic to which somebody subscribes"
		}
		e.note("alarms", "stack "+e.report.Stack, "alarms without a target, so they send no message: "+strings.Join(mute, ", "), mend)
	}
	if off != nil {
		e.find("alarms", "stack "+e.report.Stack, "alarms whose actions are off: "+strings.Join(off, ", "),
			"aws cloudwatch enable-alarm-actions --alarm-names "+strings.Join(off, " "))
	}
	return nil
}

// arnOf returns the ARN of a resource beside the function.
func (e *exam) arnOf(service, resource string) string {
	a, err := arn.Parse(sdk.ToString(e.function.FunctionArn))
	if err != nil {
		return ""
	}
	a.Service, a.Resource = service, resource
	return a.String()
}
