"""Asks a server through psqlODBC, and prints a line for each question."""
import json, sys
import pyodbc

driver, host, port = sys.argv[1:4]


def connect(**more):
    return pyodbc.connect("Driver=%s;Server=%s;Port=%s;Database=callhouse;Uid=callhouse;%s" % (driver, host, port, "".join("%s=%s;" % x for x in more.items())), autocommit=True)


def ask(title, question):
    try:
        answer = question()
    except Exception as e:
        answer = e.args[0]  # the SQLSTATE
    print("ODBC: " + title + "\t" + json.dumps(answer, default=repr, sort_keys=True))


def rows(cursor):
    return [[d[0] for d in cursor.description]] + [list(r) for r in cursor.fetchall()]


c = connect()
ask("SQLTables", lambda: rows(c.cursor().tables(schema="public")))
ask("SQLTables of one name", lambda: rows(c.cursor().tables(table="transcript_turns")))
ask("SQLColumns", lambda: rows(c.cursor().columns(table="calls", schema="public")))
ask("SQLPrimaryKeys", lambda: rows(c.cursor().primaryKeys("transcript_turns", schema="public")))
ask("SQLForeignKeys, of a table", lambda: sorted(rows(c.cursor().foreignKeys(foreignTable="transcript_turns", foreignSchema="public")), key=repr))
ask("SQLForeignKeys, to a table", lambda: sorted(rows(c.cursor().foreignKeys(table="agents", schema="public")), key=repr))
ask("SQLStatistics", lambda: rows(c.cursor().statistics("calls", schema="public")))
ask("SQLSpecialColumns", lambda: rows(c.cursor().rowIdColumns("calls", schema="public")))
ask("SQLProcedures", lambda: rows(c.cursor().procedures(schema="public")))
ask("SQLGetTypeInfo", lambda: len(rows(c.cursor().getTypeInfo())))
ask("a query", lambda: rows(c.execute("SELECT call_id, agent_id, start_at, total_cost, duration_ms, is_connected, local_date, metadata FROM calls ORDER BY call_id")))
ask("a query with parameters", lambda: rows(c.execute("SELECT call_id, duration_ms FROM calls WHERE call_id <> ? AND duration_ms > ? ORDER BY 1", "c1", 5)))
ask("types", lambda: [[d[0], d[1].__name__, d[3]] for d in c.execute("SELECT call_id, start_at, total_cost, duration_ms, is_connected, local_date, metadata FROM calls").description])
ask("an error", lambda: c.execute("SELECT nothing FROM calls"))
ask("afterwards", lambda: rows(c.execute("SELECT 1 AS one")))
c.close()
c = connect(UseDeclareFetch=1, Fetch=1)
ask("cursors on the server", lambda: rows(c.execute("SELECT call_id FROM calls ORDER BY call_id")))
c.close()
c = connect(UseServerSidePrepare=0)
ask("parameters written into the text", lambda: rows(c.execute("SELECT call_id FROM calls WHERE start_at > ? AND metadata IS NOT NULL ORDER BY 1", __import__("datetime").datetime(2020, 1, 1))))
c.close()
c = connect(ReadOnly=1)
ask("read-only", lambda: rows(c.execute("SELECT count(*) AS n FROM transcript_turns")))
c.close()
