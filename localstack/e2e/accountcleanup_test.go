//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// removed reports what was removed, or has to be removed by hand.
func (a *live) removed(what string, err error) {
	if err != nil {
		a.seen(false, true, what+" is left: remove it by hand", "%v", err)
		return
	}
	a.seen(true, true, "removed", "%s", what)
}

// cleaning bounds the removal of one resource, which goes on after an interrupt.
func cleaning() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Minute)
}

// newBucket creates a bucket for this test alone, which its end removes.
func (a *live) newBucket() (name string) {
	name = "slidegate-" + a.stack + "-" + fmt.Sprint(time.Now().UnixNano())
	in := &s3.CreateBucketInput{Bucket: &name}
	if a.cfg.Region != "us-east-1" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(a.cfg.Region)}
	}
	if _, err := a.objects().CreateBucket(a.ctx, in); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { a.removed("bucket "+name, a.removeBucket(name)) })
	return name
}

func (a *live) objects() *s3.Client {
	return s3.NewFromConfig(a.cfg, func(o *s3.Options) { o.UsePathStyle = a.emulator != "" })
}

func (a *live) removeBucket(name string) error {
	ctx, cancel := cleaning()
	defer cancel()
	list, err := a.objects().ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &name})
	if err != nil {
		return err
	}
	for _, o := range list.Contents {
		if _, err := a.objects().DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &name, Key: o.Key}); err != nil {
			return err
		}
	}
	_, err = a.objects().DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
	return err
}

// removeStack deletes a stack, also one that is still being created.
func (a *live) removeStack(name string) {
	ctx, cancel := cleaning()
	defer cancel()
	stacks := cloudformation.NewFromConfig(a.cfg)
	_, err := stacks.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &name})
	if err == nil {
		err = cloudformation.NewStackDeleteCompleteWaiter(stacks, func(o *cloudformation.StackDeleteCompleteWaiterOptions) {
			o.MinDelay, o.MaxDelay = time.Second, 5*time.Second
		}).Wait(ctx, &cloudformation.DescribeStacksInput{StackName: &name}, 10*time.Minute)
	}
	a.removed("stack "+name, err)
}

// removeLimiter deletes the stack by the command, and then what that keeps: tables
// and the log.
func (a *live) removeLimiter() {
	var report struct{ Kept []struct{ Type, ID string } }
	out, err := a.run("aws", "delete", "--stack", a.stack, "--yes", "--json")
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	a.removed("stack "+a.stack, err)
	for _, k := range report.Kept {
		switch k.Type {
		case "AWS::DynamoDB::Table":
			err = a.removeTable(k.ID)
		case "AWS::Logs::LogGroup":
			err = a.removeLog(k.ID)
		default:
			err = fmt.Errorf("this test does not know how")
		}
		a.removed(k.Type+" "+k.ID, err)
	}
}

// removeTable deletes a table, in spite of its protection.
func (a *live) removeTable(name string) error {
	ctx, cancel := cleaning()
	defer cancel()
	tables := dynamodb.NewFromConfig(a.cfg)
	found, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err == nil && aws.ToBool(found.Table.DeletionProtectionEnabled) {
		if _, err = tables.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: aws.Bool(false)}); err == nil {
			err = dynamodb.NewTableExistsWaiter(tables).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute)
		}
	}
	if err == nil {
		_, err = tables.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
	}
	return err
}

func (a *live) removeLog(name string) error {
	ctx, cancel := cleaning()
	defer cancel()
	_, err := cloudwatchlogs.NewFromConfig(a.cfg).DeleteLogGroup(ctx, &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: &name})
	return err
}
