package decideapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/rules"
)

// CheckUsagePath returns why a path cannot answer with the usage of callers.
func CheckUsagePath(path string) error {
	taken := []string{decisions, forwardAuth, authRequest, extAuthz, openAPI, health}
	if slices.Contains(taken, path) || strings.HasPrefix(path, extAuthz+"/") {
		return fmt.Errorf("%s is an endpoint of decisions: want another path, such as /usage", path)
	}
	return usage.CheckPath(path)
}

// reportUsage answers POST with a request, which states the caller as for a
// decision. Nothing is charged.
func (s *Server) reportUsage(w http.ResponseWriter, r *http.Request) {
	req := s.stated(w, r)
	if req == nil {
		return
	}
	err := s.decider.Authenticate(r.Context(), req)
	var report *usage.Report
	if err == nil {
		report, err = s.Usage(r.Context(), req)
	}
	if unmet, ok := errors.AsType[*rules.UnmetError](err); ok {
		badRequest("/ip", unmet.Error()).write(w)
		return
	}
	if errors.Is(err, usage.ErrRefused) {
		newProblem(http.StatusForbidden, "%v: ask %s what to answer", err, decisions).write(w)
		return
	}
	if err != nil {
		if r.Context().Err() == nil {
			s.log.ErrorContext(r.Context(), "cannot report a caller's usage", "error", err)
		}
		p := noDecision()
		p.Detail = "the usage of the caller is not known now: the log of slidegate says why"
		p.write(w)
		return
	}
	usage.Write(w, report, nil)
}
