"""Writes one graph of packages three times: a workspace for exo, a sparse registry for cargo, wheels for uv.

Package k needs a few packages before it, all with room for both published versions, so that each resolver has the same work.
"""

import hashlib
import io
import json
import pathlib
import tarfile
import zipfile

EXO = """@proc
def scale{k}(n: size, a: f32, x: f32[n], y: f32[n]):
    assert n % 8 == 0
    for i in seq(0, n):
        y[i] = a * x[i]

def in_tiles(p):
    loop = p.find_loop("i")
    return divide_loop(p, loop, 8, ["io", "ii"], perfect = True)

tiled{k} = in_tiles(scale{k})
"""
RUST = "/// Scales.\npub fn scale{k}(a: f32, x: &[f32], y: &mut [f32]) {{\n    for (x, y) in x.iter().zip(y) {{\n        *y = a * x;\n    }}\n}}\n"
PYTHON = 'def scale{k}(a, x, y):\n    """Scales."""\n    for i, value in enumerate(x):\n        y[i] = a * value\n'


# Packs that are published at once.
TOGETHER = 25


def name(k):
    return f"p{k:03}"


def needs(k):
    """Up to four packages before the k-th: two near, two far."""
    return sorted({at for at in (k - 1, k - 3, k // 2, k // 3) if 0 <= at < k})


def requirements(k, version):
    """The newest version asks for the newest of what it needs, older ones take any."""
    return [(name(at), version if (k + at) % 3 == 0 else "1.0.0") for at in needs(k)]


def exo_requirement(k, other, least):
    """Packs of one workspace name each other by path, those of earlier ones by version only."""
    path = f'path = "../{other}", ' if int(other[1:]) // TOGETHER == k // TOGETHER else ""
    return f'"@bench/{other}" = {{ {path}version = "^{least}" }}\n'


def exo_pack(folder, k, version):
    """A member of the workspace of the packs that are published together."""
    lines = "".join(exo_requirement(k, other, least) for other, least in requirements(k, version))
    exo_member(folder / f"{k // TOGETHER:03}", "bench", k, version, lines)


def exo_member(workspace, scope, k, version, dependencies):
    pack = workspace / "packs" / name(k)
    (pack / "src").mkdir(parents=True)
    (workspace / "Exo.toml").write_text('[workspace]\nmembers = ["packs/*"]\n')
    (pack / "Exo.toml").write_text(
        f'[pack]\nname = "@{scope}/{name(k)}"\nversion = "{version}"\nkind = "schedule"\nexo = ">=0.1"\n'
        f'description = "Scales, number {k}"\nlicense = "MIT"\nrepository = "https://example.org/{name(k)}"\n\n'
        f"[dependencies]\n{dependencies}"
    )
    (pack / "README.md").write_text(f"# {name(k)}\n\nScales.\n")
    (pack / "LICENSE").write_text("MIT\n")
    (pack / "src/lib.exo").write_text(EXO.format(k=k))


def crate_file(k, version, needed):
    lines = "".join(f'[dependencies.{other}]\nversion = "{least}"\nregistry = "bench"\n' for other, least in needed)
    manifest = f'[package]\nname = "{name(k)}"\nversion = "{version}"\nedition = "2021"\n\n{lines}'
    files = {"Cargo.toml": manifest, "src/lib.rs": RUST.format(k=k), "README.md": f"# {name(k)}\n", "LICENSE": "MIT\n"}
    return tar_gz(f"{name(k)}-{version}", files)


def tar_gz(folder, files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{folder}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def index_line(k, version, crate):
    dependencies = [
        {"name": other, "req": f"^{least}", "features": [], "optional": False, "default_features": True,
         "target": None, "kind": "normal", "registry": None, "package": None}
        for other, least in requirements(k, version)
    ]
    entry = {"name": name(k), "vers": version, "deps": dependencies, "cksum": hashlib.sha256(crate).hexdigest(),
             "features": {}, "yanked": False, "links": None}
    return json.dumps(entry) + "\n"


def cargo_crate(folder, k, versions):
    lines = ""
    for version in versions:
        crate = crate_file(k, version, requirements(k, version))
        (folder / "crates" / f"{name(k)}-{version}.crate").write_bytes(crate)
        lines += index_line(k, version, crate)
    at = folder / "index" / name(k)[:2] / name(k)[2:4]
    at.mkdir(parents=True, exist_ok=True)
    (at / name(k)).write_text(lines)


def wheel(folder, k, version):
    package = f"bench_{name(k)}"
    lines = "".join(f"Requires-Dist: bench-{other}>={least},<2\n" for other, least in requirements(k, version))
    about = f"{package}-{version}.dist-info"
    files = {
        f"{package}/__init__.py": PYTHON.format(k=k),
        f"{package}/LICENSE": "MIT\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: bench-{name(k)}\nVersion: {version}\n{lines}",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(folder / f"{package}-{version}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def write(folder, count, versions):
    for path in ("cargo/crates", "cargo/index", "wheels"):
        (folder / path).mkdir(parents=True)
    for version in versions:
        for k in range(count):
            exo_pack(folder / "exo" / version, k, version)
            wheel(folder / "wheels", k, version)
    for k in range(count):
        cargo_crate(folder / "cargo", k, versions)

