package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
)

// right is an action on a resource.
type right struct{ action, on string }

func (r right) String() string { return r.action + " on " + r.on }

// list returns those rights that a test is true for, as texts.
func list(rights []right, test func(right) bool) (all []string) {
	for _, r := range rights {
		if test(r) {
			all = append(all, r.String())
		}
	}
	return all
}

// policy is an inline policy of a role. Expressions of a template's resources
// are names of other resources.
type policy struct {
	name      string
	Version   string
	Statement oneOrMore[statement]
}

type statement struct {
	Effect                            string
	Action                            oneOrMore[string] `json:",omitempty"`
	Resource                          oneOrMore[ref]    `json:",omitempty"`
	NotAction, NotResource, Condition json.RawMessage   `json:",omitempty"`
}

// decides reports whether a policy allows or denies a right. An allowance under a
// condition does not count.
func (p *policy) decides(effect string, r right) bool {
	return slices.ContainsFunc(p.Statement, func(s statement) bool {
		return s.Effect == effect && (effect == "Deny" || s.Condition == nil) &&
			slices.ContainsFunc(s.Action, func(pattern string) bool { return aws.Covers(pattern, r.action) }) &&
			slices.ContainsFunc(s.Resource, func(pattern ref) bool { return aws.Covers(pattern, r.on) })
	})
}

// states returns what the allowances of a policy state, patterns included.
func (p *policy) states() (all []right) {
	for _, s := range p.Statement {
		if s.Effect != "Allow" {
			continue
		}
		if s.NotAction != nil || s.NotResource != nil {
			all = append(all, right{"all but some actions or resources", "NotAction, NotResource"})
		}
		for _, action := range s.Action {
			for _, resource := range s.Resource {
				all = append(all, right{action, string(resource)})
			}
		}
	}
	return all
}

// checkRights compares the rights of the function's role with those of the
// template.
func (e *exam) checkRights(ctx context.Context) error {
	if e.function == nil {
		return errNoFunction
	}
	role := sdk.ToString(e.function.Role)
	role = role[strings.LastIndex(role, "/")+1:]
	if err := e.readPolicies(ctx, role); err != nil {
		return err
	}
	if err := e.checkAttached(ctx, role); err != nil || e.noWanted != nil {
		return cmp.Or(err, e.noWanted)
	}
	want, own := e.rights(ctx), "slidegate"
	for _, p := range e.policies {
		where, mend := "role "+role+", policy "+p.name, fmt.Sprintf("aws iam delete-role-policy --role-name %s --policy-name %s", role, p.name)
		if slices.ContainsFunc(p.states(), func(r right) bool { return slices.Contains(want, r) }) { // it is the limiter's own
			own, mend = p.name, putPolicy(role, p.name, want)
		}
		if extra := list(p.states(), func(r right) bool {
			return !slices.ContainsFunc(want, func(w right) bool { return strings.EqualFold(w.action, r.action) && aws.Covers(w.on, r.on) })
		}); extra != nil {
			e.find("rights", where, "it allows more than the function needs: "+strings.Join(extra, ", "), mend)
		}
		if denied := list(want, func(r right) bool { return p.decides("Deny", r) }); denied != nil {
			e.find("rights", where, "it denies what the function needs: "+strings.Join(denied, ", "), mend)
		}
	}
	if missing := list(want, func(r right) bool {
		return !slices.ContainsFunc(e.policies, func(p policy) bool { return p.decides("Allow", r) })
	}); missing != nil {
		e.find("rights", "role "+role, "the function lacks "+strings.Join(missing, ", "), putPolicy(role, own, want))
	}
	return nil
}

// readPolicies reads the inline policies of a role. They fit on one page.
func (e *exam) readPolicies(ctx context.Context, role string) error {
	list, err := e.Roles.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: &role})
	if err != nil {
		return err
	}
	for _, name := range list.PolicyNames {
		answer, err := e.Roles.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &role, PolicyName: &name})
		if err != nil {
			return err
		}
		p := policy{name: name}
		text, err := url.QueryUnescape(sdk.ToString(answer.PolicyDocument))
		if err == nil {
			err = json.Unmarshal([]byte(text), &p)
		}
		if err != nil {
			return fmt.Errorf("policy %s: %w", name, err)
		}
		e.policies = append(e.policies, p)
	}
	return nil
}

// checkAttached finds managed policies, of which a role has few.
func (e *exam) checkAttached(ctx context.Context, role string) error {
	attached, err := e.Roles.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: &role})
	if err != nil {
		return err
	}
	inVPC := e.function.VpcConfig != nil && len(e.function.VpcConfig.SubnetIds) > 0
	for _, p := range attached.AttachedPolicies {
		arn := sdk.ToString(p.PolicyArn)
		if inVPC && strings.HasSuffix(arn, ":policy/service-role/AWSLambdaVPCAccessExecutionRole") {
			continue // network interfaces have no narrower policy
		}
		e.find("rights", "role "+role, "the policy "+arn+" is attached: the function needs none but its own",
			fmt.Sprintf("aws iam detach-role-policy --role-name %s --policy-arn %s", role, arn))
	}
	return nil
}

// rights returns the wanted rights on this deployment's resources. If keys of the
// app encrypt its tables, what the policies state of these keys is wanted too.
func (e *exam) rights(ctx context.Context) []right {
	on, all := map[string]string{onLog: e.arnOf("logs", "log-group:"+e.logGroup()+":*")}, slices.Clone(e.wanted.rights)
	for name, table := range map[string]string{onCounters: e.counters, onRules: e.rules} {
		on[name] = table
		if !strings.HasPrefix(table, "arn:") {
			on[name] = e.arnOf("dynamodb", "table/"+table)
		}
		answer, err := e.Tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
		if err != nil || answer.Table.SSEDescription == nil {
			continue // the check of the table says so
		}
		for _, p := range e.policies {
			all = append(all, slices.DeleteFunc(p.states(), func(r right) bool { return r.on != sdk.ToString(answer.Table.SSEDescription.KMSMasterKeyArn) })...)
		}
	}
	for i, r := range all {
		all[i].on = cmp.Or(on[r.on], r.on)
	}
	return all
}

// putPolicy is the command that gives a role exactly the wanted rights.
func putPolicy(role, name string, want []right) string {
	document := policy{Version: "2012-10-17"}
	for _, r := range want {
		if last := len(document.Statement) - 1; last >= 0 && string(document.Statement[last].Resource[0]) == r.on {
			document.Statement[last].Action = append(document.Statement[last].Action, r.action)
		} else {
			document.Statement = append(document.Statement, statement{Effect: "Allow", Action: []string{r.action}, Resource: []ref{ref(r.on)}})
		}
	}
	return fmt.Sprintf("aws iam put-role-policy --role-name %s --policy-name %s --policy-document %s", role, name, quoteJSON(document))
}
