"""A long schedule, step by step, on Exo 1.0.0: same algorithm and same schedule as tests/examples/unrolled.exo."""

from __future__ import annotations

from exo import DRAM, proc
from exo.stdlib.scheduling import *


@proc
def dots(x: f32[32, 8], y: f32[32, 8], z: f32[32]):
    for i in seq(0, 32):
        for k in seq(0, 8):
            z[i] += x[i, k] * y[i, k]


p = rename(dots, "dots_unrolled")
p = unroll_loop(p, "i")
for i in range(32):
    p = divide_loop(p, p.body()[i], 4, ["ko" + str(i), "ki" + str(i)], perfect=True)
    p = reorder_loops(p, p.body()[i])
    p = unroll_loop(p, p.body()[i].body()[0])
for i in range(32):
    update = p.body()[2 * i].body()[0]
    p = bind_expr(p, [update.rhs().lhs()], "left" + str(i))
    p = expand_dim(p, "left" + str(i), 4, "ki" + str(i))
    p = lift_alloc(p, "left" + str(i))
p = simplify(p)
print(p)
