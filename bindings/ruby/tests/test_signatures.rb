# frozen_string_literal: true

# SPDX-License-Identifier: BSD-2-Clause
# sig/rl.rbs has each class and each public call that there is, and no other; what runs README's examples and the calls
# below takes and gives what it says. The rbs that Ruby brings judges both.
require_relative "helper"
require "rl/cache_store"
require "rl/middleware"
require "rl/rack_attack"
require "rl/sidekiq"
require "rbs"
require "rbs/test"

# The library as sig/rl.rbs has it.
module Signatures
  SIG = File.expand_path("../sig", __dir__)
  LOADER = RBS::EnvironmentLoader.new.tap { |loader| loader.add(path: Pathname(SIG)) }
  ENVIRONMENT = RBS::Environment.from_loader(LOADER).resolve_type_names
  BUILDER = RBS::DefinitionBuilder.new(env: ENVIRONMENT)
  CLASSES = RL.constants.map { |name| RL.const_get(name) }.grep(Module).sort_by(&:name)

  def self.type_name(klass)
    RBS::TypeName.new(name: klass.name.split("::").last.to_sym, namespace: RBS::Namespace.parse("::RL"))
  end

  # The names that the file says of a class.
  def self.said(definition, name)
    definition.methods.select { |_, method| method.implemented_in == name }.keys.sort - %i[initialize]
  end
end

class TestSignatures < Minitest::Test
  include Segments

  def there(klass)
    klass.public_instance_methods(false).sort - %i[initialize]
  end

  def test_every_call_is_in_it_and_no_other
    assert_operator Signatures::CLASSES.size, :>=, 12
    Signatures::CLASSES.each do |klass|
      name = Signatures.type_name(klass)
      assert Signatures::ENVIRONMENT.class_decls.key?(name), "#{klass} is in no signature"
      assert_equal there(klass), Signatures.said(Signatures::BUILDER.build_instance(name), name), klass.name
      own = klass.singleton_methods(false).sort - %i[new [] members keyword_init? inspect]
      assert_equal own, Signatures.said(Signatures::BUILDER.build_singleton(name), name) - %i[new], klass.name
    end
    assert_equal Signatures::CLASSES.map { |klass| Signatures.type_name(klass) }.sort_by(&:to_s),
                 Signatures::ENVIRONMENT.class_decls.keys.select { |name| name.namespace.to_s == "::RL::" }.sort_by(&:to_s)
  end

  # Everything of it once, and README, in a process whose calls are hooked.
  def test_what_it_says_is_so
    out, status = typed("#{__dir__}/typed.rb")
    assert status.success?, out
    assert_match(/[1-9]\d* runs, \d+ assertions, 0 failures, 0 errors/, out)
  end

  def test_a_signature_that_is_wrong_is_found
    Dir.mktmpdir do |sig|
      right = File.read("#{Signatures::SIG}/rl.rbs")
      File.write("#{sig}/rl.rbs", right.sub("def remaining: () -> Integer", "def remaining: () -> String"))
      out, status = typed("#{__dir__}/typed.rb", "RL_SIG" => sig)
      refute status.success?
      assert_match(/remaining.*ReturnTypeError/, out)
    end
  end

  def typed(file, **env)
    Open3.capture2e({ "RBS_TEST_LOGLEVEL" => "error", **env }, RbConfig.ruby, "-W1", *$LOAD_PATH.flat_map { |path| ["-I", path] }, file)
  end
end
