"""Reads a catalog with Python's DuckDB until stdin ends: a line of JSON for each look.

    catalog_reader.py reopen | hold   callhouse.duckdb

reopen opens the file anew for each look, hold keeps the connection that it opened first.
"""
import json
import sys
import threading

import duckdb

ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()


def value(connection, statement):
    return connection.execute(statement).fetchone()[0]


def look(connection):
    print(json.dumps({
        "snapshot": value(connection, "SELECT snapshot FROM snapshot"),
        "calls": value(connection, "SELECT count(*) FROM calls"),
        "costs": value(connection, "SELECT count(*) FROM costs"),
        "present": value(connection, "SELECT count(*) FROM calls WHERE transcript_state = 'present'"),
        "spoken": value(connection, "SELECT count(DISTINCT call_id) FROM transcript_turns"),
        "turns": value(connection, "SELECT count(*) FROM transcript_turns"),
        "turn_count": value(connection, "SELECT CAST(coalesce(sum(turn_count), 0) AS BIGINT) FROM calls"),
        "days": value(connection, "SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM (SELECT local_date, count(*) AS n FROM calls GROUP BY 1)"),
        "items": value(connection, "SELECT count(*) FROM analysis_items WHERE value_text IS NOT NULL OR value IS NULL"),
        "runs": value(connection, "SELECT count(*) FROM runs"),
    }), flush=True)


mode, path = sys.argv[1:]
held = duckdb.connect(path, read_only=True) if mode == "hold" else None
while not ended.is_set():
    if held:
        look(held)
        continue
    with duckdb.connect(path, read_only=True) as connection:
        look(connection)
