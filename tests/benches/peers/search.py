"""Search over many packs: the rows of one that was published, under other names, in the registry's database."""

import contextlib
import random
import sqlite3
import time
import urllib.parse

import load
import registries

WORDS = "gemm conv blur tile vector neon avx sve scale reduce scan sort fft stencil attention softmax norm pool matrix kernel".split()
# Frequent and rare words, several, none, and what no pack has.
ASKED = ["gemm", "softmax attention", "neon", "zzz", "gemm-conv-77", "a", "", "number 5"]


def fill(database, count):
    """Adds rows as a publish does, with a turn of the registry, by which servers know that there is something new."""
    chance = random.Random(1)
    with contextlib.closing(sqlite3.connect(database, timeout=20)) as rows, rows:
        entry, shard, kind, version, updated = rows.execute("SELECT entry, shard, kind, version, updated FROM packs").fetchone()

        def one(k):
            name = f"{chance.choice(WORDS)}-{chance.choice(WORDS)}-{k}"
            description = f"Schedules of {chance.choice(WORDS)} for {chance.choice(WORDS)} on small machines, number {k}"
            about = (chance.choice(WORDS), chance.choice(["neon", "avx2", ""]), version, updated, chance.randrange(10_000))
            return (name, entry, shard, kind, description, *about)

        rows.executemany(
            "INSERT INTO packs (name, entry, shard, kind, description, keywords, targets, version, updated, downloads, verified)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", map(one, range(count)))
        rows.execute("UPDATE state SET turns = turns + 1")


def times(folder, options, count, rounds):
    """The server, and the milliseconds that each search took after the first, which reads all rows."""
    server = registries.Exo(folder, options)
    try:
        server.start()
        server.fill(range(1))
        fill(folder / "data/registry.sqlite", count)
        line = load.Line(server.port)
        line.ask("GET", "/api/v1/search?q=gemm")
        taken = []
        for _ in range(rounds):
            for words in ASKED:
                start = time.perf_counter()
                line.ask("GET", "/api/v1/search?q=" + urllib.parse.quote(words))
                taken.append((time.perf_counter() - start) * 1000)
        return server, taken
    finally:
        server.stop()
