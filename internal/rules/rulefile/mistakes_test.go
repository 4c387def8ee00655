package rulefile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// mistake is a rules file with a usual mistake.
type mistake struct{ what, file string }

// Parts of rules files: a rule with everything but the mistake.
const (
	rule       = "rules:\n  - name: api\n"
	byIP       = "    key: \"ip:{ip}\"\n"
	tenAMinute = "    limits: [{capacity: 10, window: 60s}]\n"
	start      = rule + byIP
)

// notYAML are files that are not even YAML.
var notYAML = []mistake{
	{"a comma is missing between fields in braces", start + "    limits: [{capacity: 10 window: 60s}]\n"},
	{"a comma is missing after a text in quotes", "rules:\n  - {name: api, key: \"ip:{ip}\" limits: [{capacity: 10, window: 60s}]}\n"},
	{"a brace is never closed", start + "    limits: [{capacity: 10, window: 60s]\n"},
	{"a brace too many", start + "    limit: {capacity: 10, window: 60s}}\n"},
	{"a tab indents a line", rule + "\tkey: \"ip:{ip}\"\n"},
	{"a tab follows the dash", "rules:\n  -\tname: api\n"},
	{"a field is indented too far", rule + "      key: \"ip:{ip}\"\n" + tenAMinute},
	{"no space after the dash", "rules:\n  -name: api\n   key: \"ip:{ip}\"\n"},
	{"no space after the colon", rule + "    key:\"ip:{ip}\"\n" + tenAMinute},
	{"an equal sign in place of the colon", rule + "    key = \"ip:{ip}\"\n" + tenAMinute},
	{"a quote is never closed", rule + "    key: \"ip:{ip}\n" + tenAMinute},
	{"a quote is closed by that of a later line", rule + "    key: \"ip:{ip}\n" + tenAMinute + "  - name: search\n" + byIP + tenAMinute},
	{"the first dash beside the name of the list", "rules: - name: api\n" + byIP + tenAMinute},
	{"a route with a parameter, without quotes in braces", start + "    when: {route: /users/{id}, methods: GET}\n" + tenAMinute},
	{"a key without quotes in braces", "rules:\n  - {name: api, key: ip:{ip}, limits: [{capacity: 10, window: 60s}]}\n"},
	{"a star without quotes", start + "    when: {path: *}\n" + tenAMinute},
	{"a star and text without quotes", start + "    when: {path: *.json}\n" + tenAMinute},
	{"a backslash in double quotes", start + "    when: {path: \"/users/\\d+\"}\n" + tenAMinute},
	{"a colon inside a text without quotes", "unmatched: deny: all\nrules: []\n"},
	{"a no-break space after the colon", rule + "    key:\u00a0\"ip:{ip}\"\n" + tenAMinute},
	{"curly quotes around text with braces", "rules:\n  - {name: api, key: “ip:{ip}”, limit: 10/minute}\n"},
}

// refused are files that are YAML and no rules.
var refused = []mistake{
	{"the file is empty", ""},
	{"a list at the top", "- name: api\n  key: \"ip:{ip}\"\n"},
	{"rules without dashes", "rules:\n  name: api\n  key: \"ip:{ip}\"\n"},
	{"fields beside their rule", "rules:\n- name: api\nkey: \"ip:{ip}\"\nlimits: [{capacity: 10, window: 60s}]\n"},
	{"a limit that is no list", start + "    limits: {capacity: 10, window: 60s}\n"},
	{"no space after the colon, in braces", start + "    limits: [{capacity:10, window: 60s}]\n"},
	{"a misspelled field", start + "    limts: [{capacity: 10, window: 60s}]\n"},
	{"a burst beside a rate", start + "    limit: 10/minute\n    burst: 20\n"},
	{"no key", rule + tenAMinute},
	{"a window without its unit", start + "    limits: [{capacity: 10, window: 60}]\n"},
	{"a month that slides", start + "    limits: [{capacity: 10, window: 1mo, algorithm: sliding_window}]\n"},
	{"a capacity in quotes", start + "    limits: [{capacity: \"10\", window: 60s}]\n"},
	{"a capacity of 0", start + "    limits: [{capacity: 0, window: 60s}]\n"},
	{"two rules with one name", start + tenAMinute + "  - name: api\n" + byIP + tenAMinute},
	{"a source of another program", rule + "    key: \"{client_ip}\"\n" + tenAMinute},
	{"double braces", rule + "    key: \"ip:{{ip}}\"\n" + tenAMinute},
	{"a source in braces without quotes", rule + "    key: {ip}\n" + tenAMinute},
	{"sources without a separator", rule + "    key: \"{ip}{route}\"\n" + tenAMinute},
	{"a regular expression for a path", start + "    when: {path: '^/api/.*$'}\n" + tenAMinute},
	{"a URL for a path", start + "    when: {path: \"https://example.com/v1/**\"}\n" + tenAMinute},
	{"a parameter in a path", start + "    when: {path: \"/users/{id}\"}\n" + tenAMinute},
	{"two methods in one text", start + "    when: {methods: GET POST}\n" + tenAMinute},
	{"an address for a network", "rules: []\ndeny: [{cidrs: 203.0.113.9}]\n"},
	{"an address for a selector", "deny: [203.0.113.9]\n" + start + tenAMinute},
	{"an unknown algorithm", withAlgorithm("sketch")},
	{"a burst without a bucket", start + "    limits: [{capacity: 10, window: 60s, burst: 20}]\n"},
	{"a cost above the capacity", start + "    cost: 20\n" + tenAMinute},
	{"an override without the prefix of its key", rule + "    key: \"user:{jwt.sub}\"\n" + tenAMinute + "overrides:\n  api: {\"241531\": {capacity: 100}}\n"},
	{"an override of a rule that does not exist", start + tenAMinute + "overrides:\n  apy: {\"ip:203.0.113.9\": {capacity: 100}}\n"},
	{"a plan without capacities", start + tenAMinute + "plan: {from: jwt.plan}\n"},
	{"a plan that nothing names", start + tenAMinute + "plans: {pro: {api: 100}}\n"},
}

// words are values as other programs, or people, write them.
var words = []mistake{
	{"a length of time in words", withWindow("1 minute")},
	{"a length of time of ISO 8601", withWindow("PT1H")},
	{"slots in words", start + "    limits: [{capacity: 10, window: 60s, granularity: 5 sec}]\n"},
	{"thousands in short", withCapacity("1k")},
	{"a comma in a number", withCapacity("\"1,000\"")},
	{"a comma in a number, without quotes", start + "    limits: [{capacity: 1,000, window: 60s}]\n"},
	{"a rate for a capacity", withCapacity("100/minute")},
	{"a capacity without end", withCapacity("unlimited")},
	{"a rate with what it counts", withLimit("100 requests per minute")},
	{"a rate over several minutes", withLimit("100 per 15 minutes")},
	{"a rate of nginx", withLimit("10r/s")},
	{"a fraction in a rate", withLimit("0.5/second")},
	{"fail-open", start + tenAMinute + "    on_error: fail-open\n"},
	{"fail-closed", "defaults: {on_error: fail_closed}\n" + start + tenAMinute},
	{"dry-run", start + tenAMinute + "    mode: dry-run\n"},
	{"a mode that is disabled", start + tenAMinute + "    mode: disabled\n"},
	{"sliding", withAlgorithm("sliding")},
	{"the name of GCRA", withAlgorithm("gcra")},
	{"block", "unmatched: block\n" + start + tenAMinute},
	{"callers who are signed in", start + "    when: {caller: authenticated}\n" + tenAMinute},
	{"the draft's name for fields", "headers: draft-7\n" + start + tenAMinute},
	{"yes", start + tenAMinute + "    atomic: yes\n"},
	{"true in quotes", rule + "    hash: \"true\"\n" + byIP + tenAMinute},
	{"a cost from a source", start + "    cost: header.x-tokens\n" + tenAMinute},
	{"a weight as text", start + "    cost: {from: header.x-max-tokens, min: 1, max: 9, settle: true, weights: {output_tokens: \"0.5\"}}\n" + tenAMinute},
	{"a price of a token in dollars", start + "    cost: {from: header.x-max-tokens, min: 1, max: 9, settle: true, weights: {output_tokens: 0.0000003}}\n" + tenAMinute},
	{"a weight below 0", start + "    cost: {from: header.x-max-tokens, min: 1, max: 9, settle: true, weights: {cached_tokens: -0.9}}\n" + tenAMinute},
	{"weights without settle", start + "    cost: {from: header.x-max-tokens, min: 1, max: 9, weights: {output_tokens: 0.5}}\n" + tenAMinute},
	{"weights beside the cost", start + "    cost: {from: header.x-max-tokens, min: 1, max: 9, settle: true}\n    weights: {output_tokens: 0.5}\n" + tenAMinute},
	{"a source of cookies", rule + "    key: \"{cookie.session}\"\n" + tenAMinute},
	{"a cookie of a header", rule + "    key: \"session:{header.cookie.session}\"\n" + tenAMinute},
	{"a source with a fallback", rule + "    key: \"user:{header.x-user|ip}\"\n" + tenAMinute},
	{"two sources in one pair of braces", rule + "    key: \"{jwt.sub, ip}\"\n" + tenAMinute},
	{"a source of bodies", rule + "    key: \"{body.user}\"\n" + tenAMinute},
	{"a source of user agents", rule + "    key: \"{user_agent}|{ip}\"\n" + tenAMinute},
	{"a path as a source", rule + "    key: \"{path}\"\n" + tenAMinute},
	{"curly quotes around a key", rule + "    key: “ip:{ip}”\n" + tenAMinute},
	{"a no-break space in a value", withWindow("1\u00a0m")},
	{"curly quotes around a value to match", start + "    when: {match: {jwt.plan: ‘pro’}}\n" + tenAMinute},
	{"a time without its zone", start + tenAMinute + "overrides: {api: {\"ip:203.0.113.9\": {capacity: 5, until: 2026-12-31 18:00}}}\n"},
	{"a plan without end", start + tenAMinute + "plan: {from: jwt.plan}\nplans: {pro: {api: infinite}}\n"},
	{"a class of statuses in upper case", start + "    refund_on: 5XX\n" + tenAMinute},
	{"a range of statuses", start + "    refund_on: 500-599\n" + tenAMinute},
	{"no limit for some networks", "rules:\n  - name: partners\n    when: {cidrs: [198.51.100.0/24]}\n" + byIP + "    limit: unlimited\n  - name: api\n" + byIP + tenAMinute},
	{"no limit for a block of conditions", "rules:\n  - name: health\n" + byIP + "    limit: none\n    when:\n      methods: GET\n      path: \"/health\"\n"},
	{"no limit with an exception", start + "    when: {path: /health}\n    unless: {methods: POST}\n    limit: unlimited\n"},
	{"no limit for anybody", withLimit("unlimited")},
	{"a limit of -1", withLimit("-1")},
	{"a limit of 0", start + "    when: {path: /admin/**}\n    limit: 0\n"},
	{"a limit of 0 for anybody", withLimit("0")},
	{"a rate of 0", start + "    when: {methods: DELETE}\n    limit: 0/second\n"},
	{"a limit without its window", withLimit("100")},
	{"a rate in r/s with a space", withLimit("10 r/s")},
	{"a rate in rps", withLimit("10rps")},
	{"a rate in rpm", withLimit("10 RPM")},
	{"a rate by the min", withLimit("100/min")},
	{"a rate with its window first", withLimit("1h/100")},
	{"a rate without a unit", withLimit("100/60")},
	{"a rate of a client", withLimit("100 per minute per ip")},
	{"three in two seconds", withLimit("1.5/second")},
	{"a rate in words of one in ten minutes", withLimit("0.1 requests per minute")},
	{"a fraction with a comma", withLimit("1,5/second")},
	{"a third a second", withLimit("0.333/s")},
	{"a fraction of a month", withLimit("0.5/month")},
	{"a decimal of a whole number", withLimit("10.0/second")},
	{"two rates in one text", withLimit("10/second, 100/minute")},
	{"two rates in the text of a list", start + "    limits: 10 per second and 100 per minute\n"},
	{"a mode that simulates", start + "    mode: simulate\n" + tenAMinute},
	{"a plan's rate of another window", start + tenAMinute + "plan: {from: jwt.plan}\nplans: {pro: {api: 100/hour}}\n"},
	{"an override with a rate", start + "    overrides: true\n" + tenAMinute + "overrides: {api: {\"ip:203.0.113.9\": 100/hour}}\n"},
	{"a claim without jwt", start + tenAMinute + "plan: {from: plan}\nplans: {pro: {api: 100}}\n"},
	{"a text for the answer", "denied: slow down\n" + start + tenAMinute},
	{"a field of a user", rule + "    key: \"{user.id}\"\n" + tenAMinute},
	{"a header of proxies for the address", rule + "    key: \"{X-Forwarded-For}\"\n" + tenAMinute},
	{"a fraction in a list", start + "    limits: [2.5/second, 1000/hour]\n"},
}

// shapes are lists, maps and names that differ from those of rules files.
var shapes = []mistake{
	{"max in a rule", start + "    max: 100\n"},
	{"a rate in a rule", start + "    rate: 100/minute\n"},
	{"max in a limit", start + "    limit: {max: 100, window: 60s}\n"},
	{"requests in a limit", start + "    limits: [{requests: 100, window: 60s}]\n"},
	{"a period in a limit", start + "    limits: [{capacity: 100, period: 60s}]\n"},
	{"a strategy in a limit", start + "    limits: [{capacity: 100, window: 1m, strategy: fixed_window}]\n"},
	{"id for the name", "rules:\n  - id: api\n" + byIP + tenAMinute},
	{"dry_run in a rule", start + tenAMinute + "    dry_run: true\n"},
	{"fail_open in a rule", start + tenAMinute + "    fail_open: true\n"},
	{"if for when", start + "    if: {methods: GET}\n" + tenAMinute},
	{"weight for the cost", start + "    weight: 2\n" + tenAMinute},
	{"url in a selector", start + "    when: {url: /v1/**}\n" + tenAMinute},
	{"an address in a selector", "deny: [{ip: 203.0.113.9}]\n" + start + tenAMinute},
	{"a header in a selector", start + "    when: {header: {x-tier: free}}\n" + tenAMinute},
	{"a host in a selector", start + "    when: {host: api.example.com}\n" + tenAMinute},
	{"a blocklist", "blocklist: [{cidrs: 203.0.113.0/24}]\n" + start + tenAMinute},
	{"a version", "version: 1\n" + start + tenAMinute},
	{"on_error beside rules", "on_error: allow\n" + start + tenAMinute},
	{"instances beside rules", "instances: 4\n" + start + tenAMinute},
	{"rules by name", "rules:\n  api:\n    key: \"ip:{ip}\"\n    limit: 10/minute\n"},
	{"limits by window", start + "    limits: {minute: 10, hour: 100}\n"},
	{"a rate for the list of limits", start + "    limits: 10/minute\n"},
	{"a list for one limit", start + "    limit: [10/minute]\n"},
	{"limit and limits", start + "    limit: 10/minute\n    limits: [100/hour]\n"},
	{"a list of sources for the key", rule + "    key: [ip, jwt.sub]\n" + tenAMinute},
	{"a list of templates for the key", rule + "    key: [\"{ip}\", \"user:{jwt.sub}\"]\n" + tenAMinute},
	{"a path for when", start + "    when: /login\n" + tenAMinute},
	{"a list for when", start + "    when: [{path: /login}]\n" + tenAMinute},
	{"conditions in a text", start + "    when: {match: jwt.plan=pro}\n" + tenAMinute},
	{"conditions in a list", start + "    when: {match: [{jwt.plan: pro}]}\n" + tenAMinute},
	{"methods with commas", start + "    when: {methods: \"GET,POST\"}\n" + tenAMinute},
	{"deny as a map", "deny: {cidrs: 203.0.113.0/24}\n" + start + tenAMinute},
	{"plans in a list", start + tenAMinute + "plan: {from: jwt.plan}\nplans: [{name: pro, api: 100}]\n"},
	{"a plan that is a number", start + tenAMinute + "plan: {from: jwt.plan}\nplans: {pro: 100}\n"},
	{"the plan's claim alone", start + tenAMinute + "plan: jwt.plan\nplans: {pro: {api: 100}}\n"},
	{"overrides in a list", start + tenAMinute + "overrides: [{rule: api, key: \"ip:203.0.113.9\", capacity: 100}]\n"},
	{"an override that is a number", start + tenAMinute + "overrides: {api: {\"ip:203.0.113.9\": 100}}\n"},
	{"an override that denies", start + tenAMinute + "overrides: {api: {\"ip:203.0.113.9\": deny}}\n"},
	{"the expiry of an override", start + tenAMinute + "overrides: {api: {\"ip:203.0.113.9\": {deny: true, expires: 2030-01-01T00:00:00Z}}}\n"},
	{"authentication as a text", "authentication: https://example.eu.auth0.com/\n" + start + tenAMinute},
	{"hops as client_ip", "client_ip: 1\n" + start + tenAMinute},
	{"trusted as a boolean", rule + "    key: \"{header.x-user}\"\n    trusted: true\n" + tenAMinute},
	{"a name with capitals and spaces", "rules:\n  - name: My API\n" + byIP + tenAMinute},
	{"a name of another alphabet", "rules:\n  - name: пример\n" + byIP + tenAMinute},
	{"a name that is a number", "rules:\n  - name: 1\n" + byIP + tenAMinute},
	{"a rate and a quota", start + "    rate: 10/second\n    quota: 10000/month\n"},
	{"a burst beside a rate of another name", start + "    rate: 10/second\n    burst: 20\n"},
	{"a burst beside a limit", start + "    limit: {capacity: 10, window: 1s}\n    burst_size: 20\n"},
	{"a burst beside limits", start + "    limits: [10/second, 10000/month]\n    burst: 20\n"},
	{"a burst alone", start + "    burst: 20\n"},
	{"a burst of a month", start + "    limit: 10000/month\n    burst: 200\n"},
	{"a burst in words", start + "    limit: 10/second\n    burst: double\n"},
	{"a count and a period", start + "    count: 100\n    period: 60\n"},
	{"a rate without a unit in a rule", start + "    rate: 100/60\n"},
	{"a number that no rate has", start + "    max: 2000000000\n    window: 1m\n"},
	{"points and a duration", start + "    limit: {points: 100, duration: 60}\n"},
	{"a count and seconds", start + "    limit: {count: 100, seconds: 60}\n"},
	{"a limit of each unit", start + "    minute: 100\n    hour: 1000\n"},
	{"an average and a burst", start + "    average: 10\n    burst: 20\n"},
	{"requests_per_unit", start + "    requests_per_unit: 10\n    unit: minute\n"},
	{"requests and per", start + "    requests: 100\n    per: minute\n"},
	{"requests and an interval", start + "    requests: 100\n    interval: 1m\n"},
	{"max and window_ms", start + "    windowMs: 900000\n    max: 100\n"},
	{"a capacity and a window in the rule", start + "    capacity: 100\n    window: 1h\n"},
	{"a number and a window", start + "    limit: 100\n    window: 15 minutes\n"},
	{"a window in minutes", start + "    limit: 100\n    window_minutes: 15\n"},
	{"a window alone", start + "    window: 15m\n"},
	{"requests_per_minute", start + "    requests_per_minute: 100\n"},
	{"rps and a burst", start + "    rps: 10\n    burst: 20\n"},
	{"an algorithm in the rule", start + "    limit: 10/minute\n    algorithm: fixed_window\n"},
	{"a timezone in the rule", start + "    limit: 10/day\n    timezone: Europe/Berlin\n"},
	{"a quota in a map", start + "    quota: {limit: 10000, period: month}\n"},
	{"a usage plan of API Gateway", start + "    throttle: {rateLimit: 10, burstLimit: 20}\n    quota: {limit: 10000, period: MONTH}\n"},
	{"a usage plan without maps", start + "    rateLimit: 10\n    burstLimit: 20\n    quotaLimit: 10000\n    quotaPeriod: MONTH\n"},
	{"a quota beside a bucket", start + "    rate: 5/s\n    burst: 10\n    quota: 1000/day\n"},
	{"a rate and the size of its bucket", start + "    limit: {rate: 10/second, capacity: 20}\n"},
	{"two numbers of a bucket", start + "    limit: {refill_rate: 10, capacity: 100, algorithm: token_bucket}\n"},
	{"replenishRate and burstCapacity", start + "    limit: {replenishRate: 10, burstCapacity: 20, requestedTokens: 2}\n"},
	{"a bucket of Envoy", start + "    token_bucket: {max_tokens: 100, tokens_per_fill: 10, fill_interval: 1s}\n"},
	{"limits for a day and a month", start + "    daily_limit: 1000\n    monthly_quota: 10000\n"},
	{"a window of a firewall", start + "    limit: 2000\n    evaluation_window_sec: 300\n"},
	{"requests and per_seconds", start + "    max_requests: 100\n    per_seconds: 60\n"},
	{"an action beside a limit", start + "    when: {path: /login}\n    action: block\n" + tenAMinute},
	{"an action that bans", start + tenAMinute + "    action: {mode: ban, timeout: 600}\n"},
	{"a timeout of a ban", start + tenAMinute + "    mitigation_timeout: 600\n"},
	{"exempt as a boolean", start + "    when: {path: /health}\n    exempt: true\n" + tenAMinute},
	{"consumers", rule + "    limit_by: consumer\n" + tenAMinute},
	{"fault_tolerant", start + tenAMinute + "    fault_tolerant: true\n"},
	{"shadow_mode", start + tenAMinute + "    shadow_mode: true\n"},
	{"skipFailedRequests", start + tenAMinute + "    skipFailedRequests: true\n"},
	{"the place of counters", start + tenAMinute + "    policy: redis\n"},
	{"nodelay", start + tenAMinute + "    nodelay: true\n"},
	{"a stage in a rule", start + tenAMinute + "    stage: prod\n"},
	{"a stage in a selector", start + "    when: {stage: prod}\n" + tenAMinute},
	{"a role in a selector", start + "    when: {role: [admin, ops]}\n" + tenAMinute},
	{"a country in a selector", start + "    when: {country: FR}\n" + tenAMinute},
	{"a query in a selector", start + "    when: {path: /search, query: {q: x}}\n" + tenAMinute},
	{"hours in a selector", start + "    when: {path: /search, hours: 9-17}\n" + tenAMinute},
	{"trust_proxy", "trust_proxy: 1\n" + start + tenAMinute},
	{"a response at the top", "response: {status: 503}\n" + start + tenAMinute},
	{"a message of the answer", "denied: {content_type: text/plain, message: slow down}\n" + start + tenAMinute},
	{"a claim of plans", start + tenAMinute + "plan: {claim: plan}\nplans: {pro: {api: 100}}\n"},
	{"limits by method", start + "    limit: {GET: 100/minute, POST: 10/minute}\n"},
	{"limits by path", start + "    limit: {/login: 10/minute, /search: 100/minute}\n"},
	{"limits by caller", start + "    limit: {anonymous: 10/minute, known: 100/minute}\n"},
	{"two addresses of an exception", start + "    unless: [198.51.100.7, 198.51.100.8]\n" + tenAMinute},
	{"a path to skip", "skip: /health\n" + start + tenAMinute},
	{"an address to deny", "deny: 203.0.113.9\n" + start + tenAMinute},
	{"a request line for when", start + "    when: POST /login\n" + tenAMinute},
	{"true for API keys", "authentication: {api_key: true}\n" + start + tenAMinute},
	{"aud and jwks_uri", "authentication: {jwt: [{iss: 'https://a.example', aud: x, jwks_uri: 'https://a.example/keys'}]}\n" + start + tenAMinute},
	{"the store at the top", "store: redis://127.0.0.1:6379/0\n" + start + tenAMinute},
	{"a plan by default", start + tenAMinute + "plan: {from: jwt.plan, default: free}\nplans: {pro: {api: 100}}\n"},
	{"a throttle of API Gateway", start + "    throttle: {rateLimit: 10, burstLimit: 20}\n"},
	{"requests and per in a limit", start + "    limit: {requests: 100, per: minute}\n"},
	{"a rate and a burst in a limit", start + "    limit: {rate: 10/second, burst: 20}\n"},
	{"max and window_ms in a limit", start + "    limit: {max: 100, windowMs: 60000}\n"},
	{"rps in a limit", start + "    limit: {rps: 10}\n"},
	{"limits by window in a limit", start + "    limit: {minute: 10, hour: 100}\n"},
	{"limits by window in a block", start + "    limits:\n      second: 10\n      minute: 100\n      day: 1000\n"},
	{"plans in a limit", rule + "    key: \"user:{jwt.sub}\"\n    limit:\n      free: 10/minute\n      pro: 100/minute\n"},
	{"plans in limits", start + "    limits: {free: 10/minute, pro: 100/minute}\n"},
	{"limits by window with per", start + "    limits: {per_second: 10, per_day: 1000}\n"},
	{"a quota with its period", start + "    rate: 10/s\n    quota: 10000\n    quota_period: month\n"},
	{"a rule that denies", start + "    when: {methods: DELETE}\n    deny: true\n" + tenAMinute},
	{"a user in a rule", start + tenAMinute + "    user: alice\n"},
	{"requests at once", start + tenAMinute + "    max_concurrent: 5\n"},
	{"days in a rule", start + tenAMinute + "    days: [mon, tue]\n"},
	{"ten paths in a rule", start + tenAMinute + "    paths: [/a, /b, /c, /d, /e, /f, /g, /h, /i, /j]\n"},
	{"three plans in a limit", start + "    limit: {free: 10, pro: 100, team: 1000}\n"},
	{"plans of several windows in a limit", start + "    limit: {free: 10/minute, pro: 10000/hour}\n"},
	{"plans in a rule", start + "    plans: {pro: 100/minute}\n" + tenAMinute},
	{"a status and a message", start + tenAMinute + "    status: 503\n    message: slow down\n    retry_after: 30s\n"},
	{"a status of success", start + tenAMinute + "    status: 200\n"},
	{"no limit in a list", start + "    limits: [unlimited, 10/minute]\n"},
	{"an override of 0", start + "    overrides: true\n" + tenAMinute + "overrides: {api: {\"ip:203.0.113.9\": {limits: [0]}}}\n"},
	{"a rate of each address", withLimit("100/minute/ip")},
	{"by an address", rule + "    by: client_ip\n" + tenAMinute},
	{"limit_by a user", rule + "    limit_by: user\n" + tenAMinute},
	{"a key by two names", rule + "    group_by: [ip, user]\n" + tenAMinute},
	{"a status alone", start + tenAMinute + "    status_code: 503\n"},
	{"a status that denies nothing", start + tenAMinute + "    status: 200\n    message: \"slow: down\"\n"},
	{"a body as a map", start + tenAMinute + "    response: {error: slow down}\n"},
	{"a status at the top", "status: 503\nbody: slow down\n" + start + tenAMinute},
	{"a message at the top", "message: slow down\n" + start + tenAMinute},
	{"the answer in a rule", start + tenAMinute + "    denied: {content_type: text/plain, message: slow down}\n"},
	{"block_for in a rule", start + tenAMinute + "    block_for: 10m\n"},
	{"a ban in a rule", start + tenAMinute + "    ban_duration: 1h\n"},
	{"hours in a rule", start + tenAMinute + "    hours: 09:00-17:00\n"},
	{"from and until in a rule", start + tenAMinute + "    from: 09:00\n    until: 17:00\n"},
	{"by for the key", rule + "    by: ip\n" + tenAMinute},
	{"per for the key", rule + "    per: \"ip:{ip}\"\n" + tenAMinute},
	{"an address for the key", rule + "    ip: true\n" + tenAMinute},
	{"an API key for the key", rule + "    api_key: true\n" + tenAMinute},
	{"a path beside its rule's fields", start + tenAMinute + "    path: /login\n    methods: POST\n"},
	{"paths beside when", start + tenAMinute + "    when: {methods: POST}\n    paths: [/login, /users/*]\n"},
	{"an address of a rule", start + tenAMinute + "    ip: 203.0.113.9\n"},
	{"a method beside a path for when", start + tenAMinute + "    when: /login\n    method: POST\n"},
	{"match for when", start + tenAMinute + "    match: {path: /login}\n"},
	{"claims beside a rule", start + tenAMinute + "    match: {jwt.plan: pro}\n"},
	{"a path in match", start + tenAMinute + "    when: {match: {path: /login}}\n"},
	{"exempt in a rule", start + tenAMinute + "    exempt: {cidrs: [198.51.100.0/24]}\n"},
	{"a whitelist of addresses in a rule", start + tenAMinute + "    whitelist: [198.51.100.7]\n"},
	{"a whitelist", "whitelist: [198.51.100.7, 198.51.100.0/24]\n" + start + tenAMinute},
	{"a blacklist", "blacklist: [203.0.113.9]\n" + start + tenAMinute},
	{"an allowlist of paths", "allowlist: [/health]\n" + start + tenAMinute},
	{"a description", start + tenAMinute + "    description: the API\n"},
	{"a name of a limit with an underscore", start + "    limits: [{name: per_minute, capacity: 10, window: 60s}]\n"},
}

// strangers are files that hold something else. Messages about them quote no
// more than names.
var strangers = []mistake{
	{"a file of passwords", "root:$6$salt$hash:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n"},
	{"variables of an environment", "DB_PASSWORD=hunter2\nAPI_TOKEN=\"s3cr{et}\"\n"},
	{"credentials of AWS", "[default]\naws_secret_access_key = wJalrXUtnFEMI\n"},
	{"a file of another program", "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ndata: {password: aHVudGVyMg==}\n"},
	{"a file with names of other limiters", "message: hunter2\nstatus: 503\n"},
	{"a map of secrets", "\"user:alice\": hunter2\n\"s3cr3t!\": x\n"},
	{"a broken file with a field of rules further in", "database:\n    limit: 10\n    secret: hunter2: x\n"},
	{"a descriptor file of Envoy", "domain: api\ndescriptors:\n  - key: user_id\n    rate_limit: {unit: minute, requests_per_unit: 10}\n"},
	{"usage plans of API Gateway", "{\"items\": [{\"id\": \"p1\", \"name\": \"pro\", \"throttle\": {\"rateLimit\": 10.0, \"burstLimit\": 20}}]}\n"},
}

func withWindow(text string) string {
	return start + "    limits:\n      - capacity: 10\n        window: " + text + "\n"
}
func withCapacity(text string) string {
	return start + "    limits:\n      - capacity: " + text + "\n        window: 60s\n"
}
func withLimit(text string) string { return start + "    limit: " + text + "\n" }
func withAlgorithm(text string) string {
	return start + "    limits: [{capacity: 10, window: 60s, algorithm: " + text + "}]\n"
}

// useless are files that are valid and do not do what was meant.
var useless = []mistake{
	{"a key that names a source without braces", rule + "    key: ip\n" + tenAMinute},
	{"a key without a source", rule + "    key: clients\n" + tenAMinute},
	{"a variable of nginx for a source", rule + "    key: $binary_remote_addr\n" + tenAMinute},
	{"a shell's variable for a source", rule + "    key: \"${ip}\"\n" + tenAMinute},
	{"a key that the client makes up", rule + "    key: \"user:{header.x-user}\"\n" + tenAMinute},
	{"a secret in a key", rule + "    key: \"{ip}|{header.authorization}\"\n" + tenAMinute},
	{"a method that does not exist", start + "    when: {methods: GTE}\n" + tenAMinute},
	{"a path with a query", start + "    when: {path: \"/search?q=*\"}\n" + tenAMinute},
	{"a regular expression after a slash", start + "    when: {path: \"/api/.*\"}\n" + tenAMinute},
	{"a parameter in angle brackets", start + "    when: {route: \"/users/<int:id>\"}\n" + tenAMinute},
	{"alternatives of a regular expression", start + "    when: {path: \"/(a|b)/**\"}\n" + tenAMinute},
	{"a skip that covers a rule", "rules: [{name: api, key: \"ip:{ip}\", limit: 10/minute}]\nskip: [{path: /**}]\n"},
	{"an exception that covers the rule", start + "    when: {methods: GET}\n    unless: {methods: [GET, HEAD]}\n" + tenAMinute},
	{"requests that cost nothing", start + "    cost: 0\n" + tenAMinute},
	{"credentials for a method that does not exist", "rules: []\nauthentication: {api_key: {}, required: [{methods: DELTE}]}\n"},
	{"claims of keys that have none", "rules: []\nauthentication: {api_key: {from: api_gateway}, pass_claims: sub}\n"},
	{"a rule for callers that are known", start + "    when: {caller: known}\n" + tenAMinute},
	{"a rule for a claim", start + "    when: {match: {jwt.plan: pro}}\n" + tenAMinute},
	{"a key of a claim", rule + "    key: \"user:{jwt.sub}\"\n" + tenAMinute},
	{"a key with an API key in it", rule + "    key: \"{ip}|{apikey}\"\n" + tenAMinute},
	{"plans by a claim", start + tenAMinute + "plan: {from: jwt.plan}\nplans: {pro: {api: 100}}\n"},
}

// TestMistakes compares testdata/mistakes.md with the messages for each file.
func TestMistakes(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The messages of slidegate rules validate for usual mistakes\n")
	section := func(title, about string, files []mistake, says func(m mistake) []string) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| Mistake | In the file | Message |\n|---|---|---|\n", title, about)
		for _, m := range files {
			messages := says(m)
			if len(messages) == 0 {
				t.Errorf("%s: no message", m.what)
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", m.what, inCell(lineOf(m.file, messages[0])), inCell(messages...))
		}
	}
	section("Not YAML", "The file cannot be read at all, so there is one message.", notYAML, errorsOf)
	section("Refused", "The file is YAML, and no valid document. `apply` publishes nothing.", refused, errorsOf)
	section("Values of other programs", "They say what is meant in other words, and the message has the right ones.", words, errorsOf)
	section("Lists, maps and names", "The file has a list for a map, a map for a list, or the field under another name.", shapes, errorsOf)
	section("Other files", "The file is no rules file. Messages quote no text of it but names that look like fields.", strangers, errorsOf)
	section("Valid and useless", "`validate`, `apply` and `explain` warn. `apply` publishes the file all the same. `key: all` says that one counter\n"+
		"for all requests is meant, and draws no warning.", useless, warningsOf)
	golden.Check(t, "testdata/mistakes.md", b.String())
}

func errorsOf(m mistake) (messages []string) {
	_, err := rulefile.Parse("", []byte(m.file))
	var all yamlfile.Errors
	errors.As(err, &all)
	for _, e := range all {
		messages = append(messages, strings.TrimPrefix(e.Error(), ":"))
	}
	return messages
}

func warningsOf(m mistake) (messages []string) {
	set, err := rulefile.Parse("", []byte(m.file))
	if err != nil {
		return nil
	}
	for _, w := range slices.Concat(set.Warnings, set.Caveats) {
		messages = append(messages, strings.TrimPrefix(w, ":"))
	}
	return messages
}

// lineOf returns the line that a message is about.
func lineOf(file, message string) string {
	n := 0
	_, _ = fmt.Sscanf(message, "%d:", &n)
	return strings.TrimRight(strings.Split(file, "\n")[n-1], " ")
}

// inCell writes texts as code in a cell of a table.
func inCell(texts ...string) string {
	cells := make([]string, len(texts))
	for i, text := range texts {
		if text = strings.NewReplacer("\t", "⇥", "|", "\\|").Replace(strings.TrimLeft(text, " ")); text != "" {
			cells[i] = "`" + text + "`"
		}
	}
	return strings.Join(cells, "<br>")
}
