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
	dist         string                 // dist: the directory of authorizer.zip and backend.zip
	architecture awslambda.Architecture // architecture: arm64 or x86_64, whatever the zips were built for
	deadline     time.Duration          // deadline: of one decision, as a Go duration; none leaves the authorizer's own
	removal      awscdk.RemovalPolicy   // removal: retain, or destroy for a stack that leaves nothing behind
}

func readSettings(node constructs.Node) (settings, error) {
	s := settings{dist: "../dist", architecture: awslambda.Architecture_ARM_64(), removal: awscdk.RemovalPolicy_RETAIN}
	for _, setting := range []struct {
		name string
		set  func(string) error
	}{
		{"dist", s.setDist},
		{"architecture", s.setArchitecture},
		{"deadline", s.setDeadline},
		{"removal", s.setRemoval},
	} {
		value := node.TryGetContext(jsii.String(setting.name))
		if value == nil {
			continue
		}
		if err := setting.set(fmt.Sprint(value)); err != nil {
			return settings{}, fmt.Errorf("context %s=%v: %w", setting.name, value, err)
		}
	}
	return s, nil
}

func (s *settings) setDist(value string) error {
	s.dist = value
	return nil
}

func (s *settings) setArchitecture(value string) error {
	switch value {
	case "arm64":
		s.architecture = awslambda.Architecture_ARM_64()
	case "x86_64":
		s.architecture = awslambda.Architecture_X86_64()
	default:
		return errors.New("unknown architecture: use arm64 or x86_64")
	}
	return nil
}

func (s *settings) setDeadline(value string) error {
	deadline, err := time.ParseDuration(value)
	if err != nil {
		return err
	}
	if deadline <= 0 {
		return errors.New("a deadline must be above 0: leave it out for the authorizer's own")
	}
	s.deadline = deadline
	return nil
}

func (s *settings) setRemoval(value string) error {
	switch value {
	case "retain":
		s.removal = awscdk.RemovalPolicy_RETAIN
	case "destroy":
		s.removal = awscdk.RemovalPolicy_DESTROY
	default:
		return errors.New("unknown removal policy: use retain or destroy")
	}
	return nil
}
