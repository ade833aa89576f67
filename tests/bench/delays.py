#!/usr/bin/env python3
"""tests/bench/delays.py measures how long a committed row waits until a reader has read it, for several ways of reading.

It needs psycopg 3, and a server of scripts/cluster:

    scripts/cluster PG_CONFIG -c shared_preload_libraries=flakeid -c flakeid.notify_databases=postgres -- tests/bench/delays.py

A writer commits one row at a time, after random pauses of 43 ms on average. The ways take turns, and each has its
own reader. It prints the median, the 90th and the 99th percentile of the delays in milliseconds, and the reads per second.
"""
import random
import statistics
import threading
import time

import psycopg

ROUNDS, ROWS = 5, 60
READ = "SELECT id FROM outbox WHERE id > %s AND id < flakeid_watermark() ORDER BY id"


class Reader:
    def __init__(self):
        self.connection = psycopg.connect(autocommit=True)
        self.last, self.reads, self.seen = -1, 0, {}
        self.stop = False

    def read(self):
        self.reads += 1
        ids = [int(row[0]) for row in self.connection.execute(READ, (self.last,))]
        now = time.monotonic()
        for one in ids:
            self.seen[one] = now
        if ids:
            self.last = ids[-1]
        return bool(ids)


def poll(reader):
    while not reader.stop:
        if not reader.read():
            time.sleep(0.1)


def wait(reader):
    while not reader.stop:
        if not reader.read():
            reader.connection.execute("CALL flakeid_wait(clock_timestamp() + interval '5 ms')")


def listen(reader):
    reader.connection.execute("LISTEN flakeid")
    while not reader.stop:
        for _ in reader.connection.notifies(timeout=0.5, stop_after=1):
            pass
        while reader.read():
            pass


def measure(way):
    reader = Reader()
    reader.read()
    reader.reads, reader.seen = 0, {}
    thread = threading.Thread(target=way, args=(reader,))
    begun = time.monotonic()
    thread.start()
    committed = {}
    with psycopg.connect(autocommit=True) as writer:
        writer.execute("SET synchronous_commit = off")
        for _ in range(ROWS):
            time.sleep(random.expovariate(1 / 0.043))
            (one,) = writer.execute("INSERT INTO outbox (payload) VALUES (1) RETURNING id").fetchone()
            committed[int(one)] = time.monotonic()
    while set(committed) - set(reader.seen):
        time.sleep(0.01)
    took = time.monotonic() - begun
    reader.stop = True
    thread.join()
    return [1000 * (reader.seen[one] - at) for one, at in committed.items()], reader.reads / took


def main():
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS flakeid")
        connection.execute("DROP TABLE IF EXISTS outbox")
        connection.execute("CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next(), payload int)")
    ways = {"polling at 10 Hz": poll, "LISTEN flakeid": listen, "flakeid_wait": wait}
    delays, reads = {name: [] for name in ways}, {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name in random.sample(list(ways), len(ways)):
            some, rate = measure(ways[name])
            delays[name] += some
            reads[name].append(rate)
    for name, all_of_them in delays.items():
        parts = statistics.quantiles(all_of_them, n=100)
        print(f"{name:20} median {parts[49]:6.1f}  90 % {parts[89]:6.1f}  99 % {parts[98]:6.1f}  reads/s {statistics.median(reads[name]):5.0f}")


main()
