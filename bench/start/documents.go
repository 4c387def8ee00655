package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// shapes are documents by their kind, of a size.
var shapes = map[string]func(n int) string{
	// Rules with one limit and a path.
	"plain": func(n int) string {
		return "rules:\n" + repeat(n, func(i int) string {
			return fmt.Sprintf("  - {name: r%d, when: {path: /v1/service-%d/**}, key: 'ip:{ip}', limits: [{capacity: 100, window: 60s}]}\n", i, i)
		})
	},
	// Rules with several limits and selectors, plans, and a candidate.
	"rich": func(n int) string {
		return "plan: {from: jwt.plan}\nplans:\n  pro:\n" + repeat(n, func(i int) string { return fmt.Sprintf("    r%d: {burst: 50, hour: 5000, month: 90000}\n", i) }) +
			"rules:\n" + repeat(n, func(i int) string {
			return fmt.Sprintf("  - {name: r%d, when: {methods: [GET, POST], path: '/v%d/*/items/*', caller: known}, key: 'tenant:{jwt.org}|user:{jwt.sub}', "+
				"limits: [{name: burst, capacity: 20, window: 1s}, {name: hour, capacity: 1000, window: 1h}, "+
				"{name: month, algorithm: fixed_window, capacity: 20000, window: 1mo, timezone: Europe/Berlin}]}\n", i, i)
		})
	},
	// Rules with a path pattern that starts with a wildcard.
	"wild": func(n int) string {
		return "rules:\n" + repeat(n, func(i int) string {
			return fmt.Sprintf("  - {name: r%d, when: {path: '/*/**/service-%d/**'}, key: 'user:{header.x-user}|{query.page}', limits: [{capacity: 100, window: 60s}]}\n", i, i)
		})
	},
	// The shortest rules.
	"short": func(n int) string {
		return "rules:\n" + repeat(n, func(i int) string {
			return fmt.Sprintf("  - {name: r%x, key: a, limits: [{capacity: 1, window: 1s}]}\n", i)
		})
	},
	// Rules with as many limits as a rule may have.
	"limits": func(n int) string {
		return "rules:\n" + repeat(n, func(i int) string {
			limits := strings.TrimSuffix(repeat(8, func(j int) string { return fmt.Sprintf("{name: l%d, capacity: 1, window: 1s}, ", j) }), ", ")
			return fmt.Sprintf("  - {name: r%x, key: a, limits: [%s]}\n", i, limits)
		})
	},
	// Long paths that begin alike, and overrides with a rule for each.
	"deep": func(n int) string {
		return "rules:\n" + repeat(n, func(i int) string {
			return fmt.Sprintf("  - {name: r%x, when: {path: '/a/*/a/*/a/*/a/*/a/*/a/*/%x/**'}, key: 'k:{jwt./a/b}', overrides: true, limits: [{capacity: 100, window: 60s}]}\n", i, i)
		}) + "overrides:\n" + repeat(n, func(i int) string { return fmt.Sprintf("  'r%x': {'k:1': {unlimited: true}}\n", i) })
	},
	// A hundred plans, each with a capacity for every rule.
	"plans": func(n int) string {
		plan := func(p int) string {
			return fmt.Sprintf("  p%d:\n", p) + repeat(n, func(i int) string { return fmt.Sprintf("    r%d: %d\n", i, 100+p) })
		}
		return "plan: {from: jwt.plan}\nplans:\n" + repeat(100, plan) + "rules:\n" + repeat(n, func(i int) string {
			return fmt.Sprintf("  - {name: r%d, when: {path: /v1/service-%d/**, caller: known}, key: 'u:{jwt.sub}', limits: [{capacity: 100, window: 60s}]}\n", i, i)
		})
	},
	// Rules without a path, which every request meets, with a calendar window.
	"months": func(n int) string {
		return "rules:\n" + repeat(n, func(i int) string {
			return fmt.Sprintf("  - {name: r%d, when: {methods: [GET, PUT], cidrs: [10.0.0.0/8, '2001:db8::/32']}, key: 'ip:{ip}|{header.x-a}|{query.b}', "+
				"limits: [{algorithm: fixed_window, capacity: 100, window: 1mo, timezone: Europe/Berlin, anchor: 3}]}\n", i)
		})
	},
	// Overrides of one rule.
	"overrides": func(n int) string {
		return "rules: [{name: api, key: 'ip:{ip}', overrides: true, limits: [{capacity: 100, window: 60s}]}]\noverrides:\n  api:\n" + repeat(n, func(i int) string {
			return fmt.Sprintf("    'ip:10.%d.%d.%d': {capacity: %d, why: contract}\n", i>>16, i>>8&255, i&255, 100+i)
		})
	},
	// Banned networks.
	"bans": func(n int) string {
		return "rules: []\ndeny:\n" + repeat(n, func(i int) string { return fmt.Sprintf("  - {cidrs: [10.%d.%d.%d/32]}\n", i>>16, i>>8&255, i&255) })
	},
	// Banned networks in one entry.
	"cidrs": func(n int) string {
		return "rules: []\ndeny:\n  - cidrs:\n" + repeat(n, func(i int) string { return fmt.Sprintf("    - 10.%d.%d.%d/32\n", i>>16, i>>8&255, i&255) })
	},
}

func repeat(n int, line func(i int) string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(line(i))
	}
	return all.String()
}

// publish returns the item that a publish of the rules file stores, as JSON of
// DynamoDB, and the size of the document as JSON.
func publish(file string) (item []byte, size int, err error) {
	set, err := rulefile.Parse("rules.yaml", []byte(file))
	if err != nil {
		return nil, 0, err
	}
	document, err := ruledoc.Marshal(set.Document())
	if err != nil {
		return nil, 0, err
	}
	table := &captured{}
	if _, err = ruletable.New(table, "rules").Publish(context.Background(), ruletable.Version{Text: []byte(file), Document: set.Document()}, 0); err != nil {
		return nil, 0, err
	}
	attributes := map[string]any{}
	for name, value := range table.item {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			attributes[name] = map[string]string{"S": v.Value}
		case *types.AttributeValueMemberB:
			attributes[name] = map[string]string{"B": base64.StdEncoding.EncodeToString(v.Value)}
		}
	}
	item, err = json.Marshal(map[string]any{"Item": attributes})
	return item, len(document), err
}

// captured is an empty table that keeps what is published.
type captured struct {
	ruletable.API
	item map[string]types.AttributeValue
}

func (c *captured) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{}, nil
}

func (c *captured) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.item = in.TransactItems[0].Put.Item
	return &dynamodb.TransactWriteItemsOutput{}, nil
}
