#!/usr/bin/env bash
# Builds the site from docs into dist/site. A warning is an error. The generator
# comes from PyPI into .cache/zensical, once.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../../localstack/env.sh
. "$(dirname "$0")/../../localstack/env.sh"

requirements=$root/docs/site/requirements.txt
home=$root/.cache/zensical
work=$root/.cache/site

"$root/localstack/require.sh" go python
if ! "$(find_python)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	echo 'site: the generator needs Python 3.11 or later: install it, or name one by PYTHON' >&2
	exit 1
fi
if ! cmp -s "$requirements" "$home/installed"; then
	install_packages "$home" "$requirements"
	cp "$requirements" "$home/installed"
fi
(cd "$root/tools" && go run ./site "$root" "$work")
if ! (cd "$work" && NO_COLOR=1 "$home/bin/zensical" build --clean --strict) >"$work/log" 2>&1; then
	cat "$work/log" >&2
	exit 1
fi
cp -R "$work/raw/." "$work/site/"
rm -rf "$root/dist/site"
mkdir -p "$root/dist"
mv "$work/site" "$root/dist/site"
echo "dist/site has $(find "$root/dist/site" -name index.html | wc -l) pages"
