# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# Runs the examples of README.md in order: Ruby, where `# => x` is what a line is to give, and shell. Each promise of
# its last table names a file that is there.
require_relative "helper"

class TestReadme < Minitest::Test
  include Segments
  TEXT = File.read(File.join(__dir__, "../README.md"))

  # A line that tells its value checks it.
  def checked(code)
    code.gsub(/^(.*\S)\s+# => (.+?)(, [a-z].*)?$/) do
      expression = Regexp.last_match(1)
      want = Regexp.last_match(2)
      name, value = expression.match(/\A(\w+) = (.*)\z/m)&.captures
      "readme_same(#{want.inspect}, (#{value ? "#{name} = #{value}" : expression}))"
    end
  end

  def readme_same(want, got)
    assert_equal want, got.inspect
    @checked += 1
  end

  def test_the_examples
    name = segment_name
    @checked = 0
    blocks = TEXT.scan(/^```(ruby|sh)\n(.*?)^```$/m)
    blocks.each do |language, code|
      code = code.gsub('"web"', name.inspect).gsub("--segment web", "--segment #{name}")
      if language == "ruby"
        instance_eval(checked(code), "README.md")
      else
        out, status = Open3.capture2e({ "PATH" => "#{File.dirname(ENV.fetch('RLCTL'))}:#{ENV.fetch('PATH')}" }, "sh", "-ec", code)
        assert status.success?, out
      end
    end
    assert_operator blocks.size, :>=, 7
    assert_operator @checked, :>=, 16
  end

  def test_files_that_are_named_are_there
    TEXT.scan(%r{`(tests/\w+\.\w+)}).flatten.uniq.each { |file| assert File.exist?(File.join(__dir__, "..", file)), file }
    assert_match(/0\.9\.0/, RL::VERSION) if TEXT.include?("0.9.0")
  end

  def test_every_call_of_a_rule_is_named
    calls = RL::Rule.public_instance_methods(false) - %i[inspect segment]
    assert_equal [], calls.reject { |call| TEXT.include?("`#{call}") }
  end
end
