// Package doctor compares a deployed limiter with its template, and says how
// to mend what differs. It only reads.
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
)

// Doctor examines limiters in one region of an account.
type Doctor struct {
	Stacks    Stacks
	Functions Functions
	Tables    Tables
	Roles     Roles
	Alarms    Alarms
	APIs      apis.Reader
	Region    string

	// Emulator names the emulator that stands in for AWS; "" for AWS itself.
	Emulator func(context.Context) string
	// Ahead returns how far the clock of this machine is ahead of AWS's. ok is
	// false while AWS has answered too seldom to know.
	Ahead func() (by time.Duration, ok bool)
}

// Connect returns a doctor with the usual AWS variables and files. It calls nothing
// yet.
func Connect(ctx context.Context) (*Doctor, error) {
	cfg, err := awsconfig.Load(ctx)
	if err != nil {
		return nil, err
	}
	db, functions := dynamodb.NewFromConfig(cfg), lambda.NewFromConfig(cfg)
	tables := dynamo.NewClient(db, time.Now)
	return &Doctor{
		Stacks: aws.New(cfg), Functions: functions, Tables: tables, Roles: iam.NewFromConfig(cfg),
		Alarms: cloudwatch.NewFromConfig(cfg), APIs: apis.Reader{REST: apigateway.NewFromConfig(cfg), V2: apigatewayv2.NewFromConfig(cfg)}, Region: cfg.Region,
		// The tables may be in an emulator of DynamoDB alone.
		Emulator: func(ctx context.Context) string {
			return cmp.Or(emulatorAt(ctx, functions.Options().BaseEndpoint), emulatorAt(ctx, db.Options().BaseEndpoint))
		},
		Ahead: func() (time.Duration, bool) { return time.Since(tables.Clock.Now()), tables.Clock.Confirmed() },
	}, nil
}

// Report is the result of an examination.
type Report struct {
	Stack     string      `json:"stack"`
	Region    string      `json:"region"`
	Function  string      `json:"function"`
	APIs      []string    `json:"apis"`   // whose authorizer is the function
	Checks    int         `json:"checks"` // that were made
	Findings  []Finding   `json:"findings"`
	Notes     []Finding   `json:"notes"` // what may be as it is
	Unchecked []Unchecked `json:"unchecked"`
}

// Finding is a fault of the deployment, with its mend.
type Finding struct {
	Check string `json:"check"` // a word of the list in docs/operations.md
	Where string `json:"where"`
	What  string `json:"what"`
	Mend  string `json:"mend"` // commands, mostly
}

// Unchecked is a check that could not be made, such as for a lack of rights.
type Unchecked struct {
	Check string `json:"check"`
	Where string `json:"where"`
	Why   string `json:"why"`
}

// Healthy reports whether every check was made and found nothing, whatever the
// notes say.
func (r *Report) Healthy() bool { return len(r.Findings)+len(r.Unchecked) == 0 }

// exam is one examination.
type exam struct {
	*Doctor
	report   *Report
	deployed aws.Deployed
	emulator string  // "" for AWS itself
	wanted   *wanted // nil without a template
	noWanted error   // why there is none
	function *lambda.GetFunctionConfigurationOutput
	policies []policy

	variables       map[string]string // of the function
	counters, rules string            // tables by these variables, or else by the stack's outputs
}

// Examine examines the limiter of a stack that has this id, as aws.Limiter finds
// it. template is a file with its template, empty for that of the command. The error
// is for a limiter that cannot be found.
func (d *Doctor) Examine(ctx context.Context, stack, id, template string) (*Report, error) {
	deployed, err := d.Stacks.Deployed(ctx, stack, id)
	if err != nil {
		return nil, err
	}
	e := &exam{Doctor: d, deployed: deployed, counters: deployed.CountersTable, rules: deployed.RulesTable, report: &Report{
		Stack: stack, Region: d.Region, Function: deployed.Function, APIs: []string{}, Findings: []Finding{}, Notes: []Finding{}, Unchecked: []Unchecked{},
	}}
	e.wanted, e.noWanted = readWanted(template)
	if e.emulator = d.Emulator(ctx); e.emulator != "" {
		e.note("emulator", "region "+d.Region, e.emulator+" stands in for AWS: what it lacks is a note", "")
	}
	of := "function " + deployed.Function
	e.check("version", "stack "+stack, e.checkVersion)
	e.check("function", of, func() error { return e.readFunction(ctx) })
	e.check("code", of, e.checkCode)
	e.check("log-format", of, e.checkLogFormat)
	e.check("concurrency", "account", func() error { return e.checkConcurrency(ctx) })
	e.check("rights", of, func() error { return e.checkRights(ctx) })
	e.checkTables(ctx)
	e.check("alarms", "stack "+stack, func() error { return e.checkAlarms(ctx) })
	e.checkAPIs(ctx)
	e.check("clock", "this machine", e.checkClock)
	return e.report, nil
}

// errNoFunction is returned by checks that need the function's configuration.
var errNoFunction = errors.New("the configuration of the function is not known")

// check makes a check, and reports whether it could be made. If not, the report
// says why.
func (e *exam) check(name, where string, do func() error) bool {
	err := do()
	switch answer, ok := errors.AsType[*smithyhttp.ResponseError](err); {
	case err == nil:
		e.report.Checks++
	case ok && e.emulator != "" && answer.HTTPStatusCode() == http.StatusNotImplemented:
		e.note(name, where, "not checked, because "+e.emulator+" does not have the call: "+err.Error(), "")
	default:
		e.report.Unchecked = append(e.report.Unchecked, Unchecked{name, where, aws.Explain(err).Error()})
	}
	return err == nil
}

// find adds a finding.
func (e *exam) find(check, where, what, mend string) {
	e.report.Findings = append(e.report.Findings, Finding{check, where, what, mend})
}

// note adds what is no fault; mend may be empty.
func (e *exam) note(check, where, what, mend string) {
	e.report.Notes = append(e.report.Notes, Finding{check, where, what, mend})
}

// maxAhead bounds the error of a machine's clock that is no finding.
const maxAhead = time.Second

func (e *exam) checkClock() error {
	by, ok := e.Ahead()
	if !ok {
		return errors.New("AWS's answers do not agree about the time: repeat the command")
	}
	direction := "ahead of"
	if by < 0 {
		direction = "behind"
	}
	if by.Abs() > maxAhead {
		e.find("clock", "this machine", fmt.Sprintf("its clock is %.1f s %s AWS's: windows of limits that this machine counts are shifted by as much",
			by.Abs().Seconds(), direction), "set the clock, such as by `sudo chronyc makestep`, and keep it right by NTP")
	}
	return nil
}

// quoteJSON returns a value as JSON, quoted as an argument for a shell.
func quoteJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // of strings, lists and maps
	}
	return "'" + strings.ReplaceAll(string(data), "'", `'\''`) + "'"
}

// Stacks finds the limiters of stacks.
type Stacks interface {
	Deployed(ctx context.Context, stack, id string) (aws.Deployed, error)
}

// Functions has the calls of AWS Lambda that this package makes.
type Functions interface {
	GetFunctionConfiguration(context.Context, *lambda.GetFunctionConfigurationInput, ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error)
	GetAccountSettings(context.Context, *lambda.GetAccountSettingsInput, ...func(*lambda.Options)) (*lambda.GetAccountSettingsOutput, error)
}

// Tables has the calls of DynamoDB that this package makes.
type Tables interface {
	ruletable.API
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
}

// Roles has the calls of AWS IAM that this package makes.
type Roles interface {
	ListRolePolicies(context.Context, *iam.ListRolePoliciesInput, ...func(*iam.Options)) (*iam.ListRolePoliciesOutput, error)
	GetRolePolicy(context.Context, *iam.GetRolePolicyInput, ...func(*iam.Options)) (*iam.GetRolePolicyOutput, error)
	ListAttachedRolePolicies(context.Context, *iam.ListAttachedRolePoliciesInput, ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error)
}

// Alarms has the calls of Amazon CloudWatch that this package makes.
type Alarms interface {
	DescribeAlarms(context.Context, *cloudwatch.DescribeAlarmsInput, ...func(*cloudwatch.Options)) (*cloudwatch.DescribeAlarmsOutput, error)
}
