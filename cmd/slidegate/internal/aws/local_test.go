package aws

import (
	"runtime"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestLocal: the address of CloudFormation, which makes the Lambdas, decides whether
// AWS is on this machine.
func TestLocal(t *testing.T) {
	for _, test := range []struct {
		all, own string // AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_CLOUDFORMATION
		want     bool
	}{
		{"", "", false},
		{"http://127.0.0.1:4566", "", true},
		{"http://127.1.2.3", "", true},
		{"http://[::1]:4566", "", true},
		{"http://localhost:4566", "", true},
		{"http://aws.localhost:4566", "", true},
		{"http://localhost.localstack.cloud:4566", "", true},
		{"http://localhost.example.com:4566", "", false},
		{"http://10.0.0.1:4566", "", false},
		{"https://cloudformation.eu-north-1.amazonaws.com", "", false},
		{"", "http://127.0.0.1:4566", true},
		{"http://127.0.0.1:4566", "https://cloudformation.eu-north-1.amazonaws.com", false},
	} {
		t.Setenv("AWS_CONFIG_FILE", "/dev/null")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
		t.Setenv("AWS_ENDPOINT_URL", test.all)
		t.Setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", test.own)
		cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(testRegion))
		if err != nil {
			t.Fatal(err)
		}
		if got := New(cfg).Local; got != test.want {
			t.Errorf("all %q, CloudFormation %q: %v, want %v", test.all, test.own, got, test.want)
		}
	}
}

// TestArchitecture: a new stack on a local AWS is for this machine, unless the
// caller says otherwise. A stack that exists keeps its architecture.
func TestArchitecture(t *testing.T) {
	here, ok := machines[runtime.GOARCH]
	if !ok {
		t.Skip("Lambda has no such architecture: " + runtime.GOARCH)
	}
	note := "using architecture " + here + ", because a local AWS runs Lambdas on this machine"
	for _, test := range []struct {
		local        bool
		given, stack string
		want, note   string
	}{
		{false, "", "", "arm64", ""},
		{false, "x86_64", "", "x86_64", ""},
		{false, "", "x86_64", "x86_64", ""},
		{true, "", "", here, note},
		{true, "arm64", "", "arm64", ""},
		{true, "x86_64", "", "x86_64", ""},
		{true, "", "arm64", "arm64", ""},
		{true, "x86_64", "arm64", "x86_64", ""},
	} {
		var old *types.Stack
		if test.stack != "" {
			old = &types.Stack{Parameters: []types.Parameter{{ParameterKey: aws.String(architecture), ParameterValue: &test.stack}}}
		}
		if name, note := (&Account{Local: test.local}).architectureOf(test.given, old); name != test.want || note != test.note {
			t.Errorf("%+v: %s, %q", test, name, note)
		}
	}
}
