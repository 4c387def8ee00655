package rules

import (
	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// cost compiles what a request takes; nil if something of it is wrong. A client
// that states its cost pays at least Min, which must be above 0: otherwise every
// client would state 0.
func (c *compiler) cost(path problem.Path, d *ruledoc.Cost) *Cost {
	cost := &Cost{Settle: d.Settle, Min: d.Min, Max: d.Max}
	if *d == (ruledoc.Cost{Units: d.Units}) {
		*cost = Fixed(d.Units)
	} else if d.From != "" {
		var wrong problem.Fault
		cost.from, wrong = key.ParseSource(d.From)
		if !wrong.Found() && !cost.from.Kind.IsNamed() {
			wrong = problem.New(problem.Instead, d.From+" states no number", "a header, a parameter or a claim, such as header.x-tokens")
		}
		c.check(path.To("from"), wrong)
	}
	switch {
	case c.isWrong(path):
	case cost.from.Kind.IsClient() && d.Min == 0:
		c.fail(path.To("min"), problem.MissingLeast, d.From)
	case d.Min > d.Max:
		c.fail(path.To("min"), problem.CostAbove, d.Min, d.Max)
	}
	if c.isWrong(path) {
		return nil
	}
	return cost
}

// price returns what a request takes from the limit: the limit's own cost,
// else the rule's, else one unit. A limit of an override without a cost
// inherits one. A cost that no request could ever pay is a problem.
func (c *compiler) price(path problem.Path, d *ruledoc.Limit, l *limit.Limit, in limitContext) Cost {
	at, price := in.costPath, in.cost
	if d.Cost != nil {
		at = path.To("cost")
		price = c.cost(at, d.Cost)
	}
	if price == nil {
		return Cost{Min: 1, Max: 1, Clamp: d.Over == "clamp", inherited: in.override}
	}
	cost := *price
	cost.Clamp = d.Over != ""
	if c.isWrong(path.To("algorithm")) {
		return cost
	}
	if cost.Settle && !l.Correctable() {
		c.fail(at, problem.CannotSettle, path, l.Algorithm, limit.SlidingWindow)
	}
	if most := l.MaxCost(); most != 0 && cost.unpayable(most) {
		c.fail(at, problem.CostTooHigh, cost.Min, problem.Field(SizeField(l.Algorithm)), most, path)
	}
	return cost
}
