"""Runs programs to their end, and says what they said where they fail."""

import shutil
import subprocess


def run(command, where, env, **more):
    """Gives what the program prints; ends this one where it fails."""
    done = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise SystemExit(f"{command} failed in {where}:\n{done.stdout}{done.stderr}")
    return done.stdout


def stripped(program, folder):
    """MiB of a program without symbols."""
    copy = folder / "stripped"
    run(["strip", "-o", str(copy), shutil.which(program)], folder, None)
    return copy.stat().st_size / 2**20
