// Package rulestable loads a gate's rules from a DynamoDB table, as the Lambda
// authorizer does. All processes change to newer rules within ten seconds:
//
//	slidegate tables create --rules rules
//	slidegate rules apply rules.yaml --rules dynamodb://rules
//
// Overrides that operators set by command, such as `slidegate overrides set` and
// `slidegate grant`, apply within ten seconds too. So do those that a program
// sets, such as the webhook of a billing system: see [Table.SetOverride].
//
// # Cost
//
// A process reads one small item in ten seconds, and the rules themselves when
// they have changed. For rules that take overrides it reads one item in ten
// seconds for each key that sends requests. Its role needs dynamodb:GetItem on
// the table. A program that changes overrides needs dynamodb:PutItem and
// dynamodb:DeleteItem too, on the partition keys "override#" with the rule's name
// and "history": GrantOverrides of the CDK construct grants that.
package rulestable

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// Table is a table of rules, for [gate.New].
//
// The rules in force stay while the table cannot be read, or holds rules that
// this version of the package cannot use; the gate's log says so. If that is so
// when a process starts, each decision fails, and the middleware answers with
// status 503, until the table can be read; [WithFallback] gives rules for that
// time. While nothing was ever published, every request is allowed, and its
// decision is Degraded.
//
// authentication in published rules has no effect: a program passes on the claims
// that it has verified, by limithttp.WithRequest. The gate's log warns of such rules.
//
// Published rules state what happens while the counters' store does not answer,
// so gate.New refuses an ErrorPolicy. Secrets that they name are read from the
// environment; without them, the rules cannot be used.
type Table struct {
	client   *dynamo.Client
	name     string
	fallback gate.RuleSource
}

// Option sets up a Table.
type Option func(*Table)

// WithFallback starts a process with these rules, such as a file of package
// rulesfile that the deployment carries, if the table cannot be read or holds no
// rules. The first rules that are read replace them.
func WithFallback(rules gate.RuleSource) Option {
	return func(t *Table) { t.fallback = rules }
}

// Open returns the rules of a table. It makes no call yet: the first decision
// reads the table, for 3 seconds at most.
//
// Open leaves your client as it is, and makes a client of its own from the same
// settings that does not retry: the next decision reads again.
func Open(client *dynamodb.Client, table string, options ...Option) *Table {
	t := &Table{client: dynamo.NewClient(client, time.Now), name: table}
	for _, o := range options {
		o(t)
	}
	return t
}

// OpenRules is for package gate.
func (t *Table) OpenRules(of setup.RuleOptions) (rules setup.Rules, err error) {
	if of.Defaults != (ruledoc.Defaults{}) {
		return rules, errors.New("rulestable: the ErrorPolicy has no effect, because published rules state their own: write on_error into them")
	}
	o := ruletable.SourceOptions{Prepare: app.NewLibraryPrepare(of.Log), AllowUnpublished: true}
	if t.fallback != nil {
		opened, err := t.fallback.OpenRules(of)
		if err != nil {
			return rules, err
		}
		if o.Fallback, err = opened.Rules(context.Background(), time.Now()); err != nil {
			return rules, err
		}
	}
	client := t.client.Guarded(breaker.New(time.Now, breaker.LogChanges(of.Log, "dynamodb://"+t.name)), dynamo.MaxLookups)
	rules.RuleSource, rules.Overrides = app.NewTable(client, t.name, o, of.Log)
	return rules, nil
}
