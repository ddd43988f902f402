# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A minimal Debian in a directory, from the mirror that apt uses here.

this_release() {
	# shellcheck source=/dev/null
	(. /etc/os-release && echo "$VERSION_CODENAME")
}

# make_debian DIRECTORY CODENAME [PACKAGES]: with these, divided by commas. Exits 77 with the reason where none can be had.
make_debian() {
	local mirror
	# shellcheck disable=SC2016 # the words are apt's
	mirror=$(apt-get indextargets --format '$(COMPONENT) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "main" { print $2; exit }')
	http_proxy=${http_proxy:-$(apt-config --format '%v' dump Acquire::http::Proxy)} debootstrap --variant=minbase ${3:+--include="$3"} \
		"$2" "$1" "$mirror" >"$1.log" 2>&1 || {
		tail -n 5 "$1.log"
		echo "no Debian $2 can be had here"
		exit 77
	}
}
