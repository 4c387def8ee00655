package logs

import "github.com/slidegate/slidegate/internal/request"

// envoy has the names of the access log in JSON that Istio ("Envoy Access Logs")
// and Envoy Gateway ("Proxy Access Logs") configure. The client is Envoy's
// downstream_remote_address, which may come from X-Forwarded-For. That header is
// left out unless Envoy has added this address to it: a rule's client_ip would
// count back from another one.
var envoy = table{
	marks:  []string{"downstream_remote_address", "response_flags"},
	shared: []string{"start_time"},
	times:  []timeField{{"start_time", anyTime}, {"time", anyTime}},
	path:   []string{"path", "x-envoy-origin-path", ":path"},
	fields: []field{
		{[]string{"downstream_remote_address"}, setIP},
		{[]string{"method", ":method"}, setMethod},
		{[]string{"response_code"}, setStatus},
		{[]string{"authority", ":authority"}, setHeader("host")},
		{[]string{"user_agent", "user-agent"}, setHeader("user-agent")},
		{[]string{"referer"}, setHeader("referer")},
		{[]string{"x_forwarded_for", "x-forwarded-for"}, func(r *record, value string) error {
			if sameAddress(request.LastOf(value), r.IP) {
				r.addHeader("x-forwarded-for", value)
			}
			return nil
		}},
	},
}
