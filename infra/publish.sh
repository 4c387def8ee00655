#!/usr/bin/env bash
# Usage: publish.sh SLIDEGATE OUTPUTS FILE
# Publishes a rules file to the rules table of a stack, unless something was
# published there before. SLIDEGATE is the command, and OUTPUTS the file that
# `cdk deploy --outputs-file` writes.
set -euo pipefail
slidegate=$1 outputs=$2 file=$3

# json EXPRESSION prints what an expression makes of the JSON on standard input.
json() { node -p "const json = JSON.parse(require('fs').readFileSync(0)); $1"; }

table=$(json 'Object.values(json)[0].RulesTable' <"$outputs")
versions=$("$slidegate" rules list --limit 1 --json --rules "dynamodb://$table")
if [[ $(json 'json.versions.length' <<<"$versions") != 0 ]]; then
	echo "table $table has rules, which stay in force"
	exit
fi
"$slidegate" rules apply "$file" --rules "dynamodb://$table" --why 'the first rules of the stack'
