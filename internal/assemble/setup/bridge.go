package setup

import (
	"context"
	"log/slog"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// What the public packages need of each other's types. The package of a type sets
// its variable when it is initialized, so that the type needs no exported method
// for it.
var (
	// ResultOf returns the verdict of a rule as a slidegate.Result.
	ResultOf func(*engine.Verdict) any
	// LimiterOf returns what a middleware needs of a *slidegate.Limiter, which
	// refunds requests whose answer has one of these statuses.
	LimiterOf func(limiter any, refundOn []string) (*LimiterParts, error)
	// DecisionOf returns a decision as a *gate.Decision.
	DecisionOf func(*engine.Decision) any
	// GateOf returns what a middleware needs of a *gate.Gate.
	GateOf func(gate any) *GateParts
)

// LimiterParts is what a middleware needs of a limiter.
type LimiterParts struct {
	Log    *slog.Logger
	Decide func(ctx context.Context, key string, n int64) (*engine.Decision, error)
	Finish func(context.Context, *engine.Decision, *engine.Outcome)
	// Decision returns the decision that a slidegate.Result of the limiter was.
	Decision func(result any) *engine.Decision
}

// GateParts is what a middleware needs of a gate.
type GateParts struct {
	Log    *slog.Logger
	Decide func(context.Context, *request.Request) (*engine.Decision, error)
	// Rules and Config are for reports of usage.
	Rules  Rules
	Config *Config
	// Request returns what rules see of a *gate.Request.
	Request func(stated any) *request.Request
	// Finish also warns of costs that have no effect, and of malformed ones.
	Finish func(ctx context.Context, d *engine.Decision, o *engine.Outcome, malformed []string)
}

// RuleOptions is what a gate says to its source of rules.
type RuleOptions struct {
	Defaults ruledoc.Defaults // for rules that state none of their own
	Log      *slog.Logger     // of warnings and failures
}

// Rules are open rules, and overrides that operators set; nil for none.
type Rules struct {
	engine.RuleSource
	Overrides engine.OverrideSource
}
