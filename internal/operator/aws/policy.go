package aws

import (
	"cmp"
	_ "embed"
	"strings"
)

//go:embed policy.json
var policy string

// Policy returns the rights that the commands for a stack and its APIs need, as an
// IAM policy. CloudFormation acts with the rights of its caller, so they cover the
// stack's resources, and secrets whose names begin with the stack's name and a
// slash. An empty bucket stands for those that deployments choose themselves.
func Policy(region, stack, bucket string) string {
	return strings.NewReplacer("PARTITION", partitionOf(region), "STACK", stack, "BUCKET", cmp.Or(bucket, "slidegate-*")).Replace(policy)
}

// partitionOf returns the partition of a region's ARNs.
func partitionOf(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}
