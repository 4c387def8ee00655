// Command infra is the CDK app of the sample stack. The cdk command line runs
// it, as cdk.json says:
//
//	make sample && cd infra && ./cdk.sh deploy [-c architecture=x86_64] [-c deadline=250ms] [-c removal=destroy] [-c dist=DIR] [-c rules=FILE] [-c apis=all]
//
// With -template it writes the template that slidegate aws deploy deploys:
//
//	cd infra && go run . -template ../dist/template.json -version v0.2.0
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	template := flag.String("template", "", "write the template of a limiter alone to a `FILE`")
	version := flag.String("version", "v0.0.0-dev", "the `VERSION` of the release in that template")
	flag.Parse()
	run := sample
	if *template != "" {
		run = func() error { return writeTemplate(*version, *template) }
	}
	err := run()
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
}

func sample() error {
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
