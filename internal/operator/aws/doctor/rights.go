package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// policy is an inline policy of the function's role.
type policy struct {
	name      string
	Version   string
	Statement oneOrMore[statement]
}

// statement is one of a policy.
type statement struct {
	Effect                 string
	Action                 oneOrMore[string] `json:",omitempty"`
	Resource               oneOrMore[string] `json:",omitempty"`
	NotAction, NotResource json.RawMessage   `json:",omitempty"`
	Condition              json.RawMessage   `json:",omitempty"`
}

// oneOrMore is a list, or its only element.
type oneOrMore[T any] []T

// UnmarshalJSON reads both forms.
func (l *oneOrMore[T]) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), "[") {
		return json.Unmarshal(data, (*[]T)(l))
	}
	*l = make([]T, 1)
	return json.Unmarshal(data, &(*l)[0])
}

// matches reports whether a pattern of IAM covers a text.
func matches(pattern, text string) bool {
	covered, err := regexp.MatchString("(?i)^"+strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))+"$", text)
	return err == nil && covered
}

// covers reports whether a statement is about a right.
func (s *statement) covers(r right) bool {
	return slices.ContainsFunc(s.Action, func(p string) bool { return matches(p, r.action) }) &&
		slices.ContainsFunc(s.Resource, func(p string) bool { return matches(p, r.on) })
}

// checkRights compares the rights of the function's role with those of the
// template. Rights under a condition do not count as given.
func (e *exam) checkRights(ctx context.Context) error {
	role := sdk.ToString(e.function.Role)
	role = role[strings.LastIndex(role, "/")+1:]
	attached, err := e.readPolicies(ctx, role)
	if err != nil {
		return err
	}
	if e.noWanted != nil {
		return e.noWanted
	}
	want, keys := e.rights(), e.keys(ctx)
	for _, p := range attached {
		if strings.HasSuffix(sdk.ToString(p.PolicyArn), ":policy/service-role/AWSLambdaVPCAccessExecutionRole") && e.function.VpcConfig != nil && len(e.function.VpcConfig.SubnetIds) > 0 {
			continue // network interfaces have no narrower policy
		}
		e.find("rights", "role "+role, "the policy "+*p.PolicyArn+" is attached: the function needs none but its own",
			fmt.Sprintf("aws iam detach-role-policy --role-name %s --policy-arn %s", role, *p.PolicyArn))
	}
	own := ""
	for _, p := range e.policies {
		mend := fmt.Sprintf("aws iam delete-role-policy --role-name %s --policy-name %s", role, p.name)
		if slices.ContainsFunc(want, p.states) { // it is the limiter's own
			own, mend = cmp.Or(own, p.name), e.putPolicy(role, p.name, want, keys)
		}
		if extra := p.beyond(want, keys); extra != nil {
			e.find("rights", "role "+role+", policy "+p.name, "it allows more than the function needs: "+strings.Join(extra, ", "), mend)
		}
		if denied := p.covered("Deny", want); denied != nil {
			e.find("rights", "role "+role+", policy "+p.name, "it denies what the function needs: "+strings.Join(denied, ", "), mend)
		}
	}
	var missing []string
	for _, r := range want {
		if !slices.ContainsFunc(e.policies, func(p policy) bool { return p.covered("Allow", []right{r}) != nil }) {
			missing = append(missing, r.String())
		}
	}
	if missing != nil {
		e.find("rights", "role "+role, "the function lacks "+strings.Join(missing, ", "), e.putPolicy(role, cmp.Or(own, "slidegate"), want, keys))
	}
	return nil
}

// readPolicies reads the inline policies of a role, and returns the attached ones.
func (e *exam) readPolicies(ctx context.Context, role string) ([]types.AttachedPolicy, error) {
	names, err := pages(func(token *string) ([]string, *string, error) {
		page, err := e.Roles.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: &role, Marker: token})
		if err != nil {
			return nil, nil, err
		}
		return page.PolicyNames, page.Marker, nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		answer, err := e.Roles.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &role, PolicyName: &name})
		if err != nil {
			return nil, err
		}
		p := policy{name: name}
		text, err := url.QueryUnescape(sdk.ToString(answer.PolicyDocument))
		if err == nil {
			err = json.Unmarshal([]byte(text), &p)
		}
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", name, err)
		}
		e.policies = append(e.policies, p)
	}
	return pages(func(token *string) ([]types.AttachedPolicy, *string, error) {
		page, err := e.Roles.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: &role, Marker: token})
		if err != nil {
			return nil, nil, err
		}
		return page.AttachedPolicies, page.Marker, nil
	})
}

// rights returns the wanted rights on this deployment's resources.
func (e *exam) rights() []right {
	group := "/aws/lambda/" + e.deployed.Function
	if c := e.function.LoggingConfig; c != nil && c.LogGroup != nil {
		group = *c.LogGroup
	}
	on := map[string]string{onLog: e.arnOf("logs", "log-group:"+group+":*")}
	for resource, table := range map[string]string{
		onCounters: e.table(countersVariable, e.deployed.CountersTable), onRules: e.table(rulesVariable, e.deployed.RulesTable),
	} {
		on[resource] = table
		if !strings.HasPrefix(table, "arn:") {
			on[resource] = e.arnOf("dynamodb", "table/"+table)
		}
	}
	all := slices.Clone(e.wanted.rights)
	for i, r := range all {
		if on[r.on] != "" {
			all[i].on = on[r.on]
		}
	}
	return all
}

// keys returns the KMS keys of the app that encrypt the tables.
func (e *exam) keys(ctx context.Context) (all []string) {
	for _, table := range []string{e.table(countersVariable, e.deployed.CountersTable), e.table(rulesVariable, e.deployed.RulesTable)} {
		answer, err := e.Tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
		if err == nil && answer.Table.SSEDescription != nil && answer.Table.SSEDescription.KMSMasterKeyArn != nil {
			all = append(all, *answer.Table.SSEDescription.KMSMasterKeyArn)
		}
	}
	return all
}

// states reports whether a policy allows a right by its own name.
func (p *policy) states(r right) bool {
	return slices.ContainsFunc(p.Statement, func(s statement) bool {
		return s.Effect == "Allow" && slices.Contains(s.Action, r.action) && slices.Contains(s.Resource, r.on)
	})
}

// covered returns those rights that statements of a policy allow or deny. An
// allowance under a condition does not count.
func (p *policy) covered(effect string, rights []right) (all []string) {
	for _, r := range rights {
		if slices.ContainsFunc(p.Statement, func(s statement) bool {
			return s.Effect == effect && (effect == "Deny" || s.Condition == nil) && s.covers(r)
		}) {
			all = append(all, r.String())
		}
	}
	return all
}

// beyond returns what a policy allows beside the wanted rights, and beside the use
// of the tables' keys.
func (p *policy) beyond(want []right, keys []string) (extra []string) {
	for _, s := range p.Statement {
		if s.Effect != "Allow" {
			continue
		}
		if s.NotAction != nil || s.NotResource != nil {
			extra = append(extra, "all but some rights (NotAction, NotResource)")
		}
		for _, action := range s.Action {
			for _, resource := range s.Resource {
				known := strings.HasPrefix(action, "kms:") && slices.Contains(keys, resource) ||
					slices.ContainsFunc(want, func(r right) bool { return strings.EqualFold(r.action, action) && matches(r.on, resource) })
				if text := (right{action, resource}).String(); !known && !slices.Contains(extra, text) {
					extra = append(extra, text)
				}
			}
		}
	}
	return extra
}

// putPolicy is the command that gives a role exactly the wanted rights.
func (e *exam) putPolicy(role, name string, want []right, keys []string) string {
	actions := map[string][]string{}
	for _, r := range want {
		actions[r.on] = append(actions[r.on], r.action)
	}
	document := policy{Version: "2012-10-17"}
	for _, on := range slices.Sorted(maps.Keys(actions)) {
		slices.Sort(actions[on])
		document.Statement = append(document.Statement, statement{Effect: "Allow", Action: actions[on], Resource: []string{on}})
	}
	for _, p := range e.policies {
		for _, s := range p.Statement { // of the tables' keys
			if s.Effect == "Allow" && len(s.Resource) > 0 && !slices.ContainsFunc(s.Resource, func(r string) bool { return !slices.Contains(keys, r) }) {
				document.Statement = append(document.Statement, s)
			}
		}
	}
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // of strings and lists
	}
	return fmt.Sprintf("aws iam put-role-policy --role-name %s --policy-name %s --policy-document %s", role, name, quote(string(text)))
}
