package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/redis"
	"github.com/slidegate/slidegate/internal/rules"
)

type explainFlags struct {
	placeFlags
	requestFlags
	at   string
	json bool
}

func (c *cli) explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain METHOD PATH --rules FILE|dynamodb://TABLE",
		Short: "Say which rules limit a request, and why",
		Long: `Explain says of one request, as you describe it, what every rule makes of it: whether the rule covers it and if
not why, the key that it counts by, the plan and the override that change its limits, the counter, and what
the request would get. It charges nothing.

With --store it reads the counters; without, it takes them to be empty. Rules in a table are explained with
the overrides set by command, as the table has them now.`,
		Example: `  slidegate explain GET /v1/items --ip 203.0.113.9 --rules rules.yaml
  slidegate explain POST /v1/chat --claim sub=7 --claim plan=pro -H 'X-Tokens: 900' --rules rules.yaml
  slidegate explain POST '/v1/chat?debug=1' --claims '{"sub": "7", "org": {"id": 3}}' --rules rules.yaml --json
  slidegate explain GET /users/7 --route '/users/{id}' --apikey k-17 \
      --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters`,
		Args:              positional(2, 2, "a method and a path"),
		ValidArgsFunction: inTurn(oneOf("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.explain(cmd, &f, args[0], args[1]) },
	}
	f.placeFlags.add(cmd, "")
	f.requestFlags.add(cmd)
	cmd.Flags().StringVar(&f.at, "at", "", "the moment to judge by, a `TIME` such as 2026-12-31T23:59:00Z (default: now)")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *cli) explain(cmd *cobra.Command, f *explainFlags, method, target string) error {
	req, err := f.request(cmd, method, target)
	if err != nil {
		return err
	}
	at, err := parseAt(cmd, f.at)
	if err != nil {
		return err
	}
	where, err := f.resolveOptional(cmd)
	if err != nil {
		return err
	}
	g, err := open(cmd.Context(), where, app.ParseRules, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer g.close()
	ctx, cancel := context.WithTimeout(cmd.Context(), lookTime)
	defer cancel()
	store, now := g.seen(at)
	x := explainer{g.set, g.said(&where, now), &peeked{of: store, found: map[string]limit.Verdict{}}}
	told, err := x.explain(ctx, req)
	if err != nil {
		return err
	}
	if told.Counters = where.storeName(); where.inMemory() {
		told.Counters = ""
	}
	if f.json {
		return printJSON(c.stdout, told)
	}
	return told.print(c.stdout, c.colours(c.stdout))
}

// lookTime bounds what a command looks up in the tables once they have answered.
const lookTime = 15 * time.Second

// parseAt reads --at; the zero Time if it was not given.
func parseAt(cmd *cobra.Command, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 1970 || at.Year() > 2200 {
		return at, usagef(cmd, "--at %s: want a time such as 2026-12-31T23:59:00Z, from 1970 to 2200", text)
	}
	return at, nil
}

// seen returns the counters to look at, empty ones where there is no shared store, and the moment to look at them: now by
// their clock, unless another is given.
func (g *ground) seen(at time.Time) (store peeker, now time.Time) {
	clock := time.Now
	if g.client != nil {
		clock = g.client.Clock.Now
	}
	if now = at; at.IsZero() {
		now = clock()
	}
	switch {
	case g.redis == nil && g.table == "":
		return memory.New(0), now
	case at.IsZero():
		shared, _ := g.shared()
		return shared, now
	case g.redis != nil:
		return redis.New(g.redis, redis.Options{CallerClock: true}), now
	}
	return dynamo.New(g.client, g.table, dynamo.Options{Wall: time.Now}), now
}

// explainer explains requests by rules, overrides and counters.
type explainer struct {
	set   *rules.Set
	said  *said
	store *peeked
}

func (x *explainer) explain(ctx context.Context, req *rules.Request) (*explanation, error) {
	asked := *req // the engine reads the client's address for itself
	told := x.caller(req)
	var err error
	if told.Plan, err = x.plan(ctx, req); err != nil {
		return nil, err
	}
	why, decided := x.set.WhyAmbiguous(req)
	if !decided {
		why, decided = x.set.WhyBanned(req)
	}
	if !decided {
		why, decided = x.set.WhySkipped(req)
	}
	if !decided {
		told.Remark, why = why, ""
	}
	if !decided && !told.Plan.denies() {
		for _, r := range x.set.Rules {
			one, err := x.rule(ctx, r, req, told.Plan.name())
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", r.Name, err)
			}
			told.Rules = append(told.Rules, one)
		}
	}
	d, err := x.decide(ctx, &asked)
	if err != nil {
		return nil, err
	}
	told.conclude(d, x.set, why)
	return told, nil
}
