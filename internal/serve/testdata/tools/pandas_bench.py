"""Reads a million turns by pandas' read_sql from query serve and from a Postgres with the same rows.

pandas_bench.py QUERY WAREHOUSE PG_BIN
"""
import glob, os, pwd, shutil, signal, socket, subprocess, sys, tempfile, time
import pandas, psycopg, psycopg2, sqlalchemy as sa

query, warehouse, programs = sys.argv[1:4]
rows = 1_000_000
home = tempfile.mkdtemp(prefix="callhouse-pandas-")
started = []


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def peak(pid):
    """The highest memory that the process that runs the statements of a server had, in MB."""
    children = "".join(open(path).read() for path in glob.glob("/proc/%d/task/*/children" % pid))
    for line in open("/proc/%s/status" % children.split()[0]):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) // 1024


def connect(at):
    for _ in range(300):
        try:
            return psycopg.connect("host=127.0.0.1 port=%d user=callhouse dbname=callhouse" % at, autocommit=True)
        except psycopg.OperationalError:
            time.sleep(0.1)
    sys.exit("port %d does not answer" % at)


try:
    serve = port()
    server = subprocess.Popen([query, "serve", "--warehouse", warehouse, "--postgres", "127.0.0.1:%d" % serve])
    started.append(server)
    ours = connect(serve)
    n = ours.execute("SELECT count(*) FROM transcript_turns").fetchone()[0]
    select = "SELECT t.* FROM transcript_turns t, generate_series(1, %d) LIMIT %d" % (-(-rows // n), rows)

    real = port()
    other = {}
    if os.getuid() == 0:  # whom Postgres refuses
        them = pwd.getpwnam("postgres")
        os.chown(home, them.pw_uid, them.pw_gid)
        other = {"user": them.pw_uid, "group": them.pw_gid, "cwd": home}
    data = os.path.join(home, "data")
    subprocess.run([programs + "/initdb", "-D", data, "-A", "trust", "-U", "callhouse", "--locale=C.UTF-8"], check=True, stdout=subprocess.DEVNULL, **other)
    started.append(subprocess.Popen([programs + "/postgres", "-D", data, "-p", str(real), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "timezone=UTC"], stderr=subprocess.DEVNULL, **other))
    for _ in range(300):
        try:
            psycopg.connect("host=127.0.0.1 port=%d user=callhouse dbname=postgres" % real, autocommit=True).execute("CREATE DATABASE callhouse")
            break
        except psycopg.OperationalError:
            time.sleep(0.1)
    there = connect(real)
    there.execute(ours.execute("SELECT 'CREATE TABLE transcript_turns (' || string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) || ')' FROM pg_attribute WHERE attrelid = 'transcript_turns'::regclass").fetchone()[0])
    with ours.cursor().copy("COPY (%s) TO STDOUT" % select) as out, there.cursor().copy("COPY transcript_turns FROM STDIN") as into:
        for part in out:
            into.write(part)
    there.execute("VACUUM ANALYZE transcript_turns")

    print("| | Postgres 15, rows/s | query serve, rows/s | ratio | its memory before, after |\n| --- | --- | --- | --- | --- |")
    for driver in ("psycopg2", "psycopg"):
        engines = {at: sa.create_engine("postgresql+%s://callhouse@127.0.0.1:%d/callhouse" % (driver, at)) for at in (real, serve)}
        for title, options, chunk in (("all at once", {}, None), ("a cursor on the server, 50,000 at a time", {"stream_results": True, "max_row_buffer": 50_000}, 50_000)):
            took = {real: [], serve: []}
            before = peak(server.pid)
            for _ in range(2):
                for at, engine in engines.items():
                    with engine.connect().execution_options(**options) as c:
                        began = time.monotonic()
                        frames = pandas.read_sql(sa.text("SELECT * FROM transcript_turns" if at == real else select), c, chunksize=chunk)
                        n = len(frames) if chunk is None else sum(len(f) for f in frames)
                        took[at].append(n / (time.monotonic() - began))
                        assert n == rows, n
                        del frames
            print("| %s, %s | %s | %s | %.2f | %d, %d MB |" % (driver, title, " to ".join("{:,.0f}".format(x) for x in sorted(took[real])), " to ".join("{:,.0f}".format(x) for x in sorted(took[serve])), max(took[serve]) / max(took[real]), before, peak(server.pid)), flush=True)
finally:
    for p in started:
        p.send_signal(signal.SIGINT)  # Postgres would wait for its clients at another one
    for p in started:
        p.wait()
    shutil.rmtree(home)
