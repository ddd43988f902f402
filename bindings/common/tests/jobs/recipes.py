#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""recipes.py LANGUAGE: the recipe of docs/JOBS.md in it, run: RQ's worker on a Redis of this test's, ActiveJob, and a
processor of BullMQ, of which there is no package: its job is one of the test's. Two run at once, a third comes later."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../.."))
sys.path.insert(0, os.path.join(TOP, "tests/support"))
from ports import listens  # noqa: E402

WORK = tempfile.mkdtemp(prefix="rl-recipes-")
SEGMENT = f"recipes-{os.getpid()}"
LANGUAGE = sys.argv[1]
BLOCK = {"python": ("RQ", "python"), "ruby": ("ActiveJob", "ruby"), "node": ("BullMQ", "js")}[LANGUAGE]

PYTHON = '''
import os, sys, time
sys.path.insert(0, os.getcwd())
import redis, rq, rl
from jobs import report
queue = rq.Queue(connection=redis.Redis(unix_socket_path="redis"))
rule = rl.Segment("SEGMENT").find("reports")
with rule.hold("all"), rule.hold("all"):
    queue.enqueue(report, "a")
    rq.SimpleWorker([queue], connection=queue.connection).work(burst=True)
    assert not os.path.exists("ran"), "it ran beside two others"
    later = rq.registry.ScheduledJobRegistry(queue=queue)
    assert len(later) == 1, "it comes later"
time.sleep(1.5)
for name in later.get_job_ids():
    queue.enqueue_job(rq.job.Job.fetch(name, connection=queue.connection))
rq.SimpleWorker([queue], connection=queue.connection).work(burst=True)
assert open("ran").read() == "a"
assert rule.peek("all").used == 0
'''
RUBY = '''
require "active_job"
require "rl"
ActiveJob::Base.queue_adapter = :test
ActiveJob::Base.logger = Logger.new(nil)
RECIPE
class ReportJob
  cattr_accessor(:ran) { [] }
  def perform(customer)
    ran << customer
  end
end
began = Time.now.to_f
ReportJob::RULE.hold("a") do
  ReportJob::RULE.hold("a") { ReportJob.perform_now("a") }
end
later = ActiveJob::Base.queue_adapter.enqueued_jobs
raise "it ran beside two others" unless ReportJob.ran.empty? && later.size == 1 && later[0][:args] == ["a"]
at, ended = later[0][:at], Time.now.to_f
raise "it comes #{at - began} s after the begin, #{at - ended} s after the end" unless at.between?(began + 0.1, ended + 0.6)
ReportJob.perform_now("a")
raise "it did not run" unless ReportJob.ran == ["a"]
raise "it was not given back" unless ReportJob::RULE.peek("a").used.zero?
'''
NODE = '''
const assert = require('assert')
const Module = require('module')
class Delayed extends Error {}
const load = Module._load
Module._load = (name, ...rest) => name === 'bullmq' ? { DelayedError: Delayed } : load(name === 'librl' ? 'TOP/build/node/package' : name, ...rest)
RECIPE
;(async () => {
  const delayed = [], began = Date.now()
  const job = { data: 'a', moveToDelayed: async (at, token) => delayed.push([at - began, token]) }
  const run = limited(() => 'all', async () => 'done')
  const held = [1, 2].map(() => rule.check('all', 1, { keep: true }))
  await assert.rejects(run(job, 'a token'), DelayedError)
  assert(delayed.length === 1 && delayed[0][0] > 400 && delayed[0][1] === 'a token', 'it comes later')
  held.forEach(one => one.release())
  assert.strictEqual(await run(job, 'a token'), 'done')
  await assert.rejects(limited(() => 'all', async () => { throw new TypeError() })(job, 't'), TypeError)
  assert.strictEqual(rule.peek('all').used, 0)
})()
'''


def recipe():
    with open(os.path.join(TOP, "docs/JOBS.md"), encoding="utf-8") as file:
        text = file.read()
    block = re.search(rf"^\*\*{BLOCK[0]}\*\*.*?^```{BLOCK[1]}\n(.*?)^```$", text, re.M | re.S).group(1)
    above = re.search(r"`@limited\((.*)\)` above", text).group(1)
    return block.replace('"jobs"', f'"{SEGMENT}"').replace("'jobs'", f"'{SEGMENT}'"), above.replace('"jobs"', f'"{SEGMENT}"')


def write(name, text):
    with open(os.path.join(WORK, name), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    block, above = recipe()
    if LANGUAGE == "python":
        write("jobs.py", f'{block}\n\n@limited({above})\ndef report(customer):\n    open("ran", "a").write(customer)\n')
        write("main.py", PYTHON.replace("SEGMENT", SEGMENT))
        command = ["/usr/bin/python3", "main.py"]
    elif LANGUAGE == "ruby":
        write("main.rb", RUBY.replace("RECIPE", block))
        command = ["ruby", "-W0", "-I", f"{TOP}/build/ruby/lib", "-I", f"{TOP}/bindings/ruby/lib", "main.rb"]
    else:
        write("main.js", NODE.replace("RECIPE", block).replace("TOP", TOP))
        command = ["node", "main.js"]
    server = None
    try:
        if LANGUAGE == "python":
            server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", "redis", "--save", ""], cwd=WORK,
                                      stdout=subprocess.DEVNULL)
            while not listens(os.path.join(WORK, "redis")):
                time.sleep(0.02)
        subprocess.run(command, cwd=WORK, check=True, timeout=300, env=dict(
            os.environ, LD_LIBRARY_PATH=f"{TOP}/build", PYTHONPATH=f"{TOP}/build/python", PYTHONDONTWRITEBYTECODE="1"))
        print(f"{BLOCK[0]}: as docs/JOBS.md says")
    finally:
        if server:
            server.kill()
            server.wait()
        for path in (f"/dev/shm/rl.{SEGMENT}", f"/dev/shm/rl/rl.{SEGMENT}"):
            if os.path.exists(path):
                os.unlink(path)
        shutil.rmtree(WORK, ignore_errors=True)


main()
