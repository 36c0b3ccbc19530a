#!/usr/bin/env python3
"""Measures the built programs extract and query, as processes: processor time, wall time, peak
memory, sizes. `make bench` runs it; docs/design/benchmarks.md has its results.

Sides run in turn (A B A B), so that a machine whose speed drifts slows both. A figure is the median
of the rounds, a ratio the median of the rounds' ratios.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPORTS = """sentiment disconnections funnel coverage volume costs outcomes agents versions anomalies durations
    callers concurrency extracted early transfers conversation tools worst""".split()
CALLS_A_DAY = 27_400  # 10 million a year
NIGHT = timedelta(hours=4)  # 4,567 new calls


def run(argv, **kw):
    subprocess.run([str(a) for a in argv], check=True, **kw)


def measure(argv, cwd):
    """Runs a command; returns its processor time, wall time and peak memory."""
    began = time.monotonic()
    p = subprocess.Popen([str(a) for a in argv], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    said = p.stderr.read()
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        sys.exit(f"{argv}: exit code {p.returncode}\n{said.decode()}")
    return {"cpu s": use.ru_utime + use.ru_stime, "wall s": time.monotonic() - began, "peak MB": use.ru_maxrss / 1024}


def in_turn(rounds, sides):
    """Measures functions alternately. The first round only warms caches and does not count."""
    results = [[side() for side in sides.values()] for _ in range(rounds + 1)][1:]
    return {name: [r[i] for r in results] for i, name in enumerate(sides)}


def show(title, results, of=None):
    """Prints medians, and the ratios to the last side or the named one."""
    names = list(results)
    keys = list(results[names[0]][0])
    print(f"\n{title}\n\n| | {' | '.join(keys)} |\n|{' --- |' * (len(keys) + 1)}")
    for name, rounds in results.items():
        print(f"| {name} | " + " | ".join(f"{statistics.median(r[k] for r in rounds):.3g}" for k in keys) + " |")
    base = of or names[-1]
    for name in names:
        if name != base:
            ratios = (statistics.median(a[k] / b[k] if b[k] else 1 for a, b in zip(results[name], results[base])) for k in keys)
            print(f"| {name} / {base} | " + " | ".join(f"**{r:.2f}**" for r in ratios) + " |")
    sys.stdout.flush()


def parquet_mb(folder):
    return sum(f.stat().st_size for f in folder.rglob("*.parquet")) / 1e6


class Bench:
    def __init__(self, o):
        self.o, self.dir = o, Path(o.dir).resolve()
        self.dir.mkdir(parents=True, exist_ok=True)
        self.builds = {"callhouse": Path(o.bin).resolve()}
        if o.other:
            self.builds["other"] = Path(o.other).resolve()
        self.now = datetime.now(timezone.utc).replace(minute=0, second=0, microsecond=0)

    def company(self, calls):
        """Returns the sandbox flags for a company with the given number of calls until now."""
        return ["--calls", calls, "--days", max(1, calls // CALLS_A_DAY), "--now", self.now.isoformat().replace("+00:00", "Z")]

    def warehouse(self, calls):
        """Returns a warehouse of that many calls, compacted like after years of nights; made once per run of this script."""
        root = self.dir / f"warehouse-{calls}"
        if not root.exists():
            print(f"making {root}", file=sys.stderr)
            generate = subprocess.Popen([str(a) for a in [self.builds["callhouse"] / "sandbox", "generate", "--details", *self.company(calls)]],
                                        stdout=subprocess.PIPE)
            extract = self.builds["callhouse"] / "extract"
            run([extract, "import", "--quiet", "--details", "--warehouse", root, "-"], stdin=generate.stdout)
            generate.wait()
            run([extract, "compact", "--warehouse", root], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return root

    def build(self):
        """Imports NDJSON into a committed warehouse; compares DuckDB's own reader and writer (duckdb.sql)."""
        work = self.dir / f"import-{self.o.calls}"
        dump = work / "calls.ndjson"
        if not dump.exists():
            work.mkdir(exist_ok=True)
            run([self.builds["callhouse"] / "sandbox", "generate", "--calls", self.o.calls, "--details", "--output", dump])

        def side(name, argv):
            def once():
                shutil.rmtree(work / name, ignore_errors=True)
                if name in self.builds:
                    return measure(argv, work) | {"Parquet MB": parquet_mb((work / name / "current").resolve())}
                (work / name).mkdir()
                return measure(argv, work) | {"Parquet MB": parquet_mb(work / name)}
            return once

        sides = {name: side(name, [bins / "extract", "import", "--quiet", "--details", "--warehouse", name, dump]) for name, bins in self.builds.items()}
        duckdb = [Path(self.o.duckdb).resolve() if "/" in self.o.duckdb else self.o.duckdb, "-init", "/dev/null", ":memory:", "-f"]
        sides["duckdb"] = side("duckdb", [*duckdb, HERE / "duckdb.sql"])
        show(f"extract import, {self.o.calls} calls, {dump.stat().st_size / 1e6:.0f} MB of NDJSON", in_turn(self.o.rounds, sides))

    def night(self):
        """Runs a night against the sandbox without rate limits, on warehouses of different sizes."""
        servers, sides = [], {}
        for n, calls in enumerate(self.o.nights):
            root = self.dir / f"night-{calls}"
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(self.warehouse(calls), root, symlinks=True)
            address = f"127.0.0.1:{self.o.port + n}"
            servers.append(subprocess.Popen([str(a) for a in [self.builds["callhouse"] / "sandbox", "--addr", address, "--organisation", "none",
                "--requests-per-second", 0, "--requests-per-minute", 0, *self.company(calls)]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            sides[f"{calls} calls"] = self.night_of(root, address)
        try:
            time.sleep(2)
            show("extract run, a night of about 4,500 new calls", in_turn(self.o.rounds, sides), of=next(iter(sides)))
        finally:
            for s in servers:
                s.terminate()

    def night_of(self, root, address):
        key = self.dir / "key"
        key.write_text("sandbox-key\n")
        key.chmod(0o600)
        since = (self.now - timedelta(days=1)).isoformat().replace("+00:00", "Z")

        def once():
            body = json.dumps({"advance": f"{NIGHT.total_seconds() / 3600:g}h"}).encode()
            urllib.request.urlopen(urllib.request.Request(f"http://{address}/sandbox/clock", body, method="POST")).read()
            got = measure([self.builds["callhouse"] / "extract", "run", "--quiet", "--warehouse", root, "--base-url", f"http://{address}",
                "--api-key-file", key, "--since", since, "--resources", "none", "--transcripts", "v3",
                "--requests-per-second", 5000, "--requests-per-minute", 300000], self.dir)
            files = [f.stat().st_nlink for f in (root / "current").resolve().rglob("*.parquet")]
            return got | {"files written": files.count(1), "files linked": len(files) - files.count(1)}

        return once

    def redact(self):
        """Runs a first night and an import, with and without redaction, of conversations with and without personal data."""
        key = self.dir / "key"
        key.write_text("sandbox-key\n")
        key.chmod(0o600)
        bins = self.builds["callhouse"]
        for kind, flags in {"plain": [], "personal": ["--personal"]}.items():
            company = ["--calls", self.o.redacted, "--now", self.now.isoformat().replace("+00:00", "Z"), *flags]
            dump, address = self.dir / f"{kind}.ndjson", f"127.0.0.1:{self.o.port}"
            run([bins / "sandbox", "generate", *company, "--details", "--output", dump])
            server = subprocess.Popen([str(a) for a in [bins / "sandbox", "--addr", address, "--clock", "frozen", "--organisation", "none",
                "--requests-per-second", 0, "--requests-per-minute", 0, *company]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            work = {"run": ["run", "--base-url", f"http://{address}", "--api-key-file", key, "--resources", "none",
                "--requests-per-second", 5000, "--requests-per-minute", 300000], "import": ["import", "--details", dump]}

            def side(argv, redact):
                def once():
                    shutil.rmtree(self.dir / "redacted", ignore_errors=True)
                    return measure([bins / "extract", *argv, "--quiet", "--warehouse", "redacted", *redact], self.dir)
                return once

            try:
                time.sleep(3)
                for name, argv in work.items():
                    show(f"extract {name}, {self.o.redacted} calls, {kind}", in_turn(self.o.rounds, {
                        "--redact all": side(argv, ["--redact", "all"]), "without": side(argv, [])}))
            finally:
                server.terminate()
                server.wait()

    def reports(self):
        """Runs every report over a year of calls, and the page."""
        root = self.warehouse(self.o.nights[-1])
        for name in [*self.o.reports, "report"]:
            flags = ["--output", self.dir / "page.html"] if name == "report" else ["--format", "csv"]
            sides = {build: (lambda b=bins: measure([b / "query", name, "--warehouse", root, "--tz", "Asia/Seoul", *flags], self.dir))
                     for build, bins in self.builds.items()}
            show(f"query {name}, {root.name}", in_turn(self.o.rounds, sides))

    def start(self):
        """Starts programs that do nothing."""
        for argv in ["query --help", "query --version", "extract --help", "extract --version"]:
            program, flag = argv.split()
            show(argv, in_turn(5 * self.o.rounds, {name: (lambda b=bins: measure([b / program, flag], self.dir)) for name, bins in self.builds.items()}))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", nargs="*", default=["build", "night", "reports", "start"], help="build, night, reports, start (default: all of these), redact")
    p.add_argument("--bin", default="build/bench/bin", help="folder of extract, query and sandbox")
    p.add_argument("--other", help="folder of another build, which runs in turn")
    p.add_argument("--duckdb", default="duckdb", help="DuckDB's command line program")
    p.add_argument("--dir", default="build/bench", help="folder for input and warehouses, which are kept")
    p.add_argument("--calls", type=int, default=60_000, help="calls of build")
    p.add_argument("--nights", type=lambda s: [int(n) for n in s.split(",")], default=[100_000, 1_000_000],
                   help="sizes of the warehouses of night; reports reads the last one")
    p.add_argument("--reports", type=lambda s: s.split(","), default=REPORTS)
    p.add_argument("--redacted", type=int, default=4000, help="calls of redact")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--port", type=int, default=18080)
    o = p.parse_args()
    for what in o.what:
        getattr(Bench(o), what)()


main()
