#!/usr/bin/env bash
# Usage: release.sh --set v0.2.0   has all modules require v0.2.0 of each other
#        release.sh v0.2.0         checks that HEAD may be v0.2.0, and tags it
# in a repository. All published modules have one version, and each has a tag of
# its own, with its directory in front: v0.2.0, infra/v0.2.0 and so on.
# `make zips` builds the Lambdas for the tag of infra/lambdas.
set -euo pipefail
shopt -s inherit_errexit
published=(. infra infra/lambdas limitgrpc limitotel)
ours='github\.com/slidegate/slidegate(/[a-z]+)*'

fail() {
	echo "release: $1" >&2
	exit 1
}

version=${*: -1}
[[ $version =~ ^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$ ]] || fail "'$version' is no version: write one such as v0.2.0"
mapfile -t mods < <(git ls-files -- '*go.mod' | grep -v testdata/)
if [[ $1 == --set ]]; then
	sed -i -E "s#^((require )?\s*$ours) v[^ ]+#\1 $version#" "${mods[@]}"
	exit
fi

[[ -z $(git status --porcelain) ]] || fail "there are files to commit: $(git status --porcelain)"

required=$(grep -hE "^(require )?\s*$ours v" "${mods[@]}" | grep -oE ' v[^ ]+' | sort -u | xargs)
[[ $required == "$version" ]] || fail "the modules require '$required' of each other: run \`tools/release/release.sh --set $version\`, and commit"

grep -qE "^## \[${version#v}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md ||
	fail "CHANGELOG.md has no section '## [${version#v}] - YYYY-MM-DD'"
entries=$(sed -n '/^## \[Unreleased\]/,/^## \['"${version#v}"'\]/p' CHANGELOG.md | grep -v '^## \[' | tr -d '[:space:]')
[[ -z $entries ]] || fail "CHANGELOG.md has entries above $version: move them into its section"

last=$(git tag --list 'v*' --sort=-version:refname | head -1)
if [[ -n $last ]]; then
	[[ $(printf '%s\n' "$last" "$version" | sort --version-sort | tail -1) == "$version" && $last != "$version" ]] ||
		fail "$version is not above $last, which is released"
	gone=$(git diff "$last" HEAD -- tools/api/testdata | grep '^-pkg ' || true)
	compatible=${last%.*} # before 1.0, a new minor version may break programs
	[[ $last == v0.* ]] || compatible=${last%%.*}
	[[ -z $gone || $version != "$compatible".* ]] ||
		fail "$version breaks programs that use $last: it needs a higher version
$gone"
fi

# The Lambdas' zips are not in main: the tag of their module is on a commit beside it.
make --no-print-directory zips >&2
with_zips=$(
	GIT_INDEX_FILE=$(mktemp --dry-run)
	export GIT_INDEX_FILE
	trap 'rm -f "$GIT_INDEX_FILE"' EXIT
	git read-tree HEAD
	git add --force infra/lambdas/zips/{authorizer,operations}_{arm64,amd64}.zip
	git commit-tree -p HEAD -m "Add the Lambdas' zips of $version" "$(git write-tree)"
)

tags=()
for dir in "${published[@]}"; do
	tag=$dir/$version commit=HEAD
	[[ $dir != infra/lambdas ]] || commit=$with_zips
	git tag --annotate --message "$tag" "${tag#./}" "$commit"
	tags+=("${tag#./}")
done
# GitHub starts no workflow for tags if more than three are pushed at once.
printf 'tagged; publish with:\n  git push --atomic origin %s && git push origin %s\n' "${tags[*]:1}" "$version"
