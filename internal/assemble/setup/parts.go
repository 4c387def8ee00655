package setup

import (
	"context"
	"log/slog"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// LimiterParts is what a middleware needs of a slidegate.Limiter.
type LimiterParts struct {
	Log    *slog.Logger
	Decide func(ctx context.Context, key string, n int64) (*engine.Decision, error)
	Occupy func(context.Context, *engine.Decision) (work context.Context, occupied bool)
	Finish func(context.Context, *engine.Decision, *engine.Outcome)
}

// GateParts is what a middleware needs of a gate.Gate.
type GateParts struct {
	*Config
	Rules  Rules
	Decide func(context.Context, *request.Request) (*engine.Decision, error)
	Occupy func(context.Context, *engine.Decision) (work context.Context, occupied bool)
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
