"""A 6x64 micro-kernel for AVX-512 on Exo 1.0.0: same algorithm and same schedule as tests/examples/avx512_microkernel.exo."""

from __future__ import annotations

from exo import DRAM, proc
from exo.platforms.x86 import AVX512, mm512_fmadd_ps, mm512_loadu_ps, mm512_set1_ps, mm512_storeu_ps
from exo.stdlib.scheduling import *


@proc
def rank_k_reduce_6x64(K: size, A: f32[6, K] @ DRAM, B: f32[K, 64] @ DRAM, C: f32[6, 64] @ DRAM):
    for i in seq(0, 6):
        for j in seq(0, 64):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]


p = rename(rank_k_reduce_6x64, "rank_k_reduce_6x64_avx512")
p = reorder_loops(p, "j k")
p = reorder_loops(p, "i k")
p = divide_loop(p, "j", 16, ["jo", "ji"], perfect=True)
p = stage_mem(p, "for k in _: _", "C[0:6, 0:64]", "C_reg")
p = simplify(p)
p = divide_dim(p, "C_reg", 1, 16)
p = simplify(p)
p = divide_loop(p, "for i1 in _: _ #0", 16, ["i1o", "i1i"], perfect=True)
p = divide_loop(p, "for i1 in _: _ #0", 16, ["i1o", "i1i"], perfect=True)
p = simplify(p)
p = set_memory(p, "C_reg", AVX512)
p = bind_expr(p, p.find("A[_]", many=True), "a_vec")
p = expand_dim(p, "a_vec", 16, "ji")
p = lift_alloc(p, "a_vec", n_lifts=2)
p = set_memory(p, "a_vec", AVX512)
p = set_precision(p, "a_vec", "f32")
p = fission(p, p.find("a_vec[_] = _").after())
p = bind_expr(p, p.find("B[_]", many=True), "b_vec")
p = expand_dim(p, "b_vec", 16, "ji")
p = lift_alloc(p, "b_vec", n_lifts=1)
p = set_memory(p, "b_vec", AVX512)
p = set_precision(p, "b_vec", "f32")
p = fission(p, p.find("b_vec[_] = _").after())
p = simplify(p)
p = replace_all(p, [mm512_loadu_ps, mm512_storeu_ps, mm512_set1_ps, mm512_fmadd_ps])
for loop in ["i1o", "i1o", "jo"]:
    p = unroll_loop(p, loop)
for _ in range(3):
    p = unroll_loop(p, "i" if _ == 1 else "i0")
print(simplify(p))
