#!/usr/bin/env bash
# Runs the benchmarks in rounds, and prints benchstat's medians as Markdown: the
# time of the bare operation, of the others the ratio to it, and other figures as
# they are.
#
#   tools/bench/bench.sh [PATTERN]    such as Serve, or Memory/load=one-key
#
# Rounds put the limiters beside each other, so that other work on the machine
# slows all of them. ROUNDS=1 TIME=1x only shows that each of them runs.
set -euo pipefail
cd "$(dirname "$0")"
out=../../.cache/bench
mkdir -p "$out"
go test -c -o "$out/bench.test" .
: >"$out/results.txt"
for ((round = 0; round < ${ROUNDS:-6}; round++)); do
	"$out/bench.test" -test.run '^$' -test.bench "${1:-.}" -test.benchtime "${TIME:-200ms}" >>"$out/results.txt"
done
echo "Measured on $(date -u +%F) with $(nproc) cores, $(go env GOVERSION), $(go env GOOS)/$(go env GOARCH); medians of ${ROUNDS:-6} rounds."
go tool benchstat -format csv -table .name -col /limiter -row /load "$out/results.txt" 2>/dev/null | awk -F, '
	function duration(ns) {
		return ns < 1e3 ? sprintf("%.0f ns", ns) : ns < 1e6 ? sprintf("%.3g µs", ns / 1e3) : sprintf("%.1f ms", ns / 1e6)
	}
	# table prints what was read of a benchmark, a row for each load and unit.
	function table(  head, rule, r, c, line, base, value) {
		for (c = 1; c <= columns; c++) { head = head " | " names[c]; rule = rule "|---" }
		if (rows) print "\n**" title "**\n\n|" head " |\n|---" rule "|"
		for (r = 1; r <= rows; r++) {
			line = "| " labels[r]
			for (c = 1; c <= columns; c++) {
				value = cells[r, c]; base = cells[r, 1]
				if (value == "") value = "–"
				else if (labels[r] ~ / B$/) value = sprintf("%.1f MB", value / 1e6)
				else if (!scale[r]) value = sprintf(value < 1000 ? "%.3g" : "%.0f", value)
				else value = c == 1 && names[1] == "bare" || !base ? duration(value * scale[r]) : sprintf("%.2f ×", value / base)
				line = line " | " value
			}
			print line " |"
		}
		rows = columns = 0
		split("", cells); split("", at)
	}
	/^\.name: / { table(); title = substr($0, 8); next }
	/^,/ && $3 == "" { n = split($0, heads); next }
	/^,/ { unit = $2; next }
	/^geomean/ || NF < 2 || unit == "B/op" { next }
	{
		labels[++rows] = $1 (unit == "sec/op" ? "" : ", " unit)
		sub(/-sec\/op$/, "", labels[rows])
		scale[rows] = unit ~ /sec\/op$/ ? 1e9 : 0
		for (f = 2; f <= n; f += f == 2 ? 2 : 4) {
			if (!(heads[f] in at)) names[at[heads[f]] = ++columns] = heads[f]
			cells[rows, at[heads[f]]] = $f
		}
	}
	END { table() }'
