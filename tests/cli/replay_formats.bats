# SPDX-License-Identifier: BSD-2-Clause
# The formats of logs that replay knows: a line of each in the shape that its server writes.

load common

# understood FORMAT LINE...: the lines, and one of another client, are read as that format with the
# first client twice at one time. INPUT is what is read, of two lines.
understood() {
	local format=$1 client=$2 time_ns=$3
	rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	exits 0
	has "format=\"$format\"" requests=2 keys=1 denied=1 unreadable=0 "first_ns=$time_ns"
	are key "\"$client\""
	# By its name, too.
	rlctl replay --json -c 1 -w 1s --format "${4:-$format}" "$BATS_TEST_TMPDIR/log"
	exits 0
	has requests=2 keys=1 denied=1 unreadable=0 "first_ns=$time_ns"
	are key "\"$client\""
}

# The file "log" has the line twice.
log() {
	printf '%s\n' "$1" "$1" >"$BATS_TEST_TMPDIR/log"
}

# field NAME VALUE: that field of the log's lines as the key.
field() {
	rlctl replay --json -c 1 -w 1s "${@:3}" --key "$1" "$BATS_TEST_TMPDIR/log"
	exits 0
	are key "\"$2\""
}

@test "common" {
	log '192.0.2.7 - alice [22/Nov/2026:10:00:00 +0100] "GET /a/b?c=d HTTP/1.1" 200 512'
	understood common 192.0.2.7 1795338000000000000
	field user alice
	field '%u' alice
	field method GET
	field path /a/b
	field uri '/a/b?c=d'
	field status 200
	field bytes 512
}

@test "combined, with fields behind it" {
	log '2001:db8::1 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/2" 200 1 "https://example.org/" "a \"quoted\" agent" "192.0.2.9" 0.001'
	understood combined 2001:db8:: 1795341600000000000
	field agent 'a \\\"quoted\\\" agent'
	field referer 'https://example.org/'
	field "\$http_referer" 'https://example.org/'
	field '%{Referer}i' 'https://example.org/'
}

@test "combined with a fraction of a second, and with a list of forwarded addresses" {
	log '192.0.2.7 - - [22/Nov/2026:10:00:00.123456 +0000] "GET / HTTP/1.1" 200 1 "-" "x"'
	understood combined 192.0.2.7 1795341600123456000
	log '192.0.2.7, 198.51.100.1 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x"'
	understood combined 192.0.2.7 1795341600000000000
	log '192.0.2.7, 198.51.100.1, 198.51.100.2 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1'
	understood common 192.0.2.7 1795341600000000000
}

@test "lines in quotes" {
	log '"192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] ""GET / HTTP/1.1"" 200 1"'
	rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	exits 0
	has 'format="common"' denied=1
	are key '"192.0.2.7"'
}

@test "vcombined: the client is behind the virtual host" {
	log 'www.example.org:443 192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x"'
	understood vcombined 192.0.2.7 1795341600000000000
	field vhost www.example.org:443
	log 'www.example.org:443 client.example.net - bob [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x"'
	understood vcombined client.example.net 1795341600000000000
}

@test "vcommon; names in capitals, and as GoAccess has them" {
	log 'www.example.org:443 192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 17'
	understood vcommon 192.0.2.7 1795341600000000000 VCOMMON
	field bytes 17
	log '192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-" 1 "router@docker" "http://10.0.0.1:80" 12ms'
	understood combined 192.0.2.7 1795341600000000000 TRAEFIKCLF
	rlctl_in '' replay -c 1 -w 1s --format clf
	in_trouble "--format: unknown format 'clf'; use one of auto|common|"
}

@test "squid: blanks to a width" {
	log '1795341600.123    104 192.0.2.7 TCP_MISS/304 1040 GET http://www.example.org/a?b - HIER_DIRECT/198.51.100.1 text/html'
	understood squid 192.0.2.7 1795341600123000000
	field status 304
	field path /a
}

@test "w3c as IIS has it: a line tells the fields" {
	printf '%s\r\n' '#Software: Microsoft Internet Information Services 10.0' '#Version: 1.0' \
		'#Date: 2026-11-22 10:00:00' \
		'#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status time-taken' \
		'2026-11-22 10:00:00 198.51.100.1 GET /login.aspx - 443 - 192.0.2.7 Mozilla/5.0+(X11) 200 15' \
		'2026-11-22 10:00:00 198.51.100.1 GET /login.aspx - 443 EXAMPLE\alice 192.0.2.7 curl 401 15' \
		>"$BATS_TEST_TMPDIR/log"
	understood w3c 192.0.2.7 1795341600000000000
	has other=4
	rlctl replay --json -c 1 -w 1s --where 'status = 401' --key agent "$BATS_TEST_TMPDIR/log"
	has requests=1 filtered=1 'format="w3c"'
	says '"curl"'
}

@test "w3c as CloudFront has it: tabs; the fields may change" {
	{
		printf '#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method\n'
		printf '2026-11-22\t10:00:00\tFRA2\t99\t192.0.2.7\tGET\n'
		printf '#Fields: date time c-ip\n2026-11-22\t10:00:00\t192.0.2.7\n'
	} >"$BATS_TEST_TMPDIR/log"
	understood w3c 192.0.2.7 1795341600000000000
	printf '#Fields: time c-ip\n10:00:00 192.0.2.7\n' >"$BATS_TEST_TMPDIR/log"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	in_trouble "no 'date time' is among the fields"
	printf '#Fields: date time c-ip\n2026-11-22 10:00:00 192.0.2.7\n' >"$BATS_TEST_TMPDIR/log"
	rlctl replay -c 1 -w 1s -k user "$BATS_TEST_TMPDIR/log"
	in_trouble 'log:1: a field that is wanted is not among the fields'
	complains "log:2: no '#Fields:' line that is understood stands before it"
}

@test "alb and elb: the client without its port" {
	log 'https 2026-11-22T10:00:00.186641Z app/my-lb/50dc6c495c0c9188 192.0.2.7:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/a?b HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:x "Root=1" "www.example.com" "arn" 0 2026-11-22T10:00:00.000000Z "forward" "-" "-"'
	understood alb 192.0.2.7 1795341600186641000
	field path /a
	field agent curl/7.46.0
	log '2026-11-22T10:00:00.186641Z my-lb [2001:db8::7]:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.38.0" - -'
	understood elb 2001:db8:: 1795341600186641000
}

@test "haproxy: httplog through syslog, times of this machine's zone" {
	log 'Nov 22 10:00:00 lb haproxy[14389]: 2001:db8::7:33317 [22/Nov/2026:10:00:00.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"'
	export TZ=UTC
	understood 'haproxy in syslog' 2001:db8:: 1795341600655000000 haproxy
	field path /index.html
	export TZ=Europe/Berlin
	understood 'haproxy in syslog' 2001:db8:: 1795338000655000000 haproxy
	log '<134>Nov 22 10:00:00 lb haproxy[14389]: 192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "" "" 5 "http-in" "static"'
	understood 'combined in syslog' 192.0.2.7 1795341600000000000 combined
}

@test "nginx and Apache through syslog; lines of others are passed over" {
	{
		echo 'Nov 22 09:59:59 www CRON[1]: (root) CMD (true)'
		echo 'Nov 22 10:00:00 www nginx: 192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x"'
		echo 'Nov 22 10:00:00 www kernel: eth0: link is up'
		echo 'Nov 22 10:00:00 www nginx: 192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x"'
	} >"$BATS_TEST_TMPDIR/log"
	rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	exits 0
	has 'format="combined in syslog"' requests=2 denied=1 unreadable=0 other=2
	log '<190>1 2026-11-22T10:00:00.000Z www nginx 77 - - 192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x"'
	understood 'combined in syslog' 192.0.2.7 1795341600000000000 combined
}

@test "sshd: attempts to log in, and nothing else" {
	{
		echo 'Nov 22 10:00:00 host sshd[1]: Connection from 192.0.2.7 port 4242'
		echo 'Nov 22 10:00:00 host sshd[1]: Invalid user admin from 192.0.2.7 port 4242'
		echo 'Nov 22 10:00:00 host sshd[1]: Failed password for invalid user admin from x from 192.0.2.7 port 4242 ssh2'
		echo 'Nov 22 10:00:00 host sshd-session[1]: Failed password for root from 192.0.2.7 port 4243 ssh2'
		echo 'Nov 22 10:00:00 host sshd[1]: pam_unix(sshd:auth): authentication failure; rhost=192.0.2.7'
	} >"$BATS_TEST_TMPDIR/log"
	rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	exits 0
	has 'format="sshd in syslog"' requests=2 keys=1 denied=1 unreadable=0 other=3
	are key '"192.0.2.7"'
	rlctl replay --json -c 1 -w 1s --where 'user = root' --format sshd "$BATS_TEST_TMPDIR/log"
	has requests=1 filtered=1
	sed 's/^Nov 22 10:00:00/2026-11-22T11:00:00.250000+01:00/' -i "$BATS_TEST_TMPDIR/log"
	rlctl replay --json -c 1 -w 1s --key user "$BATS_TEST_TMPDIR/log"
	has requests=2 keys=2 first_ns=1795341600250000000
	says '"admin from x"'
}

@test "syslog's times have no year: the last that it can be" {
	log "$(TZ=UTC date -d '-30 days' '+%b %e %H:%M:%S') host sshd[1]: Failed password for root from 192.0.2.7 port 1 ssh2"
	TZ=UTC rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	exits 0
	now=$(date +%s)
	first=$(($(values first_ns) / 1000000000))
	((now - first >= 30 * 86400 - 5 && now - first <= 30 * 86400 + 600))
	log "$(TZ=UTC date -d '+30 days' '+%b %e %H:%M:%S') host sshd[1]: Failed password for root from 192.0.2.7 port 1 ssh2"
	TZ=UTC rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	first=$(($(values first_ns) / 1000000000))
	((first < now && now - first > 300 * 86400))
}

@test "caddy" {
	log '{"level":"info","ts":1795341600.123456,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"198.51.100.1","remote_port":"41342","client_ip":"192.0.2.7","proto":"HTTP/2.0","method":"GET","host":"example.org","uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"],"X-Api-Key":["k1"]}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200}'
	understood caddy 192.0.2.7 1795341600123456000
	field header:X-Api-Key k1
	field agent curl/7.82.0
	field path /a
	field request.headers.X-Api-Key k1
	field size 10900
	log '{"level":"info","ts":1795341600,"request":{"remote_addr":"192.0.2.7:41342","method":"GET","uri":"/"},"status":200}'
	understood caddy 192.0.2.7 1795341600000000000
}

@test "traefik" {
	log '{"ClientAddr":"192.0.2.7:4242","ClientHost":"192.0.2.7","ClientUsername":"alice","DownstreamStatus":200,"RequestHost":"example.org","RequestMethod":"GET","RequestPath":"/a?b","StartUTC":"2026-11-22T10:00:00.123456789Z","request_X-Api-Key":"k1","level":"info","msg":"","time":"2026-11-22T10:00:01Z"}'
	understood traefik 192.0.2.7 1795341600123456789
	field user alice
	field path /a
	field header:X-Api-Key k1
	log '192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-" 1 "router@docker" "http://10.0.0.1:80" 12ms'
	understood combined 192.0.2.7 1795341600000000000
}

@test "json as nginx writes it, and as anything does" {
	log '{"time_iso8601":"2026-11-22T11:00:00+01:00","remote_addr":"192.0.2.7","request":"GET /a?b HTTP/1.1","status":"200","http_x_api_key":"k1"}'
	understood json 192.0.2.7 1795341600000000000
	field path /a
	field header:X-Api-Key k1
	field "\$http_x_api_key" k1
	log '{ "msec" : "1795341600.500" , "nested": {"a": [1, {"b": "}]"}], "remote_addr": "no"}, "remote_addr" : "192.0.2.7" }'
	understood json 192.0.2.7 1795341600500000000
	log '{"@timestamp":"2026-11-22T10:00:00.000Z","source.ip":"192.0.2.7"}'
	understood json 192.0.2.7 1795341600000000000
	log '{"when":1795341600123,"who":{"id":42,"tags":["x","y"]}}'
	field who.id 42 --time when
	field who.tags x --time when
	has first_ns=1795341600123000000
	log '{"time":"2026-11-22T10:00:00Z","user":"\u00fc\ud83d\ude00\n\"\\\/"}'
	field user '\u00FC\uD83D\uDE00\n\"\\/'
}

@test "json: what is wanted and not there is named" {
	log '{"ts":1795341600,"who":"192.0.2.7"}'
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	in_trouble "a JSON line without 'client' by any name that is known; see --key"
	log '{"when":1795341600,"client":"192.0.2.7"}'
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	in_trouble "a JSON line without 'time' by any name that is known"
	rlctl replay -c 1 -w 1s --time when --key nobody "$BATS_TEST_TMPDIR/log"
	in_trouble "none of 2 lines has a 'nobody'"
	for line in '{' '{"ts"' '{"ts":' '{"ts":"' '{"ts":1,' '{"ts":1,"client":"a' \
		'{"ts":{}}' '{"ts":null,"client":"a"}' '{"a":{"b":[[[' '{"ts" 1}' '{ts:1}' '[]' '{}'; do
		log "$line"
		rlctl replay -c 1 -w 1s -f json "$BATS_TEST_TMPDIR/log"
		[ "$status" -eq 2 ] || fail_with "$line"
	done
}

@test "seconds, milliseconds, microseconds, nanoseconds, ISO 8601, and a key" {
	for time in 1795341600.123456789 1795341600123.456789 1795341600123456.789 1795341600123456789 \
		2026-11-22T10:00:00.123456789Z 2026-11-22T11:00:00.123456789+01:00 \
		2026-11-22T11:00:00,123456789+0100 2026-11-22T09:00:00.123456789-01 \
		'2026-11-22 10:00:00.123456789' '2026-11-22 10:00:00.123456789Z' \
		22/Nov/2026:10:00:00.123456789; do
		log "$time 192.0.2.7"
		TZ=UTC understood seconds 192.0.2.7 1795341600123456789
	done
	for time in 2026-13-22T10:00:00Z 2026-11-31T10:00:00Z 2026-11-22T24:00:00Z 2026-11-22T10:00:00+1 \
		2026-11-22 1969-12-31T23:59:59Z 12345678901234567890 1e9; do
		log "$time 192.0.2.7"
		rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
		in_trouble 'no format that is known'
	done
}

@test "--log-format as nginx has it, pasted as it is" {
	log '192.0.2.7 - alice [22/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5 "-" "x" rt=0.1 key="k1"'
	local format='$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" rt=$request_time key="$http_x_api_key"'
	field client 192.0.2.7 --log-format "$format"
	field '$http_x_api_key' k1 --log-format "$format"
	field header:X-Api-Key k1 --log-format "$format"
	field request_time 0.1 --log-format "$format"
	field path /a --log-format "$format"
	format="log_format  main  '\$remote_addr - \$remote_user [\$time_local] \"\$request\" '
	                  '\$status \$body_bytes_sent \"\$http_referer\" '
	                  '\"\$http_user_agent\" rt=\${request_time} key=\"\$http_x_api_key\"';"
	field '$http_x_api_key' k1 --log-format "$format"
	log '1795341600.250|192.0.2.7|GET'
	field client 192.0.2.7 --log-format '$msec|$remote_addr|$request_method'
	has first_ns=1795341600250000000
	log '{"t":"2026-11-22T10:00:00+00:00","a":"192.0.2.7"}'
	field client 192.0.2.7 --log-format "log_format j escape=json '{\"t\":\"\$time_iso8601\",\"a\":\"\$remote_addr\"}';"
}

@test "--log-format as Apache has it, pasted as it is" {
	log '192.0.2.7 - alice [22/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5 "-" "x" k1 100%'
	local format='%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-agent}i\" %{X-Api-Key}i %D%%'
	field client 192.0.2.7 --log-format "$format"
	field '%{X-Api-Key}i' k1 --log-format "LogFormat \"$format\" main"
	field status 200 --log-format "LogFormat \"$format\" main"
	log '[22/Nov/2026:10:00:00.123456 +0000] 192.0.2.7'
	field client 192.0.2.7 --log-format '[%{%d/%b/%Y:%T}t.%{usec_frac}t %{%z}t] %a'
	has first_ns=1795341600123456000
	log '1795341600123 192.0.2.7'
	field client 192.0.2.7 --log-format '%{msec}t %h'
	has first_ns=1795341600123000000
	log 'Nov 22 10:00:00 www apache: 192.0.2.7 [22/Nov/2026:10:00:00 +0000]'
	field client 192.0.2.7 --log-format '%h %t'
}

@test "--log-format: what is wrong with it is said" {
	for pair in 'x=has neither' '$remote_addr=has no time' '$time_local$remote_addr=nothing between' \
		'%h %=in the middle' '%h=has no time' '=has neither'; do
		rlctl_in '' replay -c 1 -w 1s --log-format "${pair%%=*}"
		in_trouble '--log-format: it '
		complains "${pair#*=}"
	done
	rlctl_in '' replay -c 1 -w 1s --log-format "$(printf '$a %.0s' $(seq 65))\$msec"
	in_trouble 'too many fields'
}

@test "--log-format: fields in quotes, blanks in names, brackets" {
	log '192.0.2.7 "a \" [b] \\" [c [22/Nov/2026:10:00:00 +0000] x'
	field client 192.0.2.7 --log-format '$remote_addr "$agent" $remote_user [$time_local] $x'
	field user '[c' --log-format '$remote_addr "$agent" $remote_user [$time_local] $x'
}

@test "what was understood is told" {
	printf '%s - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1\n' a b c d >"$BATS_TEST_TMPDIR/log"
	printf '5 e\n' | gzip >"$BATS_TEST_TMPDIR/more"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/log" "$BATS_TEST_TMPDIR/more"
	exits 0
	says_line 'format        common, seconds'
	says_line 'key           client, such as a, b, c'
}

@test "a field that a format does not have is named, with those it has" {
	log '192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1'
	rlctl replay -c 1 -w 1s --key agent "$BATS_TEST_TMPDIR/log"
	in_trouble "the format common has no field 'agent'; it has client, ident, user, time, request, status, bytes"
	rlctl replay -c 1 -w 1s --where 'foo = 1' "$BATS_TEST_TMPDIR/log"
	in_trouble "has no field 'foo'"
}

@test "all requests of one key, or each of its own: told" {
	seq 200 | sed 's/.*/& - - [22\/Nov\/2026:10:00:00 +0000] "GET \/ HTTP\/1.1" 200 1/' >"$BATS_TEST_TMPDIR/own"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/own"
	exits 0
	complains "warning: nearly every request has a key of its own (200 of 200): is 'client' whom"
	sed 's/^[0-9]*/proxy/' "$BATS_TEST_TMPDIR/own" >"$BATS_TEST_TMPDIR/one"
	rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/one"
	exits 0
	complains "warning: all requests have one key, 'proxy' of 'client': is it whom"
	says 'all requests have one key'
	head -50 "$BATS_TEST_TMPDIR/one" >"$BATS_TEST_TMPDIR/few"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/few"
	[ -z "$stderr" ]
}

@test "nothing that can be read is trouble, nothing at all is none" {
	rlctl_in 'x\ny\n' replay -c 1 -w 1s
	in_trouble 'none of 2 lines can be read'
	complains 'stdin:1: no format that is known; see --format and --log-format'
	rlctl_in 'Nov 22 10:00:00 host CRON[1]: (root) CMD (true)\n' replay -c 1 -w 1s
	in_trouble 'none of 1 lines can be read'
	rlctl_in 'a - - [22/Nov/2026:10:00:00 +0000]\n' replay -c 1 -w 1s -k user
	in_trouble "none of 1 lines has a 'user'"
	rlctl_in '' replay -c 1 -w 1s
	exits 0
	{
		seq 1 200 | sed 's/.*/& a/'
		seq 1 300 | sed 's/.*/bad/'
	} >"$BATS_TEST_TMPDIR/bad"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/bad"
	exits 0
	complains "warning: 200 of 500 lines could be judged: 300 cannot be read, 0 have no 'client', 0 are something else"
	printf '1 a\nb\nc\n' >"$BATS_TEST_TMPDIR/bad"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/bad"
	complains 'warning: 1 of 3 lines could be judged: 2 cannot be read'
	printf '1 a\nb\n' >"$BATS_TEST_TMPDIR/bad"
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/bad"
	[[ $stderr != *warning* ]]
}

@test "what is packed otherwise is named" {
	# The first bytes of each.
	for magic in 'BZh91AY&SY:bzip2' 'PK\003\004:zip' '\004"M\030:lz4' '\037\235:compress'; do
		# shellcheck disable=SC2059
		printf "${magic%:*}rest" >"$BATS_TEST_TMPDIR/log"
		rlctl replay -c 1 -w 1h "$BATS_TEST_TMPDIR/log"
		in_trouble "log: its data are ${magic##*:}, which is not read: unpack them into a pipe"
	done
	printf '1 a\n' >"$BATS_TEST_TMPDIR/log"
	rlctl replay -c 1 -w 1h "$BATS_TEST_TMPDIR/log"
	exits 0
}

combined='192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x"'

@test "containers' logs: CRI, of which a part stands for its whole line" {
	log "2026-11-22T10:00:00.123456789Z stdout F $combined"
	understood 'combined in cri' 192.0.2.7 1795341600000000000 combined
	{
		echo '2026-11-22T09:59:59.1Z stderr F starting up'
		echo "2026-11-22T10:00:00.1Z stdout P ${combined%x*}"
		echo '2026-11-22T10:00:00.2Z stderr F [notice] nothing'
		echo "2026-11-22T10:00:00.3Z stdout P $combined"
		echo '2026-11-22T10:00:00.4Z stdout F the last part"'
		echo "2026-11-22T10:00:00.5Z stdout F $combined"
	} >"$BATS_TEST_TMPDIR/log"
	rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	exits 0
	has 'format="common in cri"' requests=2 denied=1 unreadable=0 other=4
	log '2026-11-22T10:00:00.1Z stdout F {"time": "2026-11-22T10:00:00Z", "remote_addr": "192.0.2.8"}'
	understood 'json in cri' 192.0.2.8 1795341600000000000 json
}

@test "a client that reads as a time is none" {
	log "2026-11-22T10:00:00.123456789Z - - [22/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\""
	rlctl replay -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	in_trouble "none of 2 lines has a 'client'"
	# Of a time and a line the client is behind the time.
	log "2026-11-22T10:00:00Z $combined"
	understood seconds 192.0.2.7 1795341600000000000
	# But a number may be one.
	log '1795341600 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1'
	understood common 1795341600 1795341600000000000
}

@test "containers' logs: Docker's json-file" {
	local line=${combined//\"/\\\"}
	log "{\"log\":\"$line\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-22T10:00:00.5Z\"}"
	understood 'combined in docker' 192.0.2.7 1795341600000000000 combined
	{
		echo '{"log":"starting\n","stream":"stderr","time":"2026-11-22T09:00:00Z"}'
		echo "{\"log\":\"$line\",\"stream\":\"stdout\",\"attrs\":{\"tag\":\"a\"},\"time\":\"2026-11-22T10:00:00.5Z\"}"
		echo '{"log":"the rest\n","stream":"stdout","time":"2026-11-22T10:00:00.6Z"}'
		echo "{\"log\":\"$line\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-22T10:00:00.7Z\"}"
		echo '{"log": 7}'
	} >"$BATS_TEST_TMPDIR/log"
	rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	exits 0
	has 'format="combined in docker"' requests=2 denied=1 other=2 unreadable=1
	complains 'log:5: no line of docker'
	# A line of JSON that has such members for itself is read for itself.
	log '{"log":"GET /","stream":"stdout","time":"2026-11-22T10:00:00Z","remote_addr":"192.0.2.9"}'
	understood json 192.0.2.9 1795341600000000000
}

@test "journalctl -o json: a server's lines, and sshd's" {
	local line=${combined//\"/\\\"} bytes
	log "{\"MESSAGE\":\"$line\",\"SYSLOG_IDENTIFIER\":\"nginx\",\"__REALTIME_TIMESTAMP\":\"1795341600500000\"}"
	understood 'combined in journal' 192.0.2.7 1795341600000000000 combined
	# journalctl -o json --output-fields=MESSAGE
	log "{\"__CURSOR\":\"s=1;i=2\",\"__REALTIME_TIMESTAMP\":\"1795341600500000\",\"MESSAGE\":\"$line\"}"
	understood 'combined in journal' 192.0.2.7 1795341600000000000 combined
	# Bytes that are no UTF-8 are written as numbers.
	bytes=$(printf '%s' "${combined%x*}" | od -An -v -tu1 | xargs | tr ' ' ,)
	{
		echo '{"MESSAGE":"eth0: link is up","SYSLOG_IDENTIFIER":"kernel","__REALTIME_TIMESTAMP":"1795341600500000"}'
		echo "{\"_COMM\":\"nginx\",\"MESSAGE\":\"$line\",\"__REALTIME_TIMESTAMP\":\"1795341600500000\"}"
		echo "{\"__REALTIME_TIMESTAMP\":\"1795341600500000\",\"MESSAGE\":[$bytes,255,34],\"_COMM\":\"nginx\"}"
	} >"$BATS_TEST_TMPDIR/log"
	rlctl replay --json -c 1 -w 1s "$BATS_TEST_TMPDIR/log"
	exits 0
	has 'format="combined in journal"' requests=2 denied=1 unreadable=0 other=1
	log '{"MESSAGE":"Failed password for root from 192.0.2.7 port 4243 ssh2","SYSLOG_IDENTIFIER":"sshd","__REALTIME_TIMESTAMP":"1795341600500000"}'
	understood 'sshd in journal' 192.0.2.7 1795341600500000000 sshd
}

@test "gzip, zstd and xz are read, by what they begin with; several in one file, too" {
	printf '1 a\n2 a\n' >"$BATS_TEST_TMPDIR/plain"
	for pack in gzip zstd xz; do
		"$pack" -c <"$BATS_TEST_TMPDIR/plain" >"$BATS_TEST_TMPDIR/log"
		"$pack" -c <"$BATS_TEST_TMPDIR/plain" >>"$BATS_TEST_TMPDIR/log"
		rlctl replay --json -c 1 -w 1h "$BATS_TEST_TMPDIR/log"
		exits 0
		has requests=4 denied=3 unreadable=0
		run --separate-stderr bash -c '"$1" replay --json -c 1 -w 1h <"$2"' - "$RLCTL" "$BATS_TEST_TMPDIR/log"
		exits 0
		has requests=4
		run --separate-stderr bash -c 'cat "$2" | "$1" replay --json -c 1 -w 1h' - "$RLCTL" "$BATS_TEST_TMPDIR/log"
		has requests=4
	done
	{
		gzip -c "$BATS_TEST_TMPDIR/plain"
		head -c 1000 /dev/zero
	} >"$BATS_TEST_TMPDIR/log"
	rlctl replay --json -c 1 -w 1h "$BATS_TEST_TMPDIR/log"
	exits 0
	has requests=2
}

@test "compressed data that are damaged or cut are trouble" {
	seq 1 5000 | sed 's/.*/& a/' >"$BATS_TEST_TMPDIR/plain"
	for pack in gzip zstd xz; do
		"$pack" -c <"$BATS_TEST_TMPDIR/plain" >"$BATS_TEST_TMPDIR/whole"
		head -c $(($(stat -c %s "$BATS_TEST_TMPDIR/whole") / 2)) "$BATS_TEST_TMPDIR/whole" >"$BATS_TEST_TMPDIR/cut"
		rlctl replay -c 1 -w 1h "$BATS_TEST_TMPDIR/cut"
		in_trouble "cut: its $pack data end too early"
		{
			head -c 100 "$BATS_TEST_TMPDIR/whole"
			printf 'nonsense, and more of it'
			tail -c +150 "$BATS_TEST_TMPDIR/whole"
		} >"$BATS_TEST_TMPDIR/bad"
		rlctl replay -c 1 -w 1h "$BATS_TEST_TMPDIR/bad"
		in_trouble "bad: its $pack data"
	done
}
