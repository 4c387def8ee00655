// Command infra is the CDK app of the sample stack. The cdk command line runs
// it, as cdk.json says:
//
//	make sample && cd infra && ./cdk.sh deploy [-c architecture=x86_64] [-c deadline=250ms] [-c removal=destroy] [-c dist=DIR] [-c rules=FILE] [-c apis=all]
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	err := run()
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
}

func run() error {
	app := awscdk.NewApp(nil)
	s, err := readSettings(app.Node())
	if err != nil {
		return err
	}
	if _, err := newStack(app, "Slidegate", s); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}
