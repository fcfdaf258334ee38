"""Times what a package manager does each day, in exo, cargo and uv, on one graph of packages.

Each client has the packages in its cache and touches no network. Whole processes, taking turns; medians. Usage:

    clients.py --exo PROGRAM --exo-registry PROGRAM --uv PROGRAM [--packs 200] [--few 50] [--runs 15]
"""

import argparse
import functools
import http.server
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

import packages
from programs import run

VERSIONS = ["1.0.0", "1.1.0"]
PASSWORD = "correct horse battery"


def roots(count):
    """Packages that reach all others."""
    needed = {at for k in range(count) for at in packages.needs(k)}
    return [packages.name(k) for k in range(count) if k not in needed]


class Client:
    """What all clients have in common: projects in a folder."""

    def project(self, title, wanted):
        """A project that needs some packages, all in the cache and installed."""
        at = self.folder / title
        for path, text in self.files(title, wanted).items():
            (at / path).parent.mkdir(parents=True, exist_ok=True)
            (at / path).write_text(text)
        run(self.installs, at, self.env)
        return at


class Exo(Client):
    title = "exo"

    def __init__(self, folder, options):
        self.program, self.folder = options.exo, folder
        self.installs = [self.program, "install"]
        self.env = dict(os.environ, HOME=str(folder / "home"), EXO_CACHE_DIR=str(folder / "cache"))
        (folder / "home").mkdir(parents=True)
        self.server = subprocess.Popen(
            [options.exo_registry, "serve", "--data", str(folder / "registry"), "--listen", "127.0.0.1:0", "--exo", options.exo],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        url = next(line for line in self.server.stdout if line.startswith("listening on "))
        self.env["EXO_REGISTRY"] = url.removeprefix("listening on ").strip()
        run([options.exo_registry, "user", "add", "bench", "--data", str(folder / "registry")], folder, self.env, input=PASSWORD)
        run([self.program, "login", "bench"], folder, self.env, input=PASSWORD + "\n")
        for version in VERSIONS:
            for workspace in sorted((folder.parent / "packages/exo" / version).iterdir()):
                run([self.program, "publish", "--workspace"], workspace, self.env)

    def files(self, title, wanted):
        lines = "".join(f'"@bench/{name}" = "1"\n' for name in wanted)
        return {"Exo.toml": f'[pack]\nname = "{title}"\nversion = "0.1.0"\nkind = "kernel"\n\n[dependencies]\n{lines}',
                "src/lib.exo": "answer = 42\n"}

    def resolve(self, at):
        (at / "Exo.lock").unlink()
        return [self.program, "lock", "--offline"]

    def again(self, at):
        return [self.program, "install", "--frozen"]

    # Projects share the unpacked trees in the cache, so that a fresh checkout has nothing to unpack or to link.
    install = again

    def close(self):
        self.server.terminate()
        self.server.wait()


class Cargo(Client):
    title = "cargo"
    installs = ["cargo", "fetch"]

    def __init__(self, folder, options):
        self.folder = folder
        self.env = dict(os.environ, CARGO_HOME=str(folder / "home"), CARGO_TERM_COLOR="never")
        served = folder.parent / "packages/cargo"
        handler = functools.partial(Quiet, directory=str(served))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.server.server_address[1]}"
        (served / "index/config.json").write_text(f'{{"dl": "{url}/crates/{{crate}}-{{version}}.crate"}}')
        (folder / "home").mkdir(parents=True)
        (folder / "home/config.toml").write_text(f'[registries.bench]\nindex = "sparse+{url}/index/"\n')

    def files(self, title, wanted):
        lines = "".join(f'{name} = {{ version = "1", registry = "bench" }}\n' for name in wanted)
        return {"Cargo.toml": f'[package]\nname = "{title}"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n{lines}',
                "src/lib.rs": ""}

    def resolve(self, at):
        (at / "Cargo.lock").unlink()
        return ["cargo", "generate-lockfile", "--offline"]

    def again(self, at):
        return ["cargo", "fetch", "--locked", "--offline"]

    def install(self, at):
        shutil.rmtree(self.folder / "home/registry/src")
        return ["cargo", "fetch", "--locked", "--offline"]

    def close(self):
        self.server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Uv(Client):
    title = "uv"

    def __init__(self, folder, options):
        self.program, self.folder = options.uv, folder
        self.installs = [self.program, "sync"]
        self.wheels = folder.parent / "packages/wheels"
        self.env = dict(os.environ, UV_CACHE_DIR=str(folder / "cache"), UV_PYTHON_DOWNLOADS="never", NO_COLOR="1")
        self.env.pop("VIRTUAL_ENV", None)
        folder.mkdir(parents=True, exist_ok=True)

    def files(self, title, wanted):
        lines = "".join(f'  "bench-{name}>=1,<2",\n' for name in wanted)
        return {"pyproject.toml": f'[project]\nname = "{title}"\nversion = "0.1.0"\nrequires-python = ">=3.8"\n'
                f'dependencies = [\n{lines}]\n[tool.uv]\nno-index = true\nfind-links = ["{self.wheels}"]\n'}

    def resolve(self, at):
        (at / "uv.lock").unlink()
        return [self.program, "lock", "--offline"]

    def again(self, at):
        return [self.program, "sync", "--frozen", "--offline"]

    def install(self, at):
        shutil.rmtree(at / ".venv")
        run([self.program, "venv", "--offline"], at, self.env)
        return [self.program, "sync", "--frozen", "--offline"]

    def close(self):
        pass


def timed(client, command, at):
    start = time.perf_counter()
    run(command, at, client.env)
    return time.perf_counter() - start


def compare(what, clients, places, task, runs):
    times = {client.title: [] for client in clients}
    for turn in range(runs + 1):
        for client in clients:
            at = places[client.title]
            spent = timed(client, getattr(client, task)(at), at)
            if turn:
                times[client.title].append(spent)
    medians = {title: statistics.median(spent) for title, spent in times.items()}
    fastest = min(value for title, value in medians.items() if title != "exo")
    row = "  ".join(f"{title} {value * 1000:7.1f} ms" for title, value in medians.items())
    print(f"{what:<34} {row}   {fastest / medians['exo']:5.1f}x the fastest peer", flush=True)
    return fastest >= medians["exo"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("exo", "exo-registry", "uv"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--packs", type=int, default=200)
    parser.add_argument("--few", type=int, default=50)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="exo-peers-") as folder:
        folder = pathlib.Path(folder)
        packages.write(folder / "packages", options.packs, VERSIONS)
        clients = []
        try:
            for kind in (Exo, Cargo, Uv):
                clients.append(kind(folder / kind.title, options))
            many = {client.title: client.project("many", roots(options.packs)) for client in clients}
            few = {client.title: client.project("few", roots(options.few)) for client in clients}
            print(f"medians of {options.runs} runs in turn, whole processes, warm caches, no network")
            reached = [
                compare(f"resolve {options.packs} packages", clients, many, "resolve", options.runs),
                compare(f"install {options.packs} again, no change", clients, many, "again", options.runs),
                compare(f"install {options.few} from the cache", clients, few, "install", options.runs),
            ]
        finally:
            for client in clients:
                client.close()
    raise SystemExit(0 if all(reached) else 1)


main()
