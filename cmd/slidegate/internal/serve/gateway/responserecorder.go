package gateway

import (
	"context"
	"net/http"

	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// responseRecorder records a backend's answer to a request.
type responseRecorder struct {
	*httplimit.Recorder
	aborted  bool // the client broke off its request, so the backend did not give the answer
	decision *apigw.Context
}

type recorderKey struct{}

// record returns a recorder of the answer to a request, and the request with it.
func record(w http.ResponseWriter, r *http.Request, decision *apigw.Context) (*responseRecorder, *http.Request) {
	recorder := &responseRecorder{Recorder: httplimit.NewRecorder(w, r, nil), decision: decision}
	return recorder, r.WithContext(context.WithValue(r.Context(), recorderKey{}, recorder))
}

func recorderOf(r *http.Request) *responseRecorder {
	return r.Context().Value(recorderKey{}).(*responseRecorder)
}

// outcome returns the outcome of the request after the answer has ended, and
// the members of its costs that cannot be parsed.
func (w *responseRecorder) outcome() (o *engine.Outcome, malformed []string) {
	o, malformed = w.Outcome()
	if o.Aborted = w.aborted; w.aborted {
		o.Status = 0 // the gateway's own status, which must not refund anything
	}
	return o, malformed
}
