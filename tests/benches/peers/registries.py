"""The servers under test: how each is started, given packages, and asked for its index.

All listen on loopback, keep what they have in a folder of their own, and log warnings only. What is compared is what their clients
do: ask for the part of the index that is known already (304), read the index of a package (200), publish a package.
"""

import base64
import dataclasses
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import time

import load
import packages
from programs import run, stripped

PASSWORD = "correct horse battery"
VERSION = "1.0.0"
# Packages of one scope; a registry of packs lets one account begin 120 publishes in a minute.
OF_A_SCOPE = 60
# First packs that the real checker verifies, so that it is known what it takes.
REALLY_CHECKED = 10
# Stands for the checker: says at once what the real one said of the pack before, by nothing but what a shell does itself.
AT_ONCE_CHECKER = """#!/bin/sh
if [ "$1" != __verify ]; then exec "{exo}" "$@"; fi
if [ -e "{answer}" ]; then
    read -r text < "{answer}"
    printf '%s\\n' "$text"
else
    # It may write no files itself.
    "{exo}" "$@" | /bin/cat > "{answer}.new"
    /bin/mv "{answer}.new" "{answer}"
    /bin/cat "{answer}"
fi
"""


@dataclasses.dataclass
class Reads:
    """Requests that take turns, and what is answered."""

    paths: list
    headers: dict
    status: int


class Registry:
    """What all servers have in common: a process that can be started again on its folder."""

    def __init__(self, folder, options):
        self.folder, self.options, self.process = folder, options, None
        self.port = load.free_port()
        self.env = dict(os.environ)
        folder.mkdir(parents=True)

    def start(self):
        """Gives the seconds until the first good answer."""
        log = (self.folder / "log").open("ab")
        start = time.perf_counter()
        self.process = subprocess.Popen(self.command(), cwd=self.folder, env=self.env, stdout=log, stderr=log)
        while not load.answers(self.port, self.probe()):
            if self.process.poll() is not None or time.perf_counter() - start > 60:
                raise SystemExit(f"{self.title} does not start:\n{(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.001)
        return time.perf_counter() - start

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def processes(self):
        return load.family(self.process.pid)

    def known(self, path, headers=None):
        """Reads of a path whose contents the client has already."""
        line = load.Line(self.port)
        answer, _ = line.ask("GET", path, headers=headers)
        known = {"If-None-Match": answer.headers["etag"], **(headers or {})}
        if answer.headers["last-modified"]:
            known["If-Modified-Since"] = answer.headers["last-modified"]
        line.ask("GET", path, headers=known, good=(304,))
        line.close()
        return Reads([path], known, 304)

    def all_of(self, paths, headers=None):
        """Reads of paths that the client has not yet."""
        line = load.Line(self.port)
        for path in paths:
            line.ask("GET", path, headers=headers)
        line.close()
        return Reads(paths, headers or {}, 200)


class Exo(Registry):
    title = "exo-registry"

    def __init__(self, folder, options, more=()):
        super().__init__(folder, options)
        self.place = ["--data", str(options.data if more else folder / "data"), *more]
        self.env = dict(os.environ, HOME=str(folder), EXO_CACHE_DIR=str(folder / "cache"), RUST_LOG="warn")
        self.tokens = {}
        self.checker, self.answer, self.checked = folder / "checker", folder / "answer", []
        self.checker.write_text(AT_ONCE_CHECKER.format(exo=options.exo, answer=self.answer))
        self.checker.chmod(0o755)

    def command(self):
        # Replicas are tested with the real checker.
        checker = self.options.exo if len(self.place) > 2 else str(self.checker)
        return [self.options.exo_registry, "serve", *self.place, "--listen", f"127.0.0.1:{self.port}", "--exo", checker]

    def probe(self):
        return "/v1/latest"

    def processes(self):
        """Without the checker, which is a program of its own with limits of its own."""
        return [self.process.pid]

    def binary(self):
        return stripped(self.options.exo_registry, self.folder)

    def prepare(self, numbers):
        """Makes archives, and the accounts that may publish them."""
        made = {}
        for scope in sorted({scope_of(k) for k in numbers}):
            workspace = self.folder / f"{scope}-{min(numbers)}"
            for k in numbers:
                if scope_of(k) == scope:
                    packages.exo_member(workspace, scope, k, VERSION, "")
            run([self.options.exo, "package", "--workspace", "--quiet", "-o", str(workspace / "out")], workspace, self.env)
            if scope not in self.tokens:
                run([self.options.exo_registry, "user", "add", scope, *self.place], self.folder, self.env, input=PASSWORD)
                line = load.Line(self.port)
                self.tokens[scope] = line.json("POST", "/api/v1/login", {"login": scope, "password": PASSWORD})["token"]
                line.close()
            for k in numbers:
                if scope_of(k) == scope:
                    made[k] = (workspace / f"out/{scope}-{packages.name(k)}-{VERSION}.tar.zst").read_bytes()
        return made

    def verified(self, line):
        """Seconds that the server's checker has run so far, as its metrics say."""
        text = line.ask("GET", "/metrics")[1].decode()
        spent = dict(row.rsplit(" ", 1) for row in text.splitlines() if row.startswith("exo_registry_work_seconds_sum"))
        return float(spent.get('exo_registry_work_seconds_sum{work="checker"}', 0))

    def publish(self, line, k, archive):
        """Seconds that an author waits until the package can be had."""
        start = time.perf_counter()
        digest = hashlib.sha256(archive).hexdigest()
        ask = {"authorization": f"Bearer {self.tokens[scope_of(k)]}"}
        declared = {"name": f"@{scope_of(k)}/{packages.name(k)}", "version": VERSION, "sha256": digest, "size": len(archive)}
        id = line.json("POST", "/api/v1/publish", {"packs": [declared], "dry_run": False}, ask)["session"]
        line.ask("PUT", f"/api/v1/publish/{id}/{digest}", archive, ask, (204,))
        answer = json.loads(line.ask("POST", f"/api/v1/publish/{id}/commit?wait=30", b"", ask, (200, 202))[1])
        while answer["state"] == "checking":
            answer = json.loads(line.ask("GET", f"/api/v1/publish/{id}?wait=30", headers=ask)[1])
        if answer["state"] != "published":
            raise SystemExit(f"{packages.name(k)} is not published: {answer}")
        return time.perf_counter() - start

    def fill(self, numbers):
        line = load.Line(self.port)
        for at, (k, archive) in enumerate(self.prepare(numbers).items()):
            if at < REALLY_CHECKED:
                self.answer.unlink(missing_ok=True)
            before = self.verified(line)
            self.publish(line, k, archive)
            if at < REALLY_CHECKED:
                self.checked.append(self.verified(line) - before)
        line.close()

    def unchanged(self):
        return self.known("/v1/latest")

    def index(self):
        shards = (pathlib.Path(self.place[1]) / "files/v1/shard").iterdir()
        return self.all_of([f"/v1/shard/{shard.name}" for shard in shards])


class Kellnr(Registry):
    title = "kellnr"
    token = "benchbenchbenchbenchbenchbenchbe"

    def __init__(self, folder, options):
        super().__init__(folder, options)
        self.env = dict(
            os.environ, KELLNR_REGISTRY__DATA_DIR=str(folder / "data"), KELLNR_LOCAL__IP="127.0.0.1",
            KELLNR_LOCAL__PORT=str(self.port), KELLNR_ORIGIN__PORT=str(self.port), KELLNR_SETUP__ADMIN_TOKEN=self.token,
            KELLNR_LOG__LEVEL="warn")
        self.filled = []

    def command(self):
        return [self.options.kellnr, "start"]

    def probe(self):
        return self.path(self.filled[0]) if self.filled else "/api/v1/crates/config.json"

    def binary(self):
        return stripped(self.options.kellnr, self.folder)

    def path(self, k):
        name = packages.name(k)
        return f"/api/v1/crates/{name[:2]}/{name[2:4]}/{name}"

    def prepare(self, numbers):
        return {k: packages.crate_file(k, VERSION, []) for k in numbers}

    def publish(self, line, k, archive):
        about = json.dumps({
            "name": packages.name(k), "vers": VERSION, "deps": [], "features": {}, "authors": [], "description": f"Scales, number {k}",
            "documentation": None, "homepage": None, "readme": None, "readme_file": None, "keywords": [], "categories": [],
            "license": "MIT", "license_file": None, "repository": None, "badges": {}, "links": None, "rust_version": None}).encode()
        body = struct.pack("<I", len(about)) + about + struct.pack("<I", len(archive)) + archive
        start = time.perf_counter()
        line.ask("PUT", "/api/v1/crates/new", body, {"authorization": self.token})
        return time.perf_counter() - start

    def fill(self, numbers):
        line = load.Line(self.port)
        for k, archive in self.prepare(numbers).items():
            self.publish(line, k, archive)
        line.close()
        self.filled = list(numbers)

    def unchanged(self):
        return self.known(self.path(self.filled[0]))

    def index(self):
        return self.all_of([self.path(k) for k in self.filled])


class Verdaccio(Registry):
    title = "verdaccio"
    # What npm asks for when it installs.
    short = {"accept": "application/vnd.npm.install-v1+json"}

    def __init__(self, folder, options):
        super().__init__(folder, options)
        (folder / "config.yaml").write_text(
            "storage: ./storage\nauth:\n  htpasswd:\n    file: ./htpasswd\nuplinks: {}\n"
            "packages:\n  '**':\n    access: $all\n    publish: $authenticated\n"
            "log: { type: stdout, format: json, level: warn }\n")
        self.filled, self.token = [], None

    def command(self):
        return ["node", self.options.verdaccio, "--config", "config.yaml", "--listen", f"127.0.0.1:{self.port}"]

    def probe(self):
        return f"/{packages.name(self.filled[0])}" if self.filled else "/-/ping"

    def binary(self):
        """The installed packages; node is not counted."""
        installed = pathlib.Path(self.options.verdaccio).resolve().parents[2]
        return sum(file.lstat().st_size for file in installed.rglob("*") if file.is_file()) / 2**20

    def prepare(self, numbers):
        about = {k: json.dumps({"name": packages.name(k), "version": VERSION}) for k in numbers}
        return {k: packages.tar_gz("package", {"package.json": about[k], "README.md": f"# {packages.name(k)}\n", "LICENSE": "MIT\n",
                                               "index.js": "exports.scale = (a, x) => x.map((value) => a * value);\n"})
                for k in numbers}

    def publish(self, line, k, archive):
        name = packages.name(k)
        file = f"{name}-{VERSION}.tgz"
        dist = {"integrity": "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode(),
                "shasum": hashlib.sha1(archive).hexdigest(), "tarball": f"http://127.0.0.1:{self.port}/{name}/-/{file}"}
        about = {"_id": f"{name}@{VERSION}", "name": name, "version": VERSION, "description": f"Scales, number {k}", "license": "MIT",
                 "readme": f"# {name}\n", "dist": dist}
        body = {"_id": name, "name": name, "description": about["description"], "dist-tags": {"latest": VERSION},
                "versions": {VERSION: about}, "access": None,
                "_attachments": {file: {"content_type": "application/octet-stream", "data": base64.b64encode(archive).decode(),
                                        "length": len(archive)}}}
        start = time.perf_counter()
        line.json("PUT", f"/{name}", body, {"authorization": f"Bearer {self.token}"})
        return time.perf_counter() - start

    def fill(self, numbers):
        line = load.Line(self.port)
        user = {"name": "bench", "password": PASSWORD}
        self.token = line.json("PUT", "/-/user/org.couchdb.user:bench", user)["token"]
        for k, archive in self.prepare(numbers).items():
            self.publish(line, k, archive)
        line.close()
        self.filled = list(numbers)

    def unchanged(self):
        return self.known(f"/{packages.name(self.filled[0])}", self.short)

    def index(self):
        return self.all_of([f"/{packages.name(k)}" for k in self.filled], self.short)


class Files(Registry):
    """A file server on an exported registry: the most that a registry of static files, as margo is, can do. It publishes nothing."""

    title = "nginx"

    def __init__(self, folder, options):
        super().__init__(folder, options)
        user = "user root;" if os.getuid() == 0 else ""
        (folder / "nginx.conf").write_text(
            f"{user} daemon off; worker_processes auto; pid {folder}/pid; error_log {folder}/log warn;\n"
            "events { worker_connections 512; }\n"
            f"http {{ access_log off; sendfile on; default_type application/octet-stream; keepalive_requests 1000000;\n"
            f"  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;\n"
            f"  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
            f"  server {{ listen 127.0.0.1:{self.port}; root {folder}/root; }} }}\n")

    def command(self):
        return [self.options.nginx, "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")]

    def probe(self):
        return "/v1/latest"

    def export(self, registry):
        run([self.options.exo_registry, "export-static", *registry.place, str(self.folder / "root")], self.folder, registry.env)

    def unchanged(self):
        return self.known("/v1/latest")

    def index(self):
        return self.all_of([f"/v1/shard/{shard.name}" for shard in (self.folder / "root/v1/shard").iterdir()])


def scope_of(k):
    return f"bench{k // OF_A_SCOPE}"
