"""Measures the registry server beside those of other package managers, in one run, taking turns: medians and ratios.

    servers.py --exo PROGRAM --exo-registry PROGRAM [--kellnr PROGRAM] [--verdaccio PROGRAM] [--nginx PROGRAM]
        [--absent "NAME: WHY"]... [--packs 100] [--runs 5] [--publishes 20] [--seconds 3] [--format text|json] [--strict]

`--strict` exits with 1 where a target is missed or a peer is better.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import load
import registries
import replicas
import search

CONNECTIONS = 16
AT_ONCE = 32
# Packs that are searched, and how often.
SEARCHED = 100_000
ROUNDS = 20


class Measure:
    """What is measured of each server, many times or once."""

    def __init__(self, what, unit, better, target=None, round_to=1):
        self.what, self.unit, self.better, self.target, self.round_to = what, unit, better, target, round_to
        self.values = {}

    def add(self, server, value):
        self.values.setdefault(server.title, []).append(value)

    def medians(self):
        return {title: statistics.median(values) for title, values in self.values.items()}

    def ratio(self):
        """How many times better than the best peer ours is; `None` without a peer. The file server is no peer: it publishes nothing."""
        medians = self.medians()
        peers = [value for title, value in medians.items() if title not in (registries.Exo.title, registries.Files.title)]
        if not peers:
            return None
        own = medians[registries.Exo.title]
        return min(peers) / own if self.better == "less" else own / max(peers)

    def misses(self):
        own = self.medians()[registries.Exo.title]
        found = []
        if self.target is not None and (own > self.target if self.better == "less" else own < self.target):
            found.append(f"{self.what}: {own:.{self.round_to}f} {self.unit}, the target is {self.target:g}")
        if (ratio := self.ratio()) is not None and ratio < 1:
            found.append(f"{self.what}: a peer is {1 / ratio:.2f} times better")
        return found

    def as_json(self):
        return {"what": self.what, "unit": self.unit, "better": self.better, "target": self.target, "medians": self.medians(),
                "values": self.values, "times_better_than_best_peer": self.ratio()}


class Measures:
    """All of them, in the order of the table."""

    def __init__(self):
        self.start = Measure("cold start to first answer", "ms", "less", 300)
        self.idle = Measure("memory, idle", "MiB", "less", 40)
        self.busy = Measure("memory, most under load", "MiB", "less")
        self.unchanged = Measure("index unchanged, 304", "requests/s", "more", 5000, 0)
        self.unchanged_worst = Measure("index unchanged, 99th percentile", "ms", "less", 10, 2)
        self.index = Measure("index of a package, 200", "requests/s", "more", 5000, 0)
        self.index_worst = Measure("index of a package, 99th percentile", "ms", "less", 10, 2)
        self.publish = Measure("publish, one by one, median", "ms", "less", 150)
        self.publish_worst = Measure("publish, one by one, 99th percentile", "ms", "less", 500)
        self.at_once = Measure(f"publish, {AT_ONCE} at once", "packages/s", "more")
        self.search = Measure(f"search over {SEARCHED} packs, 95th percentile", "ms", "less", 50)
        self.size = Measure("program, without symbols", "MiB", "less", 25)

    def all(self):
        return list(vars(self).values())


def turns(servers, run):
    """The servers in an order that changes from run to run."""
    return servers[run % len(servers):] + servers[:run % len(servers)]


def start_again(servers, runs, measures):
    for run in range(runs):
        for server in turns(servers, run):
            server.stop()
            measures.start.add(server, server.start() * 1000)


def idle(servers, measures):
    """After a start and a few requests."""
    for server in servers:
        server.index()
        server.unchanged()
    time.sleep(3)
    for server in servers:
        measures.idle.add(server, load.memory(server.processes()))


def read(folder, servers, options, measures, busy):
    for run in range(options.runs):
        for server in turns(servers, run):
            for reads, rate, worst in ((server.unchanged(), measures.unchanged, measures.unchanged_worst),
                                       (server.index(), measures.index, measures.index_worst)):
                with load.Watch(server.processes) as watch:
                    found = load.in_a_row(folder, server.port, reads, options.seconds, CONNECTIONS)
                rate.add(server, found[0])
                worst.add(server, found[1])
                busy[server.title] = max(busy.get(server.title, 0), watch.most)


def publish(servers, options, measures, busy):
    """One by one, then at once, new packages each time: what the authors wait until their packages can be had."""
    each = {server.title: [] for server in servers}
    for run in range(options.runs):
        first = options.packs + run * (options.publishes + AT_ONCE)
        for server in turns(servers, run):
            archives = server.prepare(range(first, first + options.publishes + AT_ONCE))
            line = load.Line(server.port)
            for k in range(first, first + options.publishes):
                each[server.title].append(server.publish(line, k, archives[k]) * 1000)
            line.close()
            many = range(first + options.publishes, first + options.publishes + AT_ONCE)
            lines = {k: load.Line(server.port) for k in many}
            with load.Watch(server.processes) as watch:
                seconds, _ = load.at_once([lambda k=k: server.publish(lines[k], k, archives[k]) for k in many])
            for own in lines.values():
                own.close()
            measures.at_once.add(server, AT_ONCE / seconds)
            busy[server.title] = max(busy[server.title], watch.most)
    for server in servers:
        measures.publish.add(server, statistics.median(each[server.title]))
        measures.publish_worst.add(server, load.percentile(each[server.title], 0.99))


def table(measures, titles):
    width = max(len(measure.what) for measure in measures) + 2
    print(f"{'':{width}}" + "".join(f"{title:>15}" for title in titles) + f"{'target':>16}{'of best peer':>16}")
    for measure in measures:
        medians = measure.medians()
        cells = "".join(f"{medians[title]:15.{measure.round_to}f}" if title in medians else f"{'-':>15}" for title in titles)
        bound = "<" if measure.better == "less" else ">="
        target = f"{bound} {measure.target:g}" if measure.target is not None else ""
        ratio = measure.ratio()
        said = f"{ratio:.2f}x better" if ratio is not None and ratio >= 1 else f"{1 / ratio:.2f}x worse" if ratio else ""
        print(f"{measure.what:{width}}{cells}{target:>16}{said:>16}  {measure.unit}")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("exo", "exo-registry"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("kellnr", "verdaccio", "nginx"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--absent", action="append", default=[])
    for name, usual in (("packs", 100), ("runs", 5), ("publishes", 20), ("seconds", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--strict", action="store_true")
    return parser.parse_args()


def measured(folder, options, measures):
    """Fills the measures; gives what the checker took, in milliseconds."""
    present = [kind for kind in (registries.Exo, registries.Kellnr, registries.Verdaccio)
               if kind is registries.Exo or getattr(options, kind.title)]
    servers = [kind(folder / kind.title, options) for kind in present]
    files = registries.Files(folder / "nginx", options) if options.nginx else None
    readable = servers + ([files] if files else [])
    busy = {}
    try:
        for server in servers:
            progress(f"{server.title}: {options.packs} packages")
            server.start()
            server.fill(range(options.packs))
            measures.size.add(server, server.binary())
        if files:
            files.export(servers[0])
        progress("start, memory")
        start_again(readable, options.runs, measures)
        idle(readable, measures)
        progress("reads")
        read(folder, readable, options, measures, busy)
        progress("publishes")
        publish(servers, options, measures, busy)
        for server in readable:
            measures.busy.add(server, busy[server.title])
        return statistics.median(servers[0].checked) * 1000
    finally:
        for server in readable:
            server.stop()


def progress(text):
    print(f"servers: {text}", file=sys.stderr, flush=True)


def main():
    options = parsed()
    measures = Measures()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="exo-servers-") as folder:
        folder = pathlib.Path(folder)
        checker = measured(folder, options, measures)
        progress("search")
        server, taken = search.times(folder / "search", options, SEARCHED, ROUNDS)
        measures.search.add(server, load.percentile(taken, 0.95))
        progress("two replicas")
        lost, doubled, seconds = replicas.lost_and_doubled(folder / "replicas", options, AT_ONCE)
    misses = [miss for measure in measures.all() for miss in measure.misses()]
    if lost or doubled:
        misses.append(f"two replicas: {lost} publishes lost, {doubled} log entries doubled")
    if options.format == "json":
        print(json.dumps({
            "measures": [measure.as_json() for measure in measures.all()], "checker_ms": checker, "absent": options.absent,
            "replicas": {"publishes": AT_ONCE, "lost": lost, "doubled": doubled, "seconds": seconds},
            "load_before": before, "cores": os.cpu_count(), "misses": misses}, indent=1))
    else:
        titles = [title for title in ("exo-registry", "kellnr", "verdaccio", "nginx") if title in measures.start.values]
        print(f"medians of {options.runs} runs in turn on {os.cpu_count()} cores, load {before:.1f} before; {options.packs} packages")
        table(measures.all(), titles)
        print(f"exo-registry ran with a checker that says at once what the real one, which took {checker:.0f} ms (median), said before; "
              "its memory is without it")
        print(f"two replicas on PostgreSQL, {AT_ONCE} publishes at once: {lost} lost, {doubled} log entries doubled, {seconds:.1f} s with checker")
        print("nginx serves files, as the output of margo would be served; it is an upper bound, not a peer")
        for absent in options.absent:
            print(f"not measured: {absent}")
        for miss in misses:
            print(f"missed: {miss}")
    raise SystemExit(1 if options.strict and misses else 0)


main()
