# SPDX-License-Identifier: BSD-2-Clause
# Shared by the tests that boot a Debian with systemd in a container, from $root.

container=
leader=

skip() {
	echo "$*"
	exit 77
}

fail() {
	echo "FAILED: $*"
	exit 1
}

# What is tested now, and that it took.
begin() {
	printf '%4d s  %s\n' "$SECONDS" "$*"
}

# needs_container TOOL...: exits 77 with the reason where none can be booted, or a tool is missing.
needs_container() {
	local tool
	[ "$(id -u)" -eq 0 ] || skip 'a container can only be booted as root'
	for tool in debootstrap systemd-nspawn nsenter "$@"; do
		command -v "$tool" >/dev/null || skip "there is no $tool"
	done
	unshare --mount --pid --fork true 2>/dev/null || skip 'no namespaces may be made here'
	[ -d /sys/fs/cgroup ] || skip 'there are no control groups here'
}

# Wait until a command succeeds, in steps of 50 ms, two minutes and more: the machine may be busy.
eventually() {
	local tries=2400
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail "never came true: $*"
		sleep 0.05
	done
}

# By its own root and directory, for from within a chroot its mount namespace alone leads to ours.
in_container() {
	nsenter --target "$leader" --all --root --wd env -i PATH=/usr/sbin:/usr/bin TERM=dumb LC_ALL=C "$@"
}

# The container is a child of ours, and its leader one of systemd-nspawn's.
is_booted() {
	leader=$(pgrep --parent "$container") || return 1
	case $(in_container systemctl is-system-running) in
	running | degraded) ;;
	*) return 1 ;;
	esac
}

# boot_container NAME LOG
# shellcheck disable=SC2154 # root is set by who sources this
boot_container() {
	systemd-nspawn --quiet --register=no --keep-unit --directory "$root" --machine "$1" \
		--boot --console=pipe --private-network </dev/null >"$2" 2>&1 &
	container=$!
	eventually is_booted
	is_booted
}

stop_container() {
	[ -n "$container" ] || return 0
	kill "$container" 2>/dev/null || true
	wait "$container" 2>/dev/null || true
	container=
}
