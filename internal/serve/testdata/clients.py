"""Asks a server through Python's drivers, and prints a line for each question."""
import asyncio, datetime, json, sys
import asyncpg, psycopg, psycopg2, sqlalchemy as sa

dsn = sys.argv[1]


def ask(title, question):
    try:
        answer = question()
    except Exception as e:
        answer = type(e).__name__
    print(title + "\t" + json.dumps(answer, default=repr, sort_keys=True))


with psycopg.connect(dsn) as c:
    ask("psycopg 3: a query with parameters", lambda: c.execute("SELECT call_id, start_at, total_cost, metadata, month FROM calls WHERE call_id <> %s AND start_at > %s ORDER BY 1", ("c1", datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc))).fetchall())
    ask("psycopg 3: binary", lambda: c.cursor(binary=True).execute("SELECT call_id, start_at, total_cost, duration_ms FROM calls ORDER BY 1 LIMIT %s", (2,)).fetchall())
    ask("psycopg 3: a list as parameter", lambda: c.execute("SELECT call_id FROM calls WHERE call_id = ANY(%s) ORDER BY 1", (["c0", "c2"],)).fetchall())
    def named():
        with c.cursor(name="some") as cursor:
            cursor.execute("SELECT call_id FROM calls ORDER BY 1")
            return cursor.fetchmany(2), cursor.fetchone(), cursor.fetchone()
    ask("psycopg 3: a cursor on the server", named)
    def copied():
        with c.cursor().copy("COPY (SELECT call_id, start_at, metadata FROM calls ORDER BY 1) TO STDOUT") as copy:
            return list(copy.rows())
    ask("psycopg 3: COPY", copied)
    def copied_binary(where=""):
        with c.cursor().copy("COPY (SELECT call_id, start_at, duration_ms, total_cost, is_connected FROM calls %s ORDER BY 1) TO STDOUT (FORMAT binary)" % where) as copy:
            copy.set_types(["text", "timestamptz", "int8", "numeric", "bool"])
            return list(copy.rows())
    ask("psycopg 3: binary COPY", copied_binary)
    ask("psycopg 3: binary COPY of no rows", lambda: copied_binary("WHERE false"))
    def named_with(binary):
        with c.cursor(name="with", binary=binary) as cursor:
            cursor.execute("SELECT call_id, %s::text AS label FROM calls WHERE call_id <> %s AND start_at > %s ORDER BY 1", ("x", "c1", datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)))
            return cursor.fetchmany(1), cursor.fetchall()
    ask("psycopg 3: a cursor on the server with parameters", lambda: named_with(False))
    ask("psycopg 3: a binary cursor on the server with parameters", lambda: named_with(True))
    def prepared(binary):
        cursor = c.cursor(binary=binary)
        return [cursor.execute("SELECT %s AS label, %s AS n, call_id FROM calls WHERE duration_ms > %s ORDER BY 3", ("abcd", 7, 600), prepare=True).fetchall() for _ in range(6)]
    ask("psycopg 3: parameters as columns, six times", lambda: prepared(False))
    ask("psycopg 3: parameters as columns, six times, binary", lambda: prepared(True))
    ask("psycopg 3: an error, and on", lambda: c.execute("SELECT nothing FROM calls"))
    c.rollback()
    ask("psycopg 3: afterwards", lambda: c.execute("SELECT 1").fetchone())

for options in ("-c timezone=Asia/Seoul -c statement_timeout=5s", "-ctimezone=GMT-05:30 --application-name=a\\ b", "--statement-timeout=7s", "-c nope=1", "-x"):
    def optioned():
        with psycopg.connect(dsn, options=options) as c:
            return c.execute("SELECT current_setting('timezone'), current_setting('statement_timeout'), current_setting('application_name'), date_trunc('day', max(start_at))::text FROM calls").fetchone()
    ask("psycopg 3: options " + options, optioned)
with psycopg.connect(dsn, autocommit=True) as c:
    def pooled():
        with c.transaction():
            c.execute("SET LOCAL timezone = 'America/New_York'")
            with c.transaction(): # a savepoint
                c.execute("SELECT set_config('timezone', %s, false)", ("Asia/Seoul",))
                inner = c.info.parameter_status("TimeZone")
                raise psycopg.Rollback()
        return inner, c.info.parameter_status("TimeZone")
    def days():
        return c.execute("SELECT date_trunc('day', start_at)::text, count(*) FROM calls GROUP BY 1 ORDER BY 1", prepare=True).fetchall(), c.info.parameter_status("TimeZone")
    ask("psycopg 3: the zone of a savepoint", lambda: (days(), pooled(), days(), c.execute("SET timezone = 'Asia/Seoul'") and days()))

c = psycopg2.connect(dsn)
def two():
    with c.cursor() as cursor:
        cursor.execute("SELECT call_id, start_at, total_cost, duration_ms FROM calls WHERE status = %s ORDER BY 1", ("ended",))
        return cursor.fetchall()
ask("psycopg2: a query with parameters", two)
def named2():
    with c.cursor("some") as cursor:
        cursor.execute("SELECT call_id, %s AS label FROM calls WHERE status = %s ORDER BY 1", ("abcd", "ended"))
        return cursor.fetchall()
ask("psycopg2: a cursor on the server with parameters", named2)
c.close()

query = "SELECT call_id, start_at, duration_ms, is_connected, status FROM calls ORDER BY 1"
def frame(f):
    return [[str(c) for c in f.columns], [str(t) for t in f.dtypes], [[repr(v) for v in row] for row in f.rows()]]
import connectorx, polars
ask("connectorx: a query into polars", lambda: frame(connectorx.read_sql(dsn.replace("postgres://", "postgresql://"), query, return_type="polars")))
ask("connectorx: into polars, in parts", lambda: sorted(frame(connectorx.read_sql(dsn.replace("postgres://", "postgresql://"), "SELECT call_id, duration_ms FROM calls WHERE duration_ms IS NOT NULL", return_type="polars", partition_on="duration_ms", partition_num=2))[2]))
ask("polars over connectorx", lambda: frame(polars.read_database_uri(query, dsn.replace("postgres://", "postgresql://"), engine="connectorx")))
ask("polars over ADBC", lambda: frame(polars.read_database_uri(query, dsn, engine="adbc")))
import adbc_driver_postgresql.dbapi, pandas
def adbc(do):
    with adbc_driver_postgresql.dbapi.connect(dsn) as c, c.cursor() as cursor:
        return do(cursor)
ask("ADBC: an Arrow table", lambda: adbc(lambda c: (c.execute(query), c.fetch_arrow_table().to_pylist())[1]))
ask("ADBC: parameters", lambda: adbc(lambda c: (c.execute("SELECT call_id, $1 AS label FROM calls WHERE duration_ms > $2 ORDER BY 1", ("abcd", 600)), c.fetchall())[1]))
ask("ADBC: costs", lambda: adbc(lambda c: (c.execute("SELECT call_id, total_cost::float8 AS cost FROM calls ORDER BY 1"), c.fetch_arrow_table().to_pylist())[1]))
ask("pandas over ADBC", lambda: adbc(lambda c: pandas.read_sql(query, c.connection).to_dict("records")))


async def questions():
    c = await asyncpg.connect(dsn)
    out = {}
    out["a query with parameters"] = [tuple(r) for r in await c.fetch("SELECT call_id, start_at, total_cost FROM calls WHERE call_id <> $1 ORDER BY 1", "c1")]
    out["parameters as columns"] = [[tuple(r) for r in await c.fetch("SELECT $1 AS label, $2::int AS n, call_id FROM calls ORDER BY 3", "abcd", 7)] for _ in range(6)]
    out["types of parameters"] = [tuple(r) for r in await c.fetch("SELECT $1::int + 1, $2::date, $3::timestamptz, $4::text[], ARRAY[1, 2]", 4, datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), ["a", "b"])]
    statement = await c.prepare("SELECT call_id, ARRAY['a'] AS l FROM calls WHERE duration_ms > $1")
    out["types of a statement"] = [[a.name, a.type.name] for a in statement.get_attributes()] + [p.name for p in statement.get_parameters()]
    async with c.transaction():
        cursor = await c.cursor("SELECT call_id FROM calls ORDER BY 1")
        out["a cursor"] = [tuple(r) for r in await cursor.fetch(2)] + [tuple(r) for r in await cursor.fetch(5)]
    await c.close()
    return out
try:
    for title, answer in asyncio.run(questions()).items():
        ask("asyncpg: " + title, lambda: answer)
except Exception as e:
    print("asyncpg\t" + repr(e))

for driver in ("psycopg2", "psycopg"):
    engine = sa.create_engine(dsn.replace("postgres://", "postgresql+%s://" % driver))
    i = sa.inspect(engine)
    ask("SQLAlchemy over %s: schemas" % driver, lambda: i.get_schema_names())
    ask("SQLAlchemy over %s: tables" % driver, lambda: sorted(i.get_table_names()))
    ask("SQLAlchemy over %s: views" % driver, lambda: i.get_view_names())
    for what in ("get_columns", "get_pk_constraint", "get_foreign_keys", "get_indexes", "get_table_comment", "get_unique_constraints", "get_check_constraints"):
        ask("SQLAlchemy over %s: %s" % (driver, what), lambda: getattr(i, what)("transcript_turns"))
    def reflected():
        t = sa.Table("calls", sa.MetaData(), autoload_with=engine)
        with engine.connect() as c:
            return [repr(x) for x in c.execute(sa.select(t.c.call_id, t.c.start_at, sa.func.count().over()).order_by(t.c.call_id)).all()]
    ask("SQLAlchemy over %s: a table by itself, and a query of it" % driver, reflected)
    def streamed():
        with engine.connect().execution_options(stream_results=True, max_row_buffer=2) as c:
            return [tuple(r) for r in c.execute(sa.text("SELECT call_id, duration_ms FROM calls WHERE call_id <> :a AND start_at > :b ORDER BY 1"), {"a": "c1", "b": datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)})]
    ask("SQLAlchemy over %s: stream_results with parameters" % driver, streamed)
    def chunks():
        with engine.connect().execution_options(stream_results=True) as c:
            return [f.to_dict("records") for f in pandas.read_sql(sa.text("SELECT call_id, duration_ms FROM calls WHERE call_id <> :a ORDER BY 1"), c, params={"a": "c1"}, chunksize=1)]
    ask("pandas over SQLAlchemy, %s: chunks" % driver, chunks)
    def everything():
        m = sa.MetaData()
        m.reflect(engine, views=True)
        return sorted(m.tables)
    ask("SQLAlchemy over %s: all tables" % driver, everything)
