#!/usr/bin/env python3
"""tests/bench/wakes.py [SESSIONS] measures how long a session in flakeid_wait needs to wake, after the commit that it waits for.

SESSIONS other sessions (1,000 by default) wait for a later time. It needs psycopg 3, and a server of scripts/cluster:

    scripts/cluster PG_CONFIG -c shared_preload_libraries=flakeid -c max_connections=1200 -- tests/bench/wakes.py

It prints the median, the 90th and the 99th percentile and the maximum of 200 waits in milliseconds.
"""
import select
import statistics
import sys
import time

import psycopg

WAITS = 200


def connect():
    return psycopg.connect(autocommit=True)


def begin_wait(connection, until):
    connection.pgconn.send_query(f"CALL flakeid_wait(clock_timestamp() + '{until}')".encode())
    connection.pgconn.flush()


def end_wait(connection):
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    while connection.pgconn.is_busy():
        poll.poll()
        connection.pgconn.consume_input()
    ended = time.monotonic()
    while connection.pgconn.get_result():
        pass
    return ended


def main():
    others = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    holder = connect()
    holder.execute("CREATE EXTENSION IF NOT EXISTS flakeid")
    holder.execute("CREATE TABLE IF NOT EXISTS waited (id flake DEFAULT flake_next())")
    waiting = [connect() for _ in range(others)]
    for connection in waiting:
        begin_wait(connection, "1 hour")
    session = connect()
    took = []
    for number in range(WAITS):
        holder.execute("BEGIN")
        holder.execute("INSERT INTO waited DEFAULT VALUES")
        begin_wait(session, "0")
        # Different moments of the leader's interval.
        time.sleep(0.02 + number % 7 * 0.003)
        holder.execute("COMMIT")
        committed = time.monotonic()
        took.append(1000 * (end_wait(session) - committed))
    parts = statistics.quantiles(took, n=100)
    print(f"beside {others}: median {parts[49]:.2f}  90 % {parts[89]:.2f}  99 % {parts[98]:.2f}  maximum {max(took):.2f}")


main()
