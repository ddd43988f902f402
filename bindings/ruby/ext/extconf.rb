# SPDX-License-Identifier: BSD-2-Clause
# Builds rl/rl_ext: on the librl of this system, or on the sources beside it (rl/, as the gem has them) where
# there is none. RL_INCLUDE and RL_LIBRARY name headers and a library that are not installed.
require "mkmf"

# Elsewhere there is nothing to build: rl/off says so when a segment is opened.
unless RbConfig::CONFIG["host_os"].include?("linux")
  File.write("Makefile", dummy_makefile(__dir__).join)
  exit
end

here = __dir__
$CFLAGS << " -std=gnu11 -fvisibility=hidden #{ENV['RL_CFLAGS']}"
$LDFLAGS << " #{ENV['RL_LDFLAGS']}"
common = [File.join(here, "../../common"), File.join(here, "../common")].find { |d| File.directory?(d) }
$INCFLAGS << " -I#{common}"
$VPATH << common
$srcs = (Dir[File.join(here, "*.c")] + Dir[File.join(common, "*.c")]).map { |f| File.basename(f) }

vendored = File.join(here, "../rl")
if ENV["RL_LIBRARY"]
  $INCFLAGS << " -I#{ENV.fetch('RL_INCLUDE')}"
  $LOCAL_LIBS << " #{ENV['RL_LIBRARY']}"
elsif pkg_config("rl") && have_header("rl.h") && have_func("rl_reset_matching", "rl_admin.h")
  puts "rl: the librl of this system"
elsif File.directory?(vendored)
  $CFLAGS << " -DRL_ATOMIC_C11 -D_GNU_SOURCE" << (RbConfig::CONFIG["host_cpu"] == "x86_64" ? " -mcx16" : "")
  $CFLAGS << " -DRL_VERSION='\"#{File.read(File.join(here, '../VERSION')).strip}\"'"
  $INCFLAGS << " -I#{vendored}/include -I#{vendored}/libshm"
  dirs = Dir[File.join(vendored, "libshm/*")]
  $VPATH.concat(dirs)
  $srcs += dirs.flat_map { |d| Dir[File.join(d, "*.c")] }.map { |f| File.basename(f) }
else
  abort "rl: no librl: install librl-dev, or say RL_INCLUDE and RL_LIBRARY"
end
raise "two sources of one name: #{$srcs.tally.select { |_, n| n > 1 }.keys}" if $srcs.uniq.size != $srcs.size

create_makefile("rl/rl_ext")
