package aws

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// The policy is for this stack and bucket, and for the region's partition.
func TestPolicy(t *testing.T) {
	for _, test := range []struct{ region, stack, bucket, want string }{
		{"eu-north-1", "shop", "", `"arn:aws:s3:::slidegate-*/slidegate/*"`},
		{"cn-north-1", "shop", "mine", `"arn:aws-cn:s3:::mine/slidegate/*"`},
		{"us-gov-west-1", "shop", "", `"arn:aws-us-gov:cloudformation:*:*:stack/shop/*"`},
		{"", "shop", "", `"arn:aws:secretsmanager:*:*:secret:shop/*"`},
	} {
		if text := Policy(test.region, Options{Stack: test.stack, Bucket: test.bucket}); !strings.Contains(text, test.want) || !json.Valid([]byte(text)) {
			t.Errorf("%s\nwant %s", text, test.want)
		}
	}
}

// TestPolicyOfTables: who attaches APIs writes no rules, overrides and API keys.
func TestPolicyOfTables(t *testing.T) {
	var p testPolicy
	if err := json.Unmarshal([]byte(Policy("", Options{Stack: "shop"})), &p); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Statement {
		if a := fmt.Sprint(s.Action); (strings.Contains(a, "dynamodb:PutItem") || strings.Contains(a, "dynamodb:Query")) && s.Condition["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"] != "attached" {
			t.Errorf("%s is of all items of %v", a, s.Resource)
		}
	}
}

type testStatement struct {
	Sid, Effect string
	Resource    any
	Action      any
	Condition   map[string]map[string]string
}

type testPolicy struct{ Statement []testStatement }

// rights returns the resource, and the value of the condition, of each right of IAM
// to make roles and to pass them on.
func (p testPolicy) rights() map[string]string {
	found := map[string]string{}
	for _, s := range p.Statement {
		actions, _ := s.Action.([]any)
		if actions == nil {
			actions = []any{s.Action}
		}
		for _, action := range []any{"iam:CreateRole", "iam:PutRolePolicy", "iam:PassRole"} {
			if slices.Contains(actions, action) {
				value := ""
				for key, is := range s.Condition["StringEquals"] {
					value = " if " + key + " is " + is
				}
				found[action.(string)] += s.Resource.(string) + value
			}
		}
	}
	return found
}

// TestPolicyOfRoles: whoever deploys passes roles to Lambda alone, and with a
// permissions boundary makes none without it. A role of CloudFormation takes these
// rights away from the caller, who may pass on that role alone.
func TestPolicyOfRoles(t *testing.T) {
	const roles, boundary, role = "arn:aws:iam::*:role/shop-*", "arn:aws:iam::123456789012:policy/BUCKET", "arn:aws:iam::123456789012:role/deploy"
	const bounds, toLambda = " if iam:PermissionsBoundary is " + boundary, " if iam:PassedToService is lambda.amazonaws.com"
	unbounded := map[string]string{"iam:CreateRole": roles, "iam:PutRolePolicy": roles, "iam:PassRole": roles + toLambda}
	bounded := map[string]string{"iam:CreateRole": roles + bounds, "iam:PutRolePolicy": roles + bounds, "iam:PassRole": roles + toLambda}
	own := map[string]string{"iam:PassRole": role + " if iam:PassedToService is cloudformation.amazonaws.com"}
	for _, test := range []struct {
		name                 string
		boundary, role       *string
		whole, service, call map[string]string
	}{
		{"neither", nil, nil, unbounded, nil, nil},
		{"no boundary", aws.String(""), nil, unbounded, nil, nil},
		{"a boundary", aws.String(boundary), nil, bounded, nil, nil},
		{"a role", nil, aws.String(role), nil, unbounded, own},
		{"both", aws.String(boundary), aws.String(role), nil, bounded, own},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := Policy("eu-north-1", Options{Stack: "shop", PermissionsBoundary: test.boundary, Role: test.role})
			var got struct {
				testPolicy
				Service testPolicy `json:"service_role"`
				Caller  testPolicy
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			for _, part := range []struct {
				name string
				got  testPolicy
				want map[string]string
			}{{"the policy", got.testPolicy, test.whole}, {"service_role", got.Service, test.service}, {"caller", got.Caller, test.call}} {
				if found := part.got.rights(); !maps.Equal(found, part.want) {
					t.Errorf("%s: %v\nwant %v", part.name, found, part.want)
				}
			}
		})
	}
}
