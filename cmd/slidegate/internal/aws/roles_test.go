package aws

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// TestRoles: CloudFormation acts with the role that is given, and keeps it. The roles
// of the stack have the permissions boundary that is given.
func TestRoles(t *testing.T) {
	const role, bound = "arn:aws:iam::123456789012:role/deploy", "arn:aws:iam::123456789012:policy/bound"
	c, o, l := newCloud(), release(t), &listener{}
	o.Role, o.PermissionsBoundary, c.script = aws.String(role), aws.String(bound), creates
	if _, err := c.account().Deploy(t.Context(), o, l); err != nil || c.role != role || c.sent[boundary] != bound {
		t.Fatalf("creation: error %v, role %q, parameters %v", err, c.role, c.sent)
	}
	c.keep("shop")
	l.told = nil
	if r, err := c.account().Deploy(t.Context(), o, l); err != nil || r.Status != Unchanged || !strings.HasPrefix(l.told[len(l.told)-1], "warning: nothing changes, so CloudFormation") {
		t.Errorf("a role alone: %+v, error %v, told %q", r, err, l.told)
	}
	o.PermissionsBoundary, c.script = aws.String(""), updates
	if _, err := c.account().Deploy(t.Context(), o, l); err != nil || c.role != role || c.sent[boundary] != "" {
		t.Errorf("an update: error %v, role %q, parameters %v", err, c.role, c.sent)
	}
	c.stacks["shop"].Parameters, c.role = nil, ""
	c.keep("shop")
	c.stacks["shop"].RoleARN, l.told = aws.String(role), nil
	if _, err := c.account().Deploy(t.Context(), o, l); err != nil || len(l.told) != 1 {
		t.Errorf("the role that CloudFormation has: error %v, told %q", err, l.told)
	}
	c.script = []string{"- DELETE_COMPLETE"}
	if _, err := c.account().Delete(t.Context(), "shop", aws.String(role), l); err != nil || c.role != role {
		t.Errorf("deletion: error %v, role %q", err, c.role)
	}
}
