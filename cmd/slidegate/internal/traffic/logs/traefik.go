package logs

import (
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

// traefik has the fields of Traefik's access logs in JSON, as "Logs & Access
// Logs" of its documentation lists them. The client is the last entry of
// ClientHost: Traefik puts the X-Forwarded-For of a trusted proxy there.
var traefik = table{
	marks: []string{"StartUTC", "StartLocal", "ClientHost", "ClientAddr", "RequestPath"},
	times: []timeField{{"StartUTC", anyTime}, {"StartLocal", anyTime}, {"time", anyTime}},
	path:  []string{"RequestPath"},
	fields: []field{
		{[]string{"ClientHost", "ClientAddr"}, func(r *record, value string) error { return setIP(r, request.LastOf(value)) }},
		{[]string{"RequestMethod"}, setMethod},
		{[]string{"DownstreamStatus", "OriginStatus"}, setStatus},
		{[]string{"RequestHost"}, setHeader("host")},
	},
	finish: func(l namedFields, r *record) error {
		o, _ := l.(jsonObject)
		for field := range o {
			name, ok := strings.CutPrefix(field, "request_")
			if !ok || strings.EqualFold(name, "x-forwarded-for") {
				continue
			}
			if value := first(o, field); value != redacted {
				r.addHeader(name, value)
			}
		}
		return nil
	},
}
