"""A two-pass blur in tiles on Exo 1.0.0: same algorithm and same schedule as tests/examples/blur.exo."""

from __future__ import annotations

from exo import DRAM, proc
from exo.stdlib.scheduling import *


@proc
def blur(H: size, W: size, x: f32[H + 2, W + 2], y: f32[H, W]):
    assert H % 32 == 0
    assert W % 16 == 0
    for i in seq(0, H):
        for j in seq(0, W):
            rows: f32[3]
            for r in seq(0, 3):
                rows[r] = x[i + r, j] + 2.0 * x[i + r, j + 1] + x[i + r, j + 2]
            y[i, j] = rows[0] + 2.0 * rows[1] + rows[2]


p = rename(blur, "blur_tiled")
p = divide_loop(p, "i", 32, ["io", "ii"], perfect=True)
p = divide_loop(p, "j", 16, ["jo", "ji"], perfect=True)
p = reorder_loops(p, "ii jo")
p = expand_dim(p, "rows", 16, "ji")
p = lift_alloc(p, "rows", n_lifts=1)
p = fission(p, p.find("for r in _: _").after())
p = reorder_loops(p, "ji r")
p = expand_dim(p, "rows", 32, "ii")
p = lift_alloc(p, "rows", n_lifts=1)
p = fission(p, p.find("for r in _: _").after())
p = reorder_loops(p, "ii r")
p = stage_mem(p, p.find_loop("r"), "x[32*io:32*io+34, 16*jo:16*jo+18]", "tile")
p = simplify(p)
p = unroll_loop(p, "r")
p = fuse(p, "for ii in _: _ #0", "for ii in _: _ #1")
p = fuse(p, "for ii in _: _ #0", "for ii in _: _ #1")
p = fuse(p, "for ii in _: _ #0", "for ii in _: _ #1")
p = fuse(p, "for ji in _: _ #0", "for ji in _: _ #1")
p = fuse(p, "for ji in _: _ #0", "for ji in _: _ #1")
p = fuse(p, "for ji in _: _ #0", "for ji in _: _ #1")
p = divide_loop(p, "ji", 4, ["jm", "jv"], perfect=True)
p = simplify(p)
print(p)
