package aws

import (
	"cmp"
	_ "embed"
	"strings"
	texttemplate "text/template"

	"github.com/aws/aws-sdk-go-v2/aws"
)

//go:embed policy.json.tmpl
var policyText string

var policyTemplate = texttemplate.Must(texttemplate.New("policy").Parse(policyText))

// Policy returns the rights that the commands for a stack and its APIs need in a
// region, as an IAM policy. Of the options, it reads the stack, the bucket (empty for
// those that deployments choose themselves), the role and the boundary. Without a role, CloudFormation acts with the rights of its caller, so
// they cover the stack's resources, and secrets whose names begin with the stack's
// name and a slash. With a role, the policy has two members instead: the policies of
// the role and of the caller.
func Policy(region string, o Options) string {
	var text strings.Builder
	if err := policyTemplate.Execute(&text, map[string]string{"Partition": partitionOf(region), "Stack": o.Stack, "Bucket": cmp.Or(o.Bucket, "slidegate-*"),
		"Boundary": aws.ToString(o.PermissionsBoundary), "Role": aws.ToString(o.Role)}); err != nil {
		panic(err) // a template that parses writes texts
	}
	return text.String()
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
