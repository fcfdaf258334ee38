"""Two servers of one registry on PostgreSQL, at which authors publish at once: is anything lost, or in the log twice?"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import load
import packages
import registries
from programs import run


class Cluster:
    """A PostgreSQL of its own, on a socket in its folder only."""

    def __init__(self):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not found:
            raise SystemExit("PostgreSQL is missing (scripts/setup.sh installs it)")
        self.programs = found[-1].parent
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="exo-peers-pg-", dir="/tmp"))
        # PostgreSQL refuses to be root.
        self.user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
        if self.user:
            shutil.chown(self.folder, "nobody")
        self.data = str(self.folder / "data")
        self.run("initdb", "-D", self.data, "-U", "exo", "--auth=trust", "-E", "UTF8", "--locale=C")
        self.run("pg_ctl", "-D", self.data, "-w", "-l", str(self.folder / "log"), "-o",
                 f"-c listen_addresses= -c unix_socket_directories={self.folder}", "start")
        self.url = f"postgres://exo@{str(self.folder).replace('/', '%2F')}/postgres"

    def run(self, program, *arguments):
        done = subprocess.run([*self.user, str(self.programs / program), *arguments], cwd="/", text=True,
                              stdout=subprocess.PIPE if program == "psql" else subprocess.DEVNULL)
        if done.returncode != 0:
            raise SystemExit(f"{program} failed")
        return done.stdout

    def rows(self, query):
        text = self.run("psql", "-h", str(self.folder), "-U", "exo", "-d", "postgres", "-At", "-c", query)
        return text.splitlines()

    def close(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")
        shutil.rmtree(self.folder)


def lost_and_doubled(folder, options, count):
    """Publishes `count` packs at once, half at each server; gives how many are lost, how many log entries are doubled, and seconds."""
    folder.mkdir()
    options.data = folder / "data"
    cluster = Cluster()
    replicas = []
    try:
        for at in range(2):
            replicas.append(registries.Exo(folder / str(at), options, ["--database", cluster.url]))
            replicas[-1].start()
        archives = replicas[0].prepare(range(count))
        replicas[1].tokens = replicas[0].tokens
        lines = [load.Line(replicas[k % 2].port) for k in archives]
        jobs = [lambda k=k, line=line: replicas[k % 2].publish(line, k, archives[k]) for k, line in zip(archives, lines)]
        seconds, _ = load.at_once(jobs)
        missing = set()
        for replica in replicas:
            line = load.Line(replica.port)
            for k in archives:
                status = line.ask("GET", f"/api/v1/packs/%40{registries.scope_of(k)}%2F{packages.name(k)}", good=(200, 404))[0].status
                if status != 200:
                    missing.add(k)
        entries = [leaf.replace("\\n", "\n") for leaf in cluster.rows("SELECT replace(leaf, E'\\n', '\\n') FROM log ORDER BY position")]
        published = [re.match(r"exo-log 1\npublish\n(.*)\n", leaf)[1] for leaf in entries if leaf.startswith("exo-log 1\npublish\n")]
        lost = missing | {k for k in archives if f"@{registries.scope_of(k)}/{packages.name(k)} {registries.VERSION}" not in published}
        # Every hash, signature and log entry that is served, against the rows.
        said = run([options.exo_registry, "verify-all", *replicas[0].place], folder, replicas[0].env)
        if f"{count} packs" not in said:
            raise SystemExit(f"verify-all after {count} publishes: {said}")
        return len(lost), len(published) - len(set(published)), seconds
    finally:
        for replica in replicas:
            replica.stop()
        cluster.close()
