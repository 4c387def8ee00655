package headers

// Problem is a type of problem details (RFC 9457) with its title.
type Problem struct{ Type, Title string }

// The problems that a denial can be. The first two are those of draft-ietf-httpapi-ratelimit-headers.
var (
	QuotaExceeded = Problem{
		Type:  "https://iana.org/assignments/http-problem-types#quota-exceeded",
		Title: "Request cannot be satisfied as assigned quota has been exceeded",
	}
	ReducedCapacity = Problem{
		Type:  "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
		Title: "Request cannot be satisfied due to temporary server capacity constraints",
	}
	Blocked = Problem{
		Type:  "https://github.com/slidegate/slidegate/blob/main/docs/problems.md#blocked",
		Title: "Requests from this client are blocked",
	}
	Unmatched = Problem{
		Type:  "https://github.com/slidegate/slidegate/blob/main/docs/problems.md#unmatched",
		Title: "No rule admits this request",
	}
	AmbiguousPath = Problem{
		Type:  "https://github.com/slidegate/slidegate/blob/main/docs/problems.md#ambiguous-path",
		Title: "Servers may read the path of this request in several ways",
	}
)
