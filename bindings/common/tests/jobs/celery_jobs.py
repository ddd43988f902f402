# SPDX-License-Identifier: BSD-2-Clause
"""The jobs of the test, for Celery."""
import os

import celery
import rl.celery
import work

URL = "redis+socket://" + os.environ["RL_REDIS"]
SEGMENT = os.environ["RL_SEGMENT"]
app = celery.Celery("jobs", broker=URL)
app.conf.update(worker_prefetch_multiplier=1, task_acks_late=True, task_reject_on_worker_lost=True,
                task_ignore_result=True, broker_connection_retry_on_startup=True)


@app.task(name="held")
@rl.celery.limit("two", algorithm="in_flight", capacity=2, segment=SEGMENT)
def held(number):
    work.held(number)


@app.task(name="rated", max_retries=0)
@rl.celery.limit("rate", "20/s", segment=SEGMENT)
def rated(number):
    work.rated(number)


if __name__ == "__main__":
    import sys

    task = {"held": held, "rated": rated}[sys.argv[1]]
    for i in range(int(sys.argv[2])):
        task.delay(i)
