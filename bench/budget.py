#!/usr/bin/env python3
"""Measures extract run against the sandbox in real time at the service's limits, 205 seconds each: with
latencies, uniform between 0 and twice their mean or log-normal, rate limiters, faults, other clients, and
a simple script as baseline. Prints the number of admitted requests, and of requests refused because of the
run itself."""
import argparse, collections, concurrent.futures, json, os, re, shutil, subprocess, tempfile, threading, time, urllib.error, urllib.request

args = argparse.ArgumentParser()
args.add_argument("--bin", default="bin")
args.add_argument("--seconds", type=int, default=205)
args.add_argument("--parallel", type=int, default=8)
args.add_argument("--port", type=int, default=19000)
args.add_argument("--calls", type=int, default=5000)
args.add_argument("--only", default="", help="a pattern of the names of the lines to measure")
args = args.parse_args()
BIN, SECONDS = os.path.abspath(args.bin), args.seconds
FAULTS = ["--faults", "500=0.04,429=0.01,reset=0.01"]
Cell = collections.namedtuple("Cell", "name latency tail limiter counted faults every script")


def get(port, path):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": "Bearer sandbox-key"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def status(port, path):
    try:
        get(port, path)
        return 200, 0
    except urllib.error.HTTPError as e:
        return e.code, int(e.headers.get("Retry-After") or 1)
    except OSError:
        return 0, 0


class Script:
    """A client written in an afternoon: a few threads that send at most 5 requests a second and 120 a
    minute, and wait as long as Retry-After of a 429."""

    def __init__(self, port, until):
        self.port, self.until, self.lock, self.sent, self.hold = port, until, threading.Lock(), collections.deque(), 0
        ids = []
        threads = [threading.Thread(target=self.work, args=(ids, i == 0)) for i in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def slot(self):
        while (now := time.time()) < self.until:
            with self.lock:
                while self.sent and self.sent[0] <= now - 60:
                    self.sent.popleft()
                if now >= self.hold and len(self.sent) < 120 and sum(t > now - 1 for t in self.sent) < 5:
                    self.sent.append(now)
                    return True
            time.sleep(0.02)
        return False

    def work(self, ids, lists):
        cursor = ""
        while self.slot():
            if lists:
                try:
                    page = get(self.port, f"/v3/calls?limit=100{cursor}")
                    ids.extend(i["id"] for i in page["items"])
                    lists, cursor = bool(page["next_cursor"]), f"&cursor={page['next_cursor']}"
                    continue
                except urllib.error.HTTPError as e:
                    code, wait = e.code, int(e.headers.get("Retry-After") or 1)
                except OSError:
                    continue
            else:
                code, wait = status(self.port, f"/v3/calls/{ids.pop() if ids else 'none'}")
            if code == 429:
                self.hold = time.time() + wait


def measure(at, cell):
    port, home = args.port + at, tempfile.mkdtemp(prefix="budget")
    service = subprocess.Popen([BIN + "/sandbox", "--addr", f"127.0.0.1:{port}", "--calls", str(args.calls), "--organisation", "none", "--pace", "0",
                                *(["--latency", f"{cell.latency}s", "--latency-tail", str(cell.tail)] if cell.tail else ["--jitter", f"{2 * cell.latency}s"]),
                                "--limiter", cell.limiter, "--counted", cell.counted, *(FAULTS if cell.faults else [])], stderr=subprocess.DEVNULL)
    while True:
        try:
            get(port, "/sandbox/clock")
            break
        except OSError:
            time.sleep(0.1)
    until, others = time.time() + SECONDS, [0, 0]

    def neighbour():
        def one():
            others[0] += 1
            others[1] += status(port, "/v3/calls?limit=1")[0] == 429
        while time.time() < until:
            threading.Thread(target=one).start()
            time.sleep(cell.every)
    if cell.every:  # active before the run starts
        until += 60
        threading.Thread(target=neighbour).start()
        time.sleep(60)
    if cell.script:
        Script(port, until)
    else:
        env = {**os.environ, "CALLHOUSE_BASE_URL": f"http://127.0.0.1:{port}", "CALLHOUSE_API_KEY": "sandbox-key", "CALLHOUSE_WAREHOUSE": home + "/w"}
        subprocess.run([BIN + "/extract", "run", "--quiet", "--transcripts", "v3", "--max-duration", f"{SECONDS}s"], env=env, stderr=subprocess.DEVNULL)
    stats = get(port, "/sandbox/stats")
    service.terminate()
    shutil.rmtree(home)
    limited = stats["by_status"].get("429", 0) - stats["faults"].get("429", 0)
    refused = limited - others[1]
    admitted = stats["requests"] - limited - (others[0] - others[1])
    beside = f"; {others[1]} of {others[0]} of the other client refused ({others[1] / others[0]:.1%})" if cell.every else ""
    return f"{cell.name:50} {admitted:4} in {SECONDS} s, own 429: {refused}{beside}; faults {sum(stats['faults'].values())}"


LATENCIES = (.15, 1, 2, 3)


def cell(latency, limiter="sliding-log", tail=0, counted="arrival", faults=False, every=0, script=False):
    name = ", ".join([f"{latency} s", limiter] + [f"tail {tail}"] * bool(tail) + [f"counted at {counted}"] * (counted != "arrival")
                     + ["faults"] * faults + [f"beside one in {every} s"] * bool(every) + ["script"] * script)
    return Cell(name, latency, tail, limiter, counted, faults, every, script)


cells = [cell(l, k) for k in ("sliding-log", "fixed-window", "token-bucket") for l in LATENCIES]
cells += [cell(l, faults=True) for l in LATENCIES]
cells += [cell(1, tail=1), cell(1, tail=1, faults=True)]
cells += [cell(l, counted="random") for l in LATENCIES]
cells += [cell(l, script=True) for l in LATENCIES]
cells += [cell(l, k, every=every) for k in ("sliding-log", "token-bucket") for every in (1, 3) for l in (.15, 2)]
cells = [c for c in cells if re.search(args.only, c.name)]
with concurrent.futures.ThreadPoolExecutor(args.parallel) as pool:
    for line in pool.map(measure, range(len(cells)), cells):
        print(line, flush=True)
