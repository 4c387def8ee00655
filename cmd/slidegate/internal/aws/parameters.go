package aws

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	texttemplate "text/template"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// The parameters of the template.
const (
	codeBucket      = "CodeBucket"
	authorizerKey   = "AuthorizerKey"
	operationsKey   = "OperationsKey"
	architecture    = "Architecture" // arm64 or x86_64
	rulesBucket     = "RulesBucket"
	rulesKey        = "RulesKey"
	rulesHash       = "RulesHash"
	onChangedRules  = "OnChangedRules"
	alarmTopic      = "AlarmTopic"
	maxWritesPerDay = "MaxWritesPerDay"
	boundary        = "PermissionsBoundary"
)

// Secrets are the template's parameters for secrets by the authorizer's variables.
var Secrets = map[string]string{
	"SLIDEGATE_RECEIPT_SECRET": "ReceiptSecret",
	"SLIDEGATE_HASH_SECRET":    "HashSecret",
	"SLIDEGATE_ORIGIN_SECRET":  "OriginSecret",
}

// Parts are what a stack can be without, and the template's parameters for them.
var Parts = map[string]string{"metrics": "Metrics", "alarms": "Alarms", "dashboard": "Dashboard"}

// Functions are what programs invoke and a stack can have, and the template's
// parameters for them.
var Functions = map[string]string{"decide": "Decide", "settle": "Settle"}

// settings returns the parameters that the options state. It refuses rules whose
// secrets the authorizer would not have.
func settings(old *types.Stack, t *template, o Options, rules *rules) (map[string]string, error) {
	given := map[string]string{}
	for variable, secret := range o.Secrets {
		given[Secrets[variable]] = secret
	}
	if rules != nil { // for this deployment alone: what was overwritten once need not be again
		given[onChangedRules] = cmp.Or(o.OnChangedRules, "fail")
	}
	if o.AlarmTopic != nil {
		given[alarmTopic] = *o.AlarmTopic
	}
	if o.PermissionsBoundary != nil {
		given[boundary] = *o.PermissionsBoundary
	}
	if o.MaxWritesPerDay != nil {
		given[maxWritesPerDay] = strconv.Itoa(*o.MaxWritesPerDay)
	}
	give := func(parts map[string]string, listed []string, is, otherwise string) {
		for part, name := range parts {
			if slices.Contains(listed, part) {
				given[name] = is
			} else if listed != nil {
				given[name] = otherwise
			}
		}
	}
	give(Parts, o.Without, off, on)
	give(Functions, o.With, on, off)
	if err := cmp.Or(checkParts(old, given), checkFunctions(old, given)); err != nil {
		return nil, err
	}
	for name := range given {
		if _, ok := t.Parameters[name]; !ok {
			return nil, fmt.Errorf("the template %s has no parameter %s: this command is for templates of another version", t.version(), name)
		}
	}
	if rules == nil {
		return given, nil
	}
	for _, variable := range rules.Secrets {
		parameter, ok := Secrets[variable]
		if !ok {
			return nil, fmt.Errorf("%s names the secret %s, which the stack does not have: name one of %s", rules.name, variable,
				strings.Join(slices.Sorted(maps.Keys(Secrets)), ", "))
		}
		if secret, stated := given[parameter]; secret == "" && (stated || parameterOf(old, parameter) == "") {
			return nil, fmt.Errorf("%s needs the secret %s: give --secret %[2]s=NAME, its name in Secrets Manager", rules.name, variable)
		}
	}
	return given, nil
}

// Values of the parameters for parts and functions.
const on, off = "on", "off"

// checkFunctions refuses functions that programs invoke without the secret that
// signs receipts: they would not start.
func checkFunctions(old *types.Stack, given map[string]string) error {
	value := func(name string) string {
		if stated, ok := given[name]; ok {
			return stated
		}
		return parameterOf(old, name)
	}
	for _, name := range slices.Sorted(maps.Keys(Functions)) {
		if value(Functions[name]) == on && value(Secrets["SLIDEGATE_RECEIPT_SECRET"]) == "" {
			return fmt.Errorf("the function %s needs the secret that signs receipts: give --secret SLIDEGATE_RECEIPT_SECRET=NAME, its name in Secrets Manager", name)
		}
	}
	return nil
}

// checkParts refuses settings for alarms that the stack would be without.
func checkParts(old *types.Stack, given map[string]string) error {
	var needed []string
	if given[alarmTopic] != "" {
		needed = []string{"alarms"}
	}
	if cmp.Or(given[maxWritesPerDay], "0") != "0" {
		needed = []string{"alarms", "metrics"}
	}
	for _, part := range needed {
		if name := Parts[part]; cmp.Or(given[name], parameterOf(old, name)) == off {
			return fmt.Errorf("the stack is without %s: leave out --alarm-topic and --max-writes-per-day, or give --without none", part)
		}
	}
	return nil
}

// checkTopic refuses what is not a topic of the region: alarms reach no other.
func (o *Options) checkTopic(region string) error {
	if o.AlarmTopic == nil || *o.AlarmTopic == "" {
		return nil
	}
	topic, err := arn.Parse(*o.AlarmTopic)
	switch {
	case err != nil || topic.Service != "sns":
		return fmt.Errorf("the topic %s is not the ARN of an SNS topic, such as arn:%s:sns:%s:123456789012:alarms", *o.AlarmTopic, partitionOf(region), region)
	case topic.Region != region:
		return fmt.Errorf("the topic %s is in region %s, and the alarms are in %s: give a topic there", *o.AlarmTopic, topic.Region, region)
	}
	return nil
}

// parameters returns the template's parameters: those given, and the others as the
// stack has them. What neither has keeps its default.
func (t *template) parameters(old *types.Stack, given map[string]string) (all []types.Parameter) {
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		if value, ok := given[name]; ok {
			all = append(all, types.Parameter{ParameterKey: aws.String(name), ParameterValue: aws.String(value)})
		} else if old != nil && slices.ContainsFunc(old.Parameters, func(p types.Parameter) bool { return aws.ToString(p.ParameterKey) == name }) {
			all = append(all, types.Parameter{ParameterKey: aws.String(name), UsePreviousValue: aws.Bool(true)})
		}
	}
	return all
}

// changes reports whether a template and parameters differ from what a stack has.
// AWS would update a stack whose template reads secrets in any case.
func changes(old *types.Stack, t *template, given map[string]string) bool {
	for name, value := range given {
		if parameterOf(old, name) != value {
			return true
		}
	}
	return outputOf(old, versionOutput) != t.version()
}

// parameterOf returns the value of a stack's parameter; "" for none.
func parameterOf(s *types.Stack, name string) string {
	if s != nil {
		for _, p := range s.Parameters {
			if aws.ToString(p.ParameterKey) == name {
				return aws.ToString(p.ParameterValue)
			}
		}
	}
	return ""
}

// outputOf returns the value of a stack's output; "" for none.
func outputOf(s *types.Stack, name string) string {
	for _, o := range s.Outputs {
		if aws.ToString(o.OutputKey) == name {
			return aws.ToString(o.OutputValue)
		}
	}
	return ""
}

//go:embed policy.json.tmpl
var policyText string

var policyTemplate = texttemplate.Must(texttemplate.New("policy").Parse(policyText))

// Policy returns the rights that the commands for a stack and its APIs need in a
// region, as an IAM policy. Of the options, it reads the stack, the bucket (empty if
// each deployment chooses one), the role and the boundary. Without a role,
// CloudFormation acts with the rights of its caller, so they cover the stack's
// resources, and secrets whose names begin with the stack's name and a slash. With a
// role, the policy has two members instead: the policies of the role and of the
// caller.
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
