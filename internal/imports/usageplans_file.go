package imports

import (
	"math"
	"math/big"
	"strconv"
)

// usagePlan is an item of what `aws apigateway get-usage-plans` prints (Amazon API Gateway API reference, UsagePlan).
type usagePlan struct {
	spot
	id, name string
	throttle *throttle
	quota    *quota
	stages   []apiStage

	called     string          // in the document
	capacities map[*form]int64 // what it has
	unsaid     []string        // the kinds of what it has and could not be carried over
	said       bool            // it is in the document
}

// String returns the plan as people know it.
func (p *usagePlan) String() string {
	if p.name == "" {
		return show(p.id)
	}
	return show(p.name) + " (" + show(p.id) + ")"
}

// throttle is a token bucket: rate requests a second, and a burst.
type throttle struct {
	spot
	rate  *big.Rat // nil where it is not said, or 0
	burst int64
}

type quota struct {
	spot
	limit  int64
	offset int64
	period string // as a window
}

type apiStage struct {
	spot
	api, stage string
	methods    []methodThrottle
}

type methodThrottle struct {
	path string // such as "/pets/GET"
	throttle
}

// planFile reads usage plans and lists what is for people, or for billing.
type planFile struct {
	*tree
	*losses
}

func (f *planFile) items(v value, each func(value)) {
	fields := f.fields(v, "items", "position", "NextToken")
	if fields["items"].missing() {
		f.fail(v, "items is missing: give what the AWS CLI prints, as JSON")
	}
	for _, more := range []string{"position", "NextToken"} {
		if v := fields[more]; !v.missing() {
			f.lose(f.spot(v), "the items after the last one", "this is one page of several: print them all, without --no-paginate and --max-items")
		}
	}
	for _, v := range f.list(fields["items"]) {
		each(v)
	}
}

// unread are the fields that limit nothing.
var unread = []struct{ name, why string }{
	{"description", "is for people"},
	{"productCode", "AWS Marketplace bills by it, and nothing here does"},
	{"tags", "are for people, and for AWS"},
}

func (f *planFile) plan(v value) *usagePlan {
	fields := f.fields(v, "id", "name", "description", "apiStages", "throttle", "quota", "productCode", "tags")
	p := &usagePlan{
		capacities: map[*form]int64{}, spot: f.spot(v), id: f.text(fields["id"]), name: f.text(fields["name"]),
		throttle: f.throttle(fields["throttle"]), quota: f.quota(fields["quota"]),
	}
	if p.id == "" {
		f.fail(v, "id is missing: give what `aws apigateway get-usage-plans` prints, as JSON")
	}
	for _, v := range f.list(fields["apiStages"]) {
		p.stages = append(p.stages, f.stage(v))
	}
	for _, u := range unread {
		if v := fields[u.name]; !v.missing() {
			f.lose(f.spot(v), "plan "+p.String()+": "+u.name, u.why)
		}
	}
	return p
}

func (f *planFile) throttle(v value) *throttle {
	if v.missing() {
		return nil
	}
	fields := f.fields(v, "rateLimit", "burstLimit")
	return &throttle{spot: f.spot(v), rate: f.rate(fields["rateLimit"]), burst: f.whole(fields["burstLimit"], math.MaxInt32)}
}

// rate reads a decimal number, which JSON may write with an exponent.
func (f *planFile) rate(v value) *big.Rat {
	if v.missing() {
		return nil
	}
	const most = 1e9 // a second, for one in a nanosecond is the most that a bucket counts
	text := f.text(v)
	n, err := strconv.ParseFloat(text, 64)
	rate, ok := new(big.Rat).SetString(strconv.FormatFloat(n, 'f', -1, 64))
	if err != nil || !ok || n < 0 || n > most {
		f.fail(v, "must be a number from 0 to %.0f, and is %s", most, v.is())
		return nil
	}
	if rate.Sign() == 0 {
		return nil
	}
	return rate
}

func (f *planFile) quota(v value) *quota {
	if v.missing() {
		return nil
	}
	fields := f.fields(v, "limit", "offset", "period")
	q := &quota{
		spot: f.spot(v), limit: f.whole(fields["limit"], math.MaxInt32), offset: f.whole(fields["offset"], math.MaxInt32),
	}
	period := f.text(fields["period"])
	if q.period = periods[period]; q.period == "" {
		f.fail(v, "period %q is none of DAY, WEEK and MONTH", short(period))
	}
	return q
}

// periods are windows of the calendar, in UTC.
var periods = map[string]string{"DAY": "1d", "WEEK": "1w", "MONTH": "1mo"}

func (f *planFile) stage(v value) apiStage {
	fields := f.fields(v, "apiId", "stage", "throttle")
	s := apiStage{spot: f.spot(v), api: f.text(fields["apiId"]), stage: f.text(fields["stage"])}
	if fields["throttle"].missing() {
		return s
	}
	for _, e := range f.entries(fields["throttle"]) {
		if t := f.throttle(e.value); t != nil {
			s.methods = append(s.methods, methodThrottle{e.name, *t})
		}
	}
	return s
}
