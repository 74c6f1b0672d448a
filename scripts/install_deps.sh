#!/bin/bash
# Installs the Debian packages that building and testing Hunch needs, and only those that are missing:
# where all are there it asks for no rights and touches no network.
# Usage: install_deps.sh [EXTRA_PACKAGE...]
set -euo pipefail

packages=(
  g++ cmake ninja-build make pkg-config python3 python3-pip clang-format
  libspdlog-dev libfmt-dev nlohmann-json3-dev libutf8proc-dev libboost-dev prometheus-cpp-dev libgtest-dev libgmock-dev
  "$@"
)

if ! command -v dpkg-query >/dev/null; then
  echo "install_deps.sh: not a Debian system; going on in the hope that these are there: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status} ' "$package" 2>/dev/null || true)
  [[ " $status" == *" installed "* ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "install_deps.sh: missing Debian packages; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
  [[ -t 0 ]] || as_root+=(-n) # nobody is there to type a password
fi

echo "installing from Debian: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1
}
# The lists of packages may be old or absent, so they come first; that they cannot be had is no
# failure yet, since the packages may lie in apt's cache.
apt update || true
if ! apt install -y --no-install-recommends "${missing[@]}"; then
  tail -n 15 "$log" >&2
  echo "install_deps.sh: apt-get could not install ${missing[*]}" >&2
  exit 1
fi
