package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
)

// checkAPIs checks the APIs whose authorizer is the function. HTTP and WebSocket
// APIs are checked as they are configured: their stages mostly deploy changes by
// themselves.
func (e *exam) checkAPIs(ctx context.Context) {
	for _, kind := range []struct {
		where string
		list  func(context.Context) ([]*apis.API, error)
	}{{"REST APIs", e.APIs.RESTs}, {"HTTP and WebSocket APIs", e.APIs.V2s}} {
		e.check("apis", kind.where, func() error {
			found, err := kind.list(ctx)
			for _, api := range found {
				e.check("apis", api.String(), func() error { return e.APIs.Authorizers(ctx, api) })
				if e.own(api) != "" {
					e.examineAPI(ctx, api)
				}
			}
			return err
		})
	}
}

// own returns the id of the API's authorizer that asks the function, or "".
func (e *exam) own(api *apis.API) (id string) {
	for _, a := range api.Authorizers {
		if a.Asks(e.deployed.Function) {
			id = max(id, a.ID)
		}
	}
	return id
}

// examineAPI checks the API's methods and gateway responses, and then whether its
// stages serve them.
func (e *exam) examineAPI(ctx context.Context, api *apis.API) {
	e.report.APIs = append(e.report.APIs, api.String())
	var stages []apis.Stage
	read := e.check("methods", api.String(), func() error { return e.APIs.Methods(ctx, api) })
	then := ""
	if api.Protocol == apis.RESTProtocol {
		read = e.check("gateway-responses", api.String(), func() error { return e.APIs.Responses(ctx, api) }) && read
		e.check("deployment", api.String(), func() (err error) {
			stages, err = e.APIs.Stages(ctx, api)
			return err
		})
		for _, s := range stages {
			then += "; then " + deploy(api, s)
		}
	}
	known := map[string]bool{}
	faults, notes := e.faults(api)
	for _, list := range [][]Finding{faults, notes} {
		for i := range list {
			known[list[i].What] = true
			list[i].Mend += then
		}
	}
	e.report.Findings, e.report.Notes = append(e.report.Findings, faults...), append(e.report.Notes, notes...)
	for _, s := range stages {
		if read {
			e.check("deployment", api.String()+", stage "+s.Name, func() error { return e.checkStage(ctx, api, s, known) })
		}
	}
}

// checkStage compares what a stage serves with the API. Faults of the API itself
// are known.
func (e *exam) checkStage(ctx context.Context, api *apis.API, s apis.Stage, known map[string]bool) error {
	served, err := e.APIs.Served(ctx, api, s.Name)
	if err != nil {
		return err
	}
	if e.emulator != "" && len(served.Responses) == 0 {
		e.note("deployment", api.String()+", stage "+s.Name, e.emulator+" exports no gateway responses, so those that the stage serves are not compared", "")
		served.Responses = nil
	}
	faults, notes := e.faults(served)
	e.compareServed(api, s, faults, known, e.find)
	e.compareServed(api, s, notes, known, e.note)
	return nil
}

// compareServed reports, by find or note, what a stage still serves although the API
// does not have it any more.
func (e *exam) compareServed(api *apis.API, s apis.Stage, served []Finding, known map[string]bool, report func(check, where, what, mend string)) {
	var old []string
	for _, f := range served {
		if !known[f.What] {
			old = append(old, f.What)
		}
	}
	if old != nil {
		report("deployment", api.String()+", stage "+s.Name, "the API was changed and not deployed; the stage still serves: "+strings.Join(old, "; "), deploy(api, s))
	}
}

func deploy(api *apis.API, s apis.Stage) string {
	return fmt.Sprintf("aws apigateway create-deployment --rest-api-id %s --stage-name %s", api.ID, s.Name)
}

// faults returns what is wrong with an API, and what may be as it is, without where
// in AWS it is.
func (e *exam) faults(api *apis.API) (all, notes []Finding) {
	for _, id := range slices.Sorted(maps.Keys(api.Authorizers)) {
		if a := api.Authorizers[id]; a.Asks(e.deployed.Function) && a.TTL > 0 {
			what := fmt.Sprintf("authorizer %s keeps results for %d s: requests pass uncounted meanwhile", a.Name, a.TTL)
			all = append(all, Finding{"cache", api.String(), what, uncache(api, a)})
		}
	}
	own := e.own(api)
	for _, m := range api.Methods {
		if what, mend := e.fault(api, m, own); what != "" {
			all = append(all, Finding{"methods", api.String(), what, mend})
		}
	}
	faults, notes := responseFaults(api)
	return append(all, faults...), notes
}

// fault returns what is wrong with the authorization of a method, and how to mend
// it.
func (e *exam) fault(api *apis.API, m apis.Method, own string) (what, mend string) {
	add := authorize(api, m, own)
	a, ok := api.Authorizers[m.Authorizer]
	ours := a.Asks(e.deployed.Function)
	switch must := m.Limitable(api); {
	case must && !ok && (m.Type == "" || m.Type == apis.None || m.Type == apis.Custom):
		return m.Name + " has no authorizer: nothing limits it", add + " (rules `skip` what shall stay open)"
	case must && !ours:
		name := m.Type
		if ok {
			name = "authorizer " + a.Name
		}
		return m.Name + " has " + name + " in place of the limiter's authorizer: nothing limits it",
			"decide in its function by limitlambda.Wrap, or verify its callers in the rules and: " + add
	case !must && ours:
		return m.Name + " has the limiter's authorizer: preflights carry no credentials, and are counted", authorize(api, m, "")
	}
	return "", ""
}
