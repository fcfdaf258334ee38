"""A tiled 3x3 convolution on Exo 1.0.0: same algorithm and same schedule as tests/examples/conv3x3.exo."""

from __future__ import annotations

from exo import DRAM, proc
from exo.stdlib.scheduling import *


@proc
def conv3x3(H: size, W: size, x: f32[H + 2, W + 2], w: f32[3, 3], y: f32[H, W]):
    assert H % 8 == 0
    assert W % 16 == 0
    for i in seq(0, H):
        for j in seq(0, W):
            y[i, j] = 0.0
            for r in seq(0, 3):
                for s in seq(0, 3):
                    y[i, j] += w[r, s] * x[i + r, j + s]


p = rename(conv3x3, "conv3x3_tiled")
p = divide_loop(p, "i", 8, ["io", "ii"], perfect=True)
p = divide_loop(p, "j", 16, ["jo", "ji"], perfect=True)
p = reorder_loops(p, "ii jo")
p = fission(p, p.find("y[_] = _").after(), n_lifts=2)
p = stage_mem(p, p.find_loop("ii #1"), "y[8*io:8*io+8, 16*jo:16*jo+16]", "acc")
p = simplify(p)
p = stage_mem(p, p.find_loop("ii #1"), "x[8*io:8*io+10, 16*jo:16*jo+18]", "patch")
p = simplify(p)
p = reorder_loops(p, "ji r")
p = reorder_loops(p, "ji s")
p = reorder_loops(p, "ii r")
p = reorder_loops(p, "ii s")
p = bind_expr(p, p.find("w[_]", many=True), "weight")
p = lift_alloc(p, "weight", n_lifts=2)
p = fission(p, p.find("weight = _").after(), n_lifts=2)
p = remove_loop(p, p.find("weight = _").parent())
p = remove_loop(p, p.find("weight = _").parent())
p = unroll_loop(p, "s")
p = unroll_loop(p, "r")
p = set_memory(p, "acc", DRAM)
print(simplify(p))
