"""Measures a server from outside: requests in a row with wrk, memory of its processes, percentiles."""

import http.client
import json
import pathlib
import re
import socket
import subprocess
import threading
import time

UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Line:
    """One connection that is kept open."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method, path, body=None, headers=None, good=(200,)):
        """Gives the answer and its body; ends the program where the status is not one of the good ones."""
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        text = answer.read()
        if good and answer.status not in good:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:500]!r}")
        return answer, text

    def json(self, method, path, value, headers=None, good=(200, 201, 202)):
        sent = {"content-type": "application/json", **(headers or {})}
        return json.loads(self.ask(method, path, json.dumps(value).encode(), sent, good)[1])

    def close(self):
        self.connection.close()


def answers(port, path):
    """Whether a GET is answered with 200 by now."""
    line = Line(port)
    try:
        return line.ask("GET", path, good=())[0].status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


SCRIPT = """local paths = {%s}
local headers = {%s}
local requests = {}
local at = 0
init = function()
  for i, path in ipairs(paths) do requests[i] = wrk.format("GET", path, headers) end
end
request = function()
  at = at %% #requests + 1
  return requests[at]
end
"""


def quoted(text):
    return json.dumps(text)


def in_a_row(folder, port, reads, seconds, connections):
    """Requests per second, and the 99th percentile in milliseconds, of reads that take turns."""
    paths = ", ".join(quoted(path) for path in reads.paths)
    headers = ", ".join(f"[{quoted(name)}] = {quoted(value)}" for name, value in reads.headers.items())
    script = pathlib.Path(folder) / "reads.lua"
    script.write_text(SCRIPT % (paths, headers))
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), f"http://127.0.0.1:{port}"],
        capture_output=True, text=True)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    worst = re.search(r"99%\s+([\d.]+)(us|ms|s|m)\b", done.stdout)
    failed = re.search(r"Non-2xx or 3xx responses: \d+|Socket errors:.*", done.stdout)
    if done.returncode != 0 or failed or not rate or not worst:
        raise SystemExit(f"wrk on port {port}, {reads.paths[0]}:\n{done.stdout}{done.stderr}")
    return float(rate[1]), float(worst[1]) * UNITS[worst[2]]


def family(pid):
    """A process and those that it started."""
    found = [pid]
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            found += family(int(child))
    return found


def memory(pids):
    """MiB of processes; what several share counts once."""
    total = 0
    for member in pids:
        try:
            text = pathlib.Path(f"/proc/{member}/smaps_rollup").read_text()
        except OSError:
            continue
        found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
        total += int(found[1]) if found else 0
    return total / 1024


class Watch:
    """The most memory that processes take while something is done to them."""

    def __init__(self, pids):
        self.pids, self.most, self.over = pids, memory(pids()), threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.over.wait(0.05):
            self.most = max(self.most, memory(self.pids()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def at_once(jobs):
    """Runs functions in threads that start together; gives the seconds until the last has ended, and the results in order."""
    results = [None] * len(jobs)
    gate = threading.Barrier(len(jobs) + 1)

    def one(at, job):
        gate.wait()
        results[at] = job()

    threads = [threading.Thread(target=one, args=(at, job), daemon=True) for at, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    gate.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    if any(result is None for result in results):
        raise SystemExit("a request of several at once failed")
    return time.perf_counter() - start, results
