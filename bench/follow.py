#!/usr/bin/env python3
"""Measures extract follow against the sandbox in real time at the service's limits: a call every 20 seconds
on average, killed at random times. Prints the lag behind the end of calls, the requests, commits and
files, and the calls lost or fetched twice."""
import argparse, json, os, random, signal, statistics, subprocess, sys, time, urllib.request

args = argparse.ArgumentParser()
args.add_argument("--bin", default="bin")
args.add_argument("--dir", default="build/follow")
args.add_argument("--minutes", type=float, default=10)
args.add_argument("--kills", type=int, default=10)
args.add_argument("--seed", type=int, default=1)
args.add_argument("--every", default="1m..10m")
args.add_argument("--port", type=int, default=18400)
args = args.parse_args()
BIN = os.path.abspath(args.bin)
COMPANY = ["--seed", str(args.seed), "--calls", "4320", "--days", "1", "--steady", "--organisation", "none"]


def sandbox(port, *more):
    p = subprocess.Popen([BIN + "/sandbox", "--addr", f"127.0.0.1:{port}", *COMPANY, *more], stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            get(port, "/sandbox/clock")
            return p
        except OSError:
            time.sleep(0.1)
    sys.exit("the sandbox does not start")


def get(port, path):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": "Bearer sandbox-key"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


class Follower:
    def __init__(self, name, port):
        self.name, self.port = name, port
        self.warehouse, self.random = f"{args.dir}/{name}", random.Random(name)
        self.facts, self.transcripts, self.commits = {}, {}, 0
        self.service = sandbox(port)
        self.env = {**os.environ, "CALLHOUSE_BASE_URL": f"http://127.0.0.1:{port}", "CALLHOUSE_API_KEY": "sandbox-key",
                    "CALLHOUSE_WAREHOUSE": self.warehouse}
        subprocess.run([BIN + "/extract", "run", "--quiet"], env=self.env)
        self.before = get(port, "/sandbox/stats")
        self.number = self.current()
        self.log = open(f"{args.dir}/{name}.log", "w")
        self.start()

    def start(self):
        zone = f"Etc/GMT{(time.gmtime().tm_hour + 12) % 24 - 12:+d}"  # where it is about midnight: no sweep soon
        command = [BIN + "/extract", "follow", "--tz", zone, "--follow-every", args.every]
        self.process = subprocess.Popen(command, env=self.env, stderr=self.log)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def current(self):
        return int(os.path.basename(os.readlink(self.warehouse + "/current")))

    def look(self):
        """Reads the calls of the newest commit, if there is a new one."""
        try:
            number = self.current()
        except OSError:
            return
        if number == self.number:
            return
        now, self.commits, self.number = time.time(), self.commits + number - self.number, number
        out = subprocess.run([BIN + "/query", "sql", "--warehouse", self.warehouse, "--format", "ndjson",
                              "SELECT call_id, transcript_state s, end_at IS NOT NULL o FROM calls WHERE start_at > now()::TIMESTAMP - INTERVAL 3 HOUR"],
                             capture_output=True, text=True, env=self.env)
        for line in out.stdout.splitlines():
            row = json.loads(line)
            if row["o"]:
                self.facts.setdefault(row["call_id"], now)
            if row["s"] in ("present", "empty", "withheld", "skipped"):
                self.transcripts.setdefault(row["call_id"], now)


def p95(values):
    return sorted(values)[min(len(values) - 1, int(len(values) * .95))] if values else float("nan")


os.makedirs(args.dir, exist_ok=True)
truth_port = args.port + 9
truth = sandbox(truth_port, "--requests-per-second", "0", "--requests-per-minute", "0")
f = Follower("follower", args.port)
began, until = time.time(), time.time() + 60 * args.minutes
kills, ends = sorted(f.random.uniform(began + 20, until - 60) for _ in range(args.kills)), {}
while time.time() < until:
    for item in get(truth_port, "/v3/calls?limit=100")["items"]:
        if item.get("end_at") and item["id"] not in ends:
            ends[item["id"]] = item["end_at"] / 1000
    f.look()
    if kills and time.time() >= kills[0]:
        kills.pop(0)
        f.kill()
    time.sleep(1)
f.process.send_signal(signal.SIGTERM)
stopped = time.time()
code = f.process.wait()
took = time.time() - stopped
f.look()
after = get(f.port, "/sandbox/stats")
late = [i for i, end in ends.items() if began <= end <= until - 180]
facts = [f.facts[i] - ends[i] for i in late if i in f.facts]
spoken = [f.transcripts[i] - ends[i] for i in late if i in f.transcripts]
files = sum(len(names) for _, _, names in os.walk(f.warehouse + "/snapshots/%06d" % f.number))
kinds = {k: after["by_kind"].get(k, 0) - f.before["by_kind"].get(k, 0) for k in after["by_kind"]} if "by_kind" in after else {}
print(f"{f.name}: {len(late)} calls ended; facts after {statistics.median(facts or [0]):.0f} s, 95 % within {p95(facts):.0f} s; "
      f"transcripts after {statistics.median(spoken or [0]):.0f} s, 95 % within {p95(spoken):.0f} s; "
      f"lost: {len(late) - len(facts)} and {len(late) - len(spoken)}")
print(f"  {after['requests'] - f.before['requests']} requests {kinds}; {f.commits} commits, {files} files; "
      f"SIGTERM took {took:.1f} s, exit code {code}")
print("  ", {k: after[k] for k in after if k.startswith("details") or "limit" in k})
subprocess.run([BIN + "/extract", "verify"], env=f.env)
subprocess.run([BIN + "/extract", "status"], env=f.env)
f.service.terminate()
truth.terminate()
