"""Measures search, lists and pages of an `exo-registry` that has very many packs.

The rows of the packs are written straight into the registry's database, SQLite or a PostgreSQL cluster of its own, because publishing
so many takes hours. What is measured goes over HTTP, after a first search, for which the server reads what all packs say of themselves.
"""

import argparse
import bisect
import csv
import hashlib
import http.client
import io
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

COMMON = "conv matmul fast tile vector kernel blocked packed schedule gemm".split()
KINDS = ["schedule", "target", "kernel"]
TARGETS = ["neon", "avx2", "avx512", "sve", "rvv", "amx"]
SYLLABLES = "ba be bi bo bu da de di do du ga ge gi go gu ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu".split()
DAY = 1_790_000_000

COLUMNS = {
    "packs": "name entry shard kind description keywords targets version updated downloads verified".split(),
    "owners": "name login".split(),
    "versions": "name version entry archive published surface".split(),
    "dependencies": "name version dependency requirement".split(),
    "downloads": "name version day count".split(),
}


def vocabulary(chance, size):
    """Words of which the first are in most texts, as in any language: the n-th is taken about 1/n as often as the first."""
    words = list(COMMON)
    known = set(words)
    while len(words) < size:
        word = "".join(chance.choices(SYLLABLES, k=chance.randint(2, 4)))
        if word not in known:
            known.add(word)
            words.append(word)
    sums, total = [], 0.0
    for rank in range(1, size + 1):
        total += 1 / rank
        sums.append(total)
    return words, lambda: words[bisect.bisect(sums, chance.random() * total)]


def version_entry(name, version, kind, dependencies, description, targets, log):
    archive = hashlib.sha256(f"{name} {version}".encode()).hexdigest()
    return archive, json.dumps({
        "version": version, "kind": kind, "published": DAY + log, "archive": archive, "size": 4096, "tree": archive, "exo": ">=0.1",
        "dependencies": [{"name": on, "requirement": "^1", "registry": None} for on in dependencies], "licence": "MIT",
        "description": description, "api": archive, "raw_c": None, "waived": 0, "claims": 3, "instructions": 0, "targets": targets,
        "verdict": None, "yanked": None, "log": log,
    })


def rows(packs):
    """Yields (table, row) for a registry of so many packs; one has 500 versions, and 5 000 packs depend on one."""
    chance = random.Random(7)
    words, word = vocabulary(chance, 8000)
    names = ["many-versions", "much-used"]
    known = set(names)
    while len(names) < packs:
        parts = [word() for _ in range(chance.choice([2, 2, 3]))]
        name = "-".join(parts)
        if name in known or len(name) > 60:
            name = f"{name}-{chance.choice(words[500:])}"
        if name not in known and len(name) <= 64:
            known.add(name)
            names.append(name)
    log = 0
    for number, name in enumerate(names):
        kind = chance.choices(KINDS, weights=[8, 1, 3])[0]
        description = " ".join(word() for _ in range(chance.randint(5, 12)))
        targets = chance.sample(TARGETS, chance.choice([0, 0, 1, 1, 2])) + (["odd-machine"] if number % 5000 == 17 else [])
        count = 500 if name == "many-versions" else chance.choice([1, 1, 2, 4])
        on = ["much-used"] if 10 <= number < 10 + min(5000, packs // 2) else []
        on += chance.sample(names[2:2000], 2) if number > 2000 else []
        downloads = int(chance.paretovariate(0.7))
        for at in range(count):
            version = f"1.{at}.0"
            archive, entry = version_entry(name, version, kind, on, description, targets, log)
            yield "versions", (name, version, entry, archive, DAY + log, "")
            for other in on:
                yield "dependencies", (name, version, other, "^1")
            log += 1
        pack = {"name": name, "created": DAY, "owners": [], "verified": False, "deprecated": None, "advisories": []}
        keywords = " ".join(word() for _ in range(3))
        yield "packs", (name, json.dumps(pack), "", kind, description, keywords, " ".join(targets), version, DAY + log, downloads,
                        int(number % 20 == 0))
        yield "owners", (name, "ada")
        yield "downloads", (name, version, DAY // 86_400, downloads)


def fill_sqlite(data, packs):
    database = sqlite3.connect(data / "registry.sqlite")
    database.execute("PRAGMA synchronous = OFF")
    waiting = {table: [] for table in COLUMNS}
    def flush(table):
        columns = COLUMNS[table]
        database.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", waiting[table])
        waiting[table].clear()
    for table, row in rows(packs):
        waiting[table].append(row)
        if len(waiting[table]) >= 5000:
            flush(table)
    for table in COLUMNS:
        flush(table)
    database.commit()
    database.close()


class Cluster:
    """A PostgreSQL cluster on a socket in a folder."""

    def __init__(self, folder):
        self.folder = folder
        versions = sorted(pathlib.Path("/usr/lib/postgresql").iterdir())
        self.programs = versions[-1] / "bin"
        self.user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
        if self.user:
            shutil.chown(folder, "nobody")
        self.run("initdb", "-D", f"{folder}/data", "-U", "exo", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c shared_buffers=256MB"
        self.run("pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", "-o", options, "start")
        self.url = f"postgres://exo@{str(folder).replace('/', '%2F')}/postgres"

    def run(self, program, *arguments):
        subprocess.run([*self.user, self.programs / program, *arguments], check=True, cwd="/", stdout=subprocess.DEVNULL)

    def psql(self, command, given=None):
        line = [*self.user, self.programs / "psql", "-h", str(self.folder), "-U", "exo", "-q", "-v", "ON_ERROR_STOP=1", "-c", command, "postgres"]
        subprocess.run(line, input=given, text=True, check=True, cwd="/", stdout=subprocess.DEVNULL)

    def fill(self, packs):
        waiting = {table: io.StringIO() for table in COLUMNS}
        writers = {table: csv.writer(text) for table, text in waiting.items()}
        for table, row in rows(packs):
            writers[table].writerow(row)
        for table, text in waiting.items():
            self.psql(f"COPY {table} ({', '.join(COLUMNS[table])}) FROM STDIN WITH (FORMAT csv, FORCE_NOT_NULL ({', '.join(c for c in COLUMNS[table] if c not in ('updated', 'downloads', 'verified', 'published', 'day', 'count'))}))", text.getvalue())
        self.psql("ANALYZE")

    def stop(self):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")


class Server:
    def __init__(self, program, exo, data, database):
        line = [program, "serve", "--listen", "127.0.0.1:0", "--anonymous-limit", "0", "--exo", exo, "--data", data]
        line += ["--database", database] if database else []
        self.child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for text in self.child.stdout:
            if text.startswith("listening on "):
                self.host = text.split("//")[1].strip()
                break
        else:
            sys.exit("exo-registry did not start")
        self.open()

    def open(self):
        self.connection = http.client.HTTPConnection(self.host, timeout=120)

    def get(self, path):
        start = time.perf_counter()
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - start
        if answer.status != 200:
            sys.exit(f"GET {path}: {answer.status} {body[:300]}")
        return took, body

    def cpu(self):
        """Seconds of processor time that the server has used."""
        with open(f"/proc/{self.child.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.child.terminate()
        self.child.wait()


def questions(words, chance):
    """What is asked, by kind: a name of the kind and addresses of it."""
    rare = words[3000:]
    middling = words[20:400]
    pick = lambda many: chance.choice(many)
    api = "/api/v1/search?q="
    return {
        "common word": lambda: f"{api}{pick(COMMON)}",
        "two common words": lambda: f"{api}{pick(COMMON[:5])}+{pick(COMMON[5:])}",
        "common and middling word": lambda: f"{api}{pick(COMMON)}+{pick(middling)}",
        "rare word": lambda: f"{api}{pick(rare)}",
        "rare and common word": lambda: f"{api}{pick(rare)}+{pick(COMMON)}",
        "beginning of a word": lambda: f"{api}{pick(words)[:chance.choice([2, 3, 4])]}",
        "no such word": lambda: f"{api}xyzzy{chance.randint(0, 999)}",
        "common word, kind": lambda: f"{api}{pick(COMMON)}&kind={pick(KINDS)}",
        "common word, target, verified": lambda: f"{api}{pick(COMMON)}&target={pick(TARGETS)}&verified=true",
        "common word, rare target": lambda: f"{api}{pick(COMMON)}&target=odd-machine",
        "everything": lambda: "/api/v1/search",
        "deep page": lambda: f"{api}{pick(COMMON)}&page={chance.randint(30, 50)}",
        "page of a search": lambda: f"/search?q={pick(COMMON + middling)}",
        "home page": lambda: "/",
        "page of 500 versions": lambda: "/packs/many-versions/versions",
        "page of 5000 dependants": lambda: "/packs/much-used/dependants",
        "5000 dependants, API": lambda: "/api/v1/packs/much-used/dependants",
    }


def measure(server, runs, limit):
    chance = random.Random(11)
    words, _ = vocabulary(random.Random(7), 8000)
    slow = []
    print(f"{'':34}{'p50 ms':>9}{'p95 ms':>9}{'most ms':>9}{'CPU ms':>9}")
    for what, address in questions(words, chance).items():
        server.get(address())
        before = server.cpu()
        times = sorted(1000 * server.get(address())[0] for _ in range(runs))
        p50, p95 = times[len(times) // 2], times[min(len(times) - 1, int(len(times) * 0.95))]
        # What the server itself worked for each: on a machine that does other things too, this is what can be compared.
        worked = 1000 * (server.cpu() - before) / runs
        print(f"{what:34}{p50:9.1f}{p95:9.1f}{times[-1]:9.1f}{worked:9.1f}", flush=True)
        if p95 > limit:
            slow.append(what)
    return slow


def check(server):
    """What is found must be right, or its speed is worth nothing."""
    found = json.loads(server.get("/api/v1/search?q=much-used")[1])
    assert found["packs"][0]["name"] == "much-used", found
    found = json.loads(server.get("/api/v1/search?q=conv")[1])
    assert found["total"] > 100 and len(found["packs"]) == 20, found["total"]
    assert all("conv" in pack["name"] for pack in found["packs"]), "names go before descriptions"
    uses = [pack["downloads"] for pack in found["packs"]][1:]
    assert uses == sorted(uses, reverse=True), uses
    last = json.loads(server.get("/api/v1/search?q=conv&page=50")[1])
    assert len(last["packs"]) == 20
    odd = json.loads(server.get("/api/v1/search?target=odd-machine&per_page=100")[1])
    assert odd["total"] > 0 and all("odd-machine" in pack["targets"] for pack in odd["packs"])


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--exo-registry", default="target/release/exo-registry")
    arguments.add_argument("--exo", default="target/release/exo")
    arguments.add_argument("--packs", type=int, default=100_000)
    arguments.add_argument("--runs", type=int, default=60, help="requests of each kind")
    arguments.add_argument("--limit", type=float, default=50, help="milliseconds that the 95th percentile may take")
    arguments.add_argument("--postgres", action="store_true", help="rows in PostgreSQL instead of SQLite")
    given = arguments.parse_args()
    program, exo = os.path.abspath(given.exo_registry), os.path.abspath(given.exo)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "sql").mkdir()
        os.chmod(folder, 0o755)
        cluster = Cluster(folder / "sql") if given.postgres else None
        try:
            database = cluster.url if cluster else None
            data = folder / "data"
            Server(program, exo, data, database).stop()
            start = time.time()
            cluster.fill(given.packs) if cluster else fill_sqlite(data, given.packs)
            print(f"{given.packs} packs written in {time.time() - start:.0f} s")
            start = time.time()
            server = Server(program, exo, data, database)
            try:
                server.get("/api/v1/search")
                print(f"first search after {time.time() - start:.1f} s")
                if cluster:
                    cluster.psql("VACUUM ANALYZE")
                check(server)
                slow = measure(server, given.runs, given.limit)
                with open(f"/proc/{server.child.pid}/status") as status:
                    print("resident:", next(line.split(None, 1)[1].strip() for line in status if line.startswith("VmRSS")))
            finally:
                server.stop()
        finally:
            if cluster:
                cluster.stop()
    if slow:
        sys.exit(f"slower than {given.limit:.0f} ms: {', '.join(slow)}")


if __name__ == "__main__":
    main()
