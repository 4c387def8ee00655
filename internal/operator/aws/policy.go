package aws

import (
	"cmp"
	_ "embed"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// callerPolicy is for the calls of the commands, stackPolicy for those that
// CloudFormation makes, and passPolicy lets a caller pass it a role.
var (
	//go:embed policy_caller.json
	callerPolicy string
	//go:embed policy_stack.json
	stackPolicy string
	//go:embed policy_pass.json
	passPolicy string
)

// What each begins with, and what it ends with.
const (
	policyHead = "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": [\n"
	policyTail = "\n  ]\n}\n"
)

// bounded has roles made with a permissions boundary alone.
const bounded = `,
      "Condition": {"StringEquals": {"iam:PermissionsBoundary": "BOUNDARY"}}`

// PolicyOptions say for what a policy is.
type PolicyOptions struct {
	Region, Stack string
	Bucket        string // empty for those that deployments choose themselves
	// PermissionsBoundary and Role are those of Options; nil for none.
	PermissionsBoundary, Role *string
}

// Policy returns the rights that the commands for a stack and its APIs need, as an
// IAM policy. Without a role, CloudFormation acts with the rights of its caller, so
// they cover the stack's resources, and secrets whose names begin with the stack's
// name and a slash. With a role, the policy has two members instead: the policies of
// the role and of the caller.
func Policy(o PolicyOptions) string {
	stack := stackPolicy
	boundary := aws.ToString(o.PermissionsBoundary)
	if boundary == "" {
		stack = strings.Replace(stack, bounded, "", 1)
	}
	text := joinPolicies(callerPolicy, stack)
	if o.Role != nil {
		both := "\n\"service_role\": " + strings.TrimSpace(stack) + ",\n\"caller\": " + strings.TrimSpace(joinPolicies(callerPolicy, passPolicy))
		text = "{" + strings.ReplaceAll(both, "\n", "\n  ") + "\n}\n"
	}
	return strings.NewReplacer("PARTITION", partitionOf(o.Region), "STACK", o.Stack, "BUCKET", cmp.Or(o.Bucket, "slidegate-*"),
		"BOUNDARY", boundary, "ROLE", aws.ToString(o.Role)).Replace(text)
}

// joinPolicies returns the statements of two policies as one.
func joinPolicies(a, b string) string {
	return strings.TrimSuffix(a, policyTail) + ",\n" + strings.TrimPrefix(b, policyHead)
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
