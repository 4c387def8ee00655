package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// settings come from `cdk deploy -c NAME=VALUE`.
type settings struct {
	dist         string                 // dist: the directory of the zips
	architecture awslambda.Architecture // architecture: arm64 or x86_64, whatever the zips were built for
	goarch       string                 // the architecture in the zips' names
	rules        string                 // rules: the rules file
	deadline     time.Duration          // deadline: of one decision, as a Go duration; none leaves the authorizer's own
	allAPIs      bool                   // apis: rest, or all for an API of each kind
	removal      awscdk.RemovalPolicy   // removal: retain, or destroy for a stack that leaves nothing behind
}

func readSettings(node constructs.Node) (settings, error) {
	read := func(name, byDefault string) string {
		if value := node.TryGetContext(jsii.String(name)); value != nil {
			return fmt.Sprint(value)
		}
		return byDefault
	}
	s := settings{dist: read("dist", "../dist"), rules: read("rules", "../examples/rules.yaml")}
	switch name := read("architecture", "arm64"); name {
	case "arm64":
		s.architecture, s.goarch = awslambda.Architecture_ARM_64(), "arm64"
	case "x86_64":
		s.architecture, s.goarch = awslambda.Architecture_X86_64(), "amd64"
	default:
		return s, fmt.Errorf("context architecture=%s: unknown architecture: use arm64 or x86_64", name)
	}
	switch name := read("apis", "rest"); name {
	case "rest":
	case "all":
		s.allAPIs = true
	default:
		return s, fmt.Errorf("context apis=%s: unknown APIs: use rest or all", name)
	}
	switch name := read("removal", "retain"); name {
	case "retain":
		s.removal = awscdk.RemovalPolicy_RETAIN
	case "destroy":
		s.removal = awscdk.RemovalPolicy_DESTROY
	default:
		return s, fmt.Errorf("context removal=%s: unknown removal policy: use retain or destroy", name)
	}
	text := read("deadline", "")
	if text == "" {
		return s, nil
	}
	var err error
	if s.deadline, err = time.ParseDuration(text); err == nil && s.deadline <= 0 {
		err = errors.New("a deadline must be above 0: leave it out for the authorizer's own")
	}
	if err != nil {
		return s, fmt.Errorf("context deadline=%s: %w", text, err)
	}
	return s, nil
}
