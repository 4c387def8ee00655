// The authorizer is the Lambda in front of a REST API: it reads its rules from one DynamoDB table, counts in another, and
// answers with a policy. It is wiring only.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/rules"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	authorizer, err := build(context.Background(), log)
	if err != nil {
		log.Error("authorizer cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(authorizer.HandleRequest)
}

// build reads SLIDEGATE_COUNTERS and SLIDEGATE_RULES, the names of the tables, and SLIDEGATE_DEADLINE, a duration.
func build(ctx context.Context, log *slog.Logger) (*apigw.Authorizer, error) {
	counters, rulesTable := os.Getenv("SLIDEGATE_COUNTERS"), os.Getenv("SLIDEGATE_RULES")
	if counters == "" || rulesTable == "" {
		return nil, errors.New("SLIDEGATE_COUNTERS and SLIDEGATE_RULES must name the tables")
	}
	deadline, err := deadline(os.Getenv("SLIDEGATE_DEADLINE"))
	if err != nil {
		return nil, err
	}
	client, err := dynamo.Connect(ctx, time.Now)
	if err != nil {
		return nil, err
	}
	table := app.NewTable(client, rulesTable, app.NewParser(log), rulesCopy(os.Getenv("LAMBDA_TASK_ROOT"), log), log)
	// Read them while the Lambda starts: the first answer also tells the time. A failure shows again at the first request.
	if _, err := table.Rules.Rules(ctx, client.Clock.Now()); err != nil {
		log.Error("rules", "error", err)
	}
	engine := app.NewEngine(app.Config{
		Rules:     table.Rules,
		Overrides: table.Overrides,
		Store:     app.NewDynamoStore(client, counters, client.Clock.Now),
		Deadline:  deadline,
		Log:       log,
	})
	return apigw.NewAuthorizer(engine, client.Clock.Now), nil
}

// rulesCopy reads the copy of the rules that may lie beside the executable, for a start on a day on which the table cannot
// be read; nil if there is none. One that is not valid is reported, and no reason not to start.
func rulesCopy(dir string, log *slog.Logger) *rules.Set {
	path := filepath.Join(dir, "rules.yaml")
	document, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || dir == "" {
		return nil
	}
	var set *rules.Set
	if err == nil {
		set, err = app.ParseRules(path, document)
	}
	if err != nil {
		log.Error("the copy of the rules in the zip is of no use", "error", err)
	}
	return set
}

func deadline(text string) (time.Duration, error) {
	if text == "" {
		return app.DefaultDeadline, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("SLIDEGATE_DEADLINE is %q: want a duration such as 250ms", text)
	}
	return d, nil
}
