package headers

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/slidegate/slidegate/internal/rules"
)

// ProblemType is the media type of problem details.
const ProblemType = "application/problem+json"

// Denial is what answers a denied request, beside its fields.
type Denial struct {
	Status      int
	ContentType string
	Body        string
}

// Denial returns the rules' own answer to a denial, or problem details with
// the status of the problem: 429 for most. A status of 429 in the rules does
// not replace another one of a problem.
func (a *Answer) Denial() Denial {
	own := cmp.Or(a.Denied, &rules.Denied{})
	d := Denial{Status: cmp.Or(int(own.Status), http.StatusTooManyRequests), ContentType: cmp.Or(own.ContentType, ProblemType)}
	if d.Status == http.StatusTooManyRequests {
		d.Status = cmp.Or(a.Problem.status, d.Status)
	}
	if d.Body = rules.FillBody(own.Body, a.variable); own.Body == "" {
		d.Body = ProblemBody(d.Status, a.Problem, a.Rule)
	}
	return d
}

// IsCommon reports whether the denial is answered like most: by problem details
// with status 429.
func (a *Answer) IsCommon() bool { return a.Denied == nil && a.Problem.status == 0 }

// variable returns the value of one of rules.BodyVariables.
func (a *Answer) variable(name string) string {
	return map[string]string{
		"rule":          a.Rule,
		"limit":         a.Limit,
		"remaining":     a.Remaining,
		"reset":         a.Reset,
		"retryAfter":    a.RetryAfter,
		"degraded":      strconv.FormatBool(a.Degraded),
		"problemType":   a.Problem.Type,
		"problemTitle":  a.Problem.Title,
		"problemDetail": a.Problem.Detail,
	}[name]
}

// ProblemBody returns problem details of RFC 9457, with the member that
// draft-ietf-httpapi-ratelimit-headers adds, "" for no rule.
func ProblemBody(status int, p Problem, rule string) string {
	body := struct {
		Type     string   `json:"type"`
		Title    string   `json:"title"`
		Status   int      `json:"status"`
		Detail   string   `json:"detail,omitempty"`
		Violated []string `json:"violated-policies,omitempty"`
	}{Type: p.Type, Title: p.Title, Status: status, Detail: p.Detail}
	if rule != "" {
		body.Violated = []string{rule}
	}
	encoded, _ := json.Marshal(body) // texts and a number
	return string(encoded) + "\n"
}
