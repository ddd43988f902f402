# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
module RL
  VERSION = "0.9.0"
end
