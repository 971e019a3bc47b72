#!/usr/bin/env bash
# Unpacks packages for 64-bit Arm into a folder: tests/aarch64/make_root.sh FOLDER [PACKAGE...]
#
# Without a PACKAGE they are the libraries that a build needs, and SQLite's shell.
#
# Downloads them from the sources of this machine's apt (Debian or Ubuntu). Needs no root, because nothing is installed and
# apt's own state stays unchanged.
set -euo pipefail
root=${1:?usage: make_root.sh FOLDER [PACKAGE...]}
shift
packages=(zlib1g zlib1g-dev libhwy-dev libeigen3-dev nlohmann-json3-dev libcli11-dev libgtest-dev
  libsqlite3-0 libsqlite3-dev sqlite3 libreadline8 libtinfo6)
[[ $# -eq 0 ]] || packages=("$@")

for program in apt-get dpkg-deb; do
  command -v "$program" >/dev/null || { echo "make_root.sh: there is no $program" >&2 && exit 1; }
done
if [[ -f $root/packages ]] && [[ $(cat "$root/packages") == "${packages[*]}" ]]; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{state/lists/partial,cache/archives/partial,packages,root}
touch "$work/status"
apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$work/state"
  -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)")
download() (cd "$work/packages" && "${apt[@]}" update && "${apt[@]}" download "${packages[@]}")
download >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2 && exit 1; }
for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/root"; done
cp -a "$work/root/lib/." "$work/root/usr/lib/"  # one folder, as where /lib is a link
rm -rf "$work/root/lib"
ln -s usr/lib "$work/root/lib"
# Links from the root of a system, such as libz.so's, become links inside the folder.
find "$work/root" -type l -lname '/*' | while read -r link; do
  ln -sfr "$work/root$(readlink "$link")" "$link"
done
echo "${packages[*]}" >"$work/root/packages"
rm -rf "$root"
mkdir -p "$(dirname "$root")"
mv "$work/root" "$root"
