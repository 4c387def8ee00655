package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
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
	template, err := stamp(app.Synth(nil).GetStackArtifact(stack.ArtifactId()).Template(), version)
	if err != nil {
		return err
	}
	return os.WriteFile(out, template, 0o644)
}

// stamp returns a template as JSON, and in it the output SlidegateVersion: the
// version, and the hash of all the rest, by which a deployment knows whether it
// would change anything.
func stamp(template any, version string) ([]byte, error) {
	text, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	var t map[string]any
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	t["Outputs"].(map[string]any)["SlidegateVersion"] = map[string]any{
		"Description": "the version of the template", "Value": fmt.Sprintf("%s+%.6x", version, sha256.Sum256(text)),
	}
	text, err = json.MarshalIndent(t, "", " ")
	return append(text, '\n'), err
}
