# SPDX-License-Identifier: BSD-2-Clause
# librl's own sources are compiled in, with the compiler's atomics: no header of another package is needed.
{
  "targets": [{
    "target_name": "rl",
    "sources": ["<!@(ls src/*.c)", "<!@(ls common/*.c)", "<!@(ls librl/libshm/*/*.c)"],
    "include_dirs": ["src", "common", "librl/include", "librl/libshm"],
    "defines": ["_GNU_SOURCE", "RL_ATOMIC_C11", "RL_VERSION=\"0.9.0\""],
    "cflags": ["-std=c11", "-fvisibility=hidden", "-O2"],
    "conditions": [["target_arch=='x64'", {"cflags": ["-mcx16"]}]],
  }],
}
