package ratelimit_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/aws/jsii-runtime-go/runtime"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/ratelimit"
)

// TestNag checks the limiter, and what Protect adds to an API of each kind, by
// the rules AwsSolutions of cdk-nag. The construct acknowledges what it does on
// purpose, with its reasons. Synthesis panics for anything else.
func TestNag(t *testing.T) {
	app, outdir := cdktest.NewApp(t, nil)
	awscdk.Validations_Of(app).AddPlugins(nag(t, app))
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

// nag loads cdk-nag, which cdk.sh installs, into the process of the CDK: it has no
// Go package of its own.
func nag(t *testing.T, app awscdk.App) awscdk.IPolicyValidationPlugin {
	t.Helper()
	if out, err := exec.Command("../cdk.sh", "--version").CombinedOutput(); err != nil {
		t.Fatalf("cdk.sh: %v\n%s", err, out)
	}
	const dir = "../../.cache/cdk/node_modules/cdk-nag"
	var manifest struct{ Version string }
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err == nil {
		err = json.Unmarshal(data, &manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	runtime.Load("cdk-nag", manifest.Version, tarball(t, dir))
	pack := &jsiiProxy_Nag{}
	runtime.Create("cdk-nag.AwsSolutionsChecks", []any{app}, pack)
	return pack
}

// jsiiProxy_Nag stands for the object in the process of the CDK. Its name tells
// jsii that its methods are there.
type jsiiProxy_Nag struct{ awscdk.IPolicyValidationPlugin }

// tarball packs a directory as npm does.
func tarball(t *testing.T, dir string) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for _, name := range []string{"package.json", ".jsii", "lib"} {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			inside, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if err := w.WriteHeader(&tar.Header{Name: "package/" + filepath.ToSlash(inside), Mode: 0o644, Size: int64(len(data))}); err != nil {
				return err
			}
			_, err = w.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
