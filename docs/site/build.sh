#!/usr/bin/env bash
# Builds the site from docs into dist/site. A warning is an error. The generator
# comes from PyPI into .cache/zensical, once.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../../localstack/env.sh
. "$(dirname "$0")/../../localstack/env.sh"

requirements=$root/docs/site/requirements.txt
home=$root/.cache/zensical
work=$root/.cache/site

"$root/localstack/require.sh" python
if ! "$(find_python)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	echo 'site: the generator needs Python 3.11 or later: install it, or name one by PYTHON' >&2
	exit 1
fi
if ! cmp -s "$requirements" "$home/installed"; then
	install_packages "$home" "$requirements"
	cp "$requirements" "$home/installed"
fi

# Pages are as GitHub shows them. The generator must not see Go files and the
# site's own.
rm -rf "$work"
mkdir -p "$work"
cp "$root/docs/site/mkdocs.yml" "$work"
cp -R "$root/docs/site/theme" "$work/theme"
cp -R "$root/docs" "$work/docs"
rm -r "$work/docs/site" "$work"/docs/*.go
(cd "$work/docs" && for page in *.md start/*.md; do
	grep -q " $page\$" ../mkdocs.yml || { echo "site: docs/site/mkdocs.yml does not name docs/$page" >&2; exit 1; }
done)
cp -R "$root/docs/site/assets/." "$work/docs"
# The search leaves out decisions, which say why and not how. Pages that use them
# link them.
for page in "$root"/docs/decisions/*.md; do
	{ printf -- '---\nsearch: {exclude: true}\n---\n'; cat "$page"; } >"$work/docs/decisions/${page##*/}"
done
if ! (cd "$work" && NO_COLOR=1 "$home/bin/zensical" build --clean --strict) >"$work/log" 2>&1; then
	cat "$work/log" >&2
	exit 1
fi
if grep -q '"location":"decisions/' "$work/site/search.json"; then
	echo 'site: the search finds decisions, which their front matter leaves out' >&2
	exit 1
fi

# The pages as Markdown, and llms.txt (https://llmstxt.org), which lists them in
# the order of the navigation.
(cd "$root/docs" && find . -name '*.md' | tar -cf - -T -) | tar -xf - -C "$work/site"
(cd "$root/docs" && awk '
	/^site_name: / { print "# " substr($0, 12) }
	/^site_description: / { print "\n> " substr($0, 19) }
	/^site_url: / { url = $2 }
	/^nav:/ { nav = 1 }
	nav && /^  - / { print "\n## " substr($2, 1, length($2) - 1) "\n" }
	nav && /\.md$/ { getline title < $NF; print "- [" substr(title, 3) "](" url $NF ")" }
' site/mkdocs.yml >"$work/site/llms.txt")
rm -rf "$root/dist/site"
mkdir -p "$root/dist"
mv "$work/site" "$root/dist/site"
echo "dist/site has $(find "$root/dist/site" -name index.html | wc -l) pages"
