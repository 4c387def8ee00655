package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// The variables of the function that name its tables.
const (
	countersVariable = "SLIDEGATE_COUNTERS"
	rulesVariable    = "SLIDEGATE_RULES"
)

func (e *exam) checkTables(ctx context.Context) {
	counters, published := e.counters, e.rules
	e.check("counters-table", "table "+counters, func() error {
		return e.checkRegion(ctx, "counters-table", counters, "slidegate tables create --counters "+counters)
	})
	e.check("expiry", "table "+counters, func() error { return e.checkExpiry(ctx, counters) })
	e.check("rules-table", "table "+published, func() error {
		return e.checkRegion(ctx, "rules-table", published, "slidegate tables create --rules "+published+", then slidegate rules apply rules.yaml --rules dynamodb://"+published)
	})
	e.check("rules", "table "+published, func() error { return e.checkRules(ctx, published) })
}

// checkRegion finds a table that is not in the function's region. A variable may
// name it by its ARN.
func (e *exam) checkRegion(ctx context.Context, check, table, create string) error {
	if a, err := arn.Parse(table); err == nil && a.Region != e.Region {
		e.find(check, "table "+table, fmt.Sprintf("it is in region %s, and the function in %s: a limiter has one region", a.Region, e.Region),
			fmt.Sprintf("deploy the limiter in region %s, or with tables in %s", a.Region, e.Region))
		return nil
	}
	_, err := e.Tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if _, gone := errors.AsType[*types.ResourceNotFoundException](err); gone {
		e.find(check, "table "+table, "it is not in region "+e.Region+", where the function looks for it", "give the limiter a table of this region; if it was lost: "+create)
		return nil
	}
	return err
}

func (e *exam) checkExpiry(ctx context.Context, table string) error {
	if e.noWanted != nil {
		return e.noWanted
	}
	now, err := e.Tables.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		return err
	}
	set := func(attribute string, on bool) string {
		return fmt.Sprintf("aws dynamodb update-time-to-live --table-name %s --time-to-live-specification Enabled=%t,AttributeName=%s", table, on, attribute)
	}
	mend := set(e.wanted.expiry, true)
	d := now.TimeToLiveDescription
	off := d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling
	switch {
	case off && e.emulator != "":
		e.note("expiry", "table "+table, "its TTL is off: "+e.emulator+" may take none from templates", mend)
	case off:
		e.find("expiry", "table "+table, "its TTL is off: counters stay for ever, and cost storage", mend)
	case sdk.ToString(d.AttributeName) != e.wanted.expiry:
		e.find("expiry", "table "+table, fmt.Sprintf("its items expire by attribute %s, not %s: counters stay for ever, and cost storage", sdk.ToString(d.AttributeName), e.wanted.expiry),
			set(*d.AttributeName, false)+", and an hour later "+mend)
	}
	return nil
}

// checkRules reads the rules in force as the function does.
func (e *exam) checkRules(ctx context.Context, name string) error {
	table := ruletable.New(e.Tables, name)
	number, err := table.Current(ctx)
	if err == nil {
		err = table.CheckPointer(ctx)
	}
	if err == nil {
		err = e.compile(ctx, table, number)
	}
	_, unanswered := errors.AsType[*smithy.OperationError](err)
	at := " --rules dynamodb://" + name + " --why TEXT"
	switch {
	case errors.Is(err, ruletable.ErrNone):
		e.find("rules", "table "+name, "no rules were ever published: every request is allowed", "slidegate rules apply rules.yaml"+at)
	case errors.Is(err, rules.ErrMissingSecret):
		e.find("rules", "table "+name, "the function lacks a secret of the rules: "+oneLine(err), e.deploy()+" --secret VARIABLE=NAME, by its name in Secrets Manager")
	case err != nil && !unanswered:
		e.find("rules", "table "+name, "the rules in force cannot be read: "+oneLine(err),
			fmt.Sprintf("slidegate rules rollback VERSION%s, or slidegate rules apply rules.yaml%[1]s", at))
	default:
		return err
	}
	return nil
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// compile compiles a version with the secrets that the function has.
func (e *exam) compile(ctx context.Context, table *ruletable.Table, number int64) error {
	set, err := table.Rules(ctx, number)
	if err != nil || e.function == nil {
		return err
	}
	return set.LoadSecrets(func(name string) (string, bool) {
		value, ok := e.variables[name]
		return value, ok
	})
}
