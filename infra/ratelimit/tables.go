package ratelimit

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"
)

// newCounters adds no index and no stream, because every decision would write
// to them. It adds no backup, because a counter has no value after its window.
func newCounters(r *RateLimit, p Props) awsdynamodb.Table {
	table := awsdynamodb.NewTable(r, jsii.String("Counters"), &awsdynamodb.TableProps{
		PartitionKey:         stringKey("k"),
		BillingMode:          awsdynamodb.BillingMode_PAY_PER_REQUEST,
		MaxReadRequestUnits:  ceiling(p.MaxReadRequestUnits),
		MaxWriteRequestUnits: ceiling(p.MaxWriteRequestUnits),
		TimeToLiveAttribute:  jsii.String("ttl"),
		RemovalPolicy:        p.RemovalPolicy,
	})
	acknowledge(table, "DDB3", "a counter has no value after its window")
	return table
}

// newRules adds the table of published rules and overrides. It has backups,
// because these cannot be recreated.
func newRules(r *RateLimit, p Props) awsdynamodb.Table {
	return awsdynamodb.NewTable(r, jsii.String("Rules"), &awsdynamodb.TableProps{
		PartitionKey: stringKey("p"),
		SortKey:      stringKey("s"),
		BillingMode:  awsdynamodb.BillingMode_PAY_PER_REQUEST,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		// Under another policy CloudFormation itself deletes the table at some time:
		// with RETAIN_ON_UPDATE_OR_DELETE when the first deployment fails.
		DeletionProtection: jsii.Bool(p.RemovalPolicy == awscdk.RemovalPolicy_RETAIN),
		RemovalPolicy:      p.RemovalPolicy,
	})
}

func stringKey(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_STRING}
}

func ceiling(units int) *float64 {
	if units == 0 {
		return nil
	}
	return jsii.Number(units)
}
