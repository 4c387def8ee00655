// Command plain is the least CDK app with a limiter.
package main

import (
	"log"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/ratelimit"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	if _, err := ratelimit.New(awscdk.NewStack(app, jsii.String("Plain"), nil), jsii.String("RateLimit"), nil); err != nil {
		log.Fatal(err)
	}
	app.Synth(nil)
}
