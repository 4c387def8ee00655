#!/usr/bin/env bash
# Records `make run` and the commands of a second terminal in first-minute.txt, and
# draws them in first-minute.svg.
set -euo pipefail
cd "$(dirname "$0")/../.."
text=docs/pictures/first-minute.txt log=$(mktemp) port=${PORT:-18080}
trap 'rm -f "$log"' EXIT
export NO_COLOR=1 MAKEFLAGS=

make dist/slidegate >"$log" 2>&1 # what the first build downloads is no part of it
make --no-print-directory run LISTEN="127.0.0.1:$port" >"$log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; rm -f "$log"' EXIT
until grep -q 'listening on' "$log"; do
	kill -0 $server || { cat "$log" >&2; exit 1; }
	sleep 0.1
done

# typed shows a command as it is typed, and runs it.
typed() {
	printf '\n$ %s\n' "${1//$'\n'/$'\n'> }"
	bash -c "${1//8080/$port}"
}
{
	echo '$ make run'
	grep 'listening on' "$log" # its hints are the commands below, whose end readers come for
	typed $'for i in $(seq 12); do\n  curl -so /dev/null -w \'%{http_code} \' http://127.0.0.1:8080/\ndone; echo'
	typed $'curl -si http://127.0.0.1:8080/ | grep -E \'^(HTTP|Rate|Retry)\''
	typed $'dist/slidegate replay examples/traffic/apache-access-2015.log.gz \\\n  --rules examples/traffic/per-ip-10-per-minute.yaml | head -3'
} | sed "s/127.0.0.1:$port/127.0.0.1:8080/g" >"$text"

wrapped() { LC_ALL=C sed -E 's/([ -~]{76})([ -~])/\1\n\2/' "$text"; }
{
	cat <<-END
		<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 $((19 * $(wrapped | wc -l) + 30))" width="680" role="img" aria-labelledby="t d" xml:space="preserve">
		<title id="t">The first minute in a terminal</title><desc id="d">make run starts a server. Of twelve requests, the last two get 429. A replay of a recorded log shows how many requests other rules would have denied.</desc>
		<style>
		rect{fill:#f6f8fa;stroke:#d1d9e0}
		text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;white-space:pre;fill:#1f2328}
		.c{font-weight:600;fill:#0b4a8f}.d{fill:#b8380f;font-weight:600}
		@media (prefers-color-scheme:dark){rect{fill:#0d1117;stroke:#3d444d}text{fill:#e6edf3}.c{fill:#a5d0ff}.d{fill:#f47b4d}}
		</style>
		<rect x=".5" y=".5" width="679" height="100%" rx="8"/>
	END
	wrapped | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/\b429\b\|^denied .*/<tspan class="d">&<\/tspan>/g' |
		awk '{ print "<text x=\"20\" y=\"" 19 * NR + 11 "\"" (/^(\$|&gt;) / ? " class=\"c\"" : "") ">" $0 "</text>" } END { print "</svg>" }'
} >docs/pictures/first-minute.svg
