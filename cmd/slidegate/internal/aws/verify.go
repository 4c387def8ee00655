package aws

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// verify compares the code of a stack's functions with the zips of the deployment.
// CloudFormation reads the objects after upload has compared them, so somebody with
// write access to the bucket can replace them in between.
func (a *Account) verify(ctx context.Context, stack string, given map[string]string) error {
	answer, err := a.CloudFormation.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &stack})
	if err != nil {
		return err
	}
	for _, f := range []struct{ resource, key string }{{functionOutput, given[authorizerKey]}, {"Operations", given[operationsKey]}} {
		i := slices.IndexFunc(answer.StackResources, func(r types.StackResource) bool {
			id := cdkHash.ReplaceAllString(aws.ToString(r.LogicalResourceId), "")
			return aws.ToString(r.ResourceType) == "AWS::Lambda::Function" && strings.HasSuffix(id, f.resource)
		})
		if i < 0 {
			return fmt.Errorf("it has no function whose logical id ends in %s", f.resource)
		}
		name := answer.StackResources[i].PhysicalResourceId
		function, err := a.Functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: name})
		if err != nil {
			return err
		}
		want := strings.TrimSuffix(strings.TrimPrefix(f.key, prefix), ".zip")
		if has := hexOf(function.CodeSha256); has != want {
			return fmt.Errorf("function %s runs other code: its SHA-256 is %s, and that of the deployed zip is %s; somebody changed the function, or the object in the bucket: "+
				"find out who, and deploy again, which compares the object; if this remains, run `%s`, and deploy once more", *name, has, want, UpdateCode(*name, given[codeBucket], f.key))
		}
	}
	return nil
}

// UpdateCode is the command that gives a function the code of an object.
func UpdateCode(function, bucket, key string) string {
	return fmt.Sprintf("aws lambda update-function-code --function-name %s --s3-bucket %s --s3-key %s", function, bucket, key)
}

// Covers reports whether a pattern of IAM covers a text.
func Covers[T ~string](pattern T, text string) bool {
	covered, err := regexp.MatchString("(?i)^"+strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(string(pattern)))+"$", text)
	return err == nil && covered
}
