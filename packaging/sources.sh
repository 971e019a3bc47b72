# For the scripts that build with a compiler of their own (zig.sh, wasm/build.sh): Debian's header-only libraries apart from this
# system's other headers, and the sources of zlib. They set `root`, a folder that the functions fill:
#   quietly COMMAND...   runs a command, and prints what it printed if it fails
#   copy_headers         $root/headers
#   fetch_zlib           $root/zlib/source
headers=(libhwy-dev libeigen3-dev nlohmann-json3-dev libcli11-dev libfast-float-dev)

# Prints what a command printed if it fails.
quietly() {
  local log=$root/log
  "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2 && exit 1; }
}

# The files of the installed header-only libraries, apart from this system's other headers.
copy_headers() {
  [[ $(cat "$root/headers/packages" 2>/dev/null) != "${headers[*]}" ]] || return 0
  rm -rf "$root/headers"
  mkdir -p "$root/headers"
  dpkg -L "${headers[@]}" | sort -u | while read -r path; do [[ -d $path ]] || echo "$path"; done |
    tar -cf - -P -T - | tar -xf - -C "$root/headers" --strip-components=0 --transform 's,^/,,'
  echo "${headers[*]}" >"$root/headers/packages"
}

# zlib's sources from Debian, without a change to the sources of this machine's apt.
fetch_zlib() {
  [[ ! -d $root/zlib/source ]] || return 0
  local work=$root/zlib/work
  rm -rf "$work" && mkdir -p "$work"/state/lists/partial "$work"/cache/archives/partial
  # The sources come from the mirrors that this machine's packages come from.
  apt-get indextargets --format 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(SITE) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Component: main' | sort -u >"$work/list"
  local apt=(apt-get -q -o Dir::Etc::SourceList="$work/list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$work/state"
    -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)")
  quietly "${apt[@]}" update
  (cd "$work" && quietly "${apt[@]}" source --only-source zlib)
  mv "$work"/zlib-*/ "$root/zlib/source"
  rm -rf "$work"
}
