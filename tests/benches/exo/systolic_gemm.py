"""The systolic-array example on Exo 1.0.0: same algorithm and same schedule as tests/examples/systolic_gemm.exo."""

from __future__ import annotations

from exo import DRAM, Memory, instr, proc
from exo.stdlib.scheduling import *


class TILE(Memory):
    @classmethod
    def alloc(cls, new_name, prim_type, shape, srcinfo):
        return f"{prim_type} {new_name}[{' * '.join(shape)}];"

    @classmethod
    def free(cls, new_name, prim_type, shape, srcinfo):
        return ""

    @classmethod
    def can_read(cls):
        return False


@instr("my_tile_mma_16x16(&{C_data}, &{A_data}, &{B_data});")
def gemm_tile_inst(C: [f32][16, 16] @ TILE, A: [f32][16, 16] @ TILE, B: [f32][16, 16] @ TILE):
    for i in seq(0, 16):
        for j in seq(0, 16):
            for k in seq(0, 16):
                C[i, j] += A[i, k] * B[k, j]


@instr("my_tile_load_16x16(&{dst_data}, &{src_data}, {src}.strides[0]);")
def load_tile_inst(dst: [f32][16, 16] @ TILE, src: [f32][16, 16] @ DRAM):
    assert stride(src, 1) == 1
    for i in seq(0, 16):
        for j in seq(0, 16):
            dst[i, j] = src[i, j]


@instr("my_tile_store_16x16(&{dst_data}, {dst}.strides[0], &{src_data});")
def store_tile_inst(dst: [f32][16, 16] @ DRAM, src: [f32][16, 16] @ TILE):
    assert stride(dst, 1) == 1
    for i in seq(0, 16):
        for j in seq(0, 16):
            dst[i, j] = src[i, j]


@proc
def gemm(M: size, N: size, K: size, A: f32[M, K], B: f32[K, N], C: f32[M, N]):
    assert M % 16 == 0
    assert N % 16 == 0
    assert K % 16 == 0
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]


def tile(p, name, n):
    return divide_loop(p, p.find_loop(name), n, [name + "o", name + "i"], perfect=True)


g = rename(gemm, "gemm_tiled")
for v in ["i", "j", "k"]:
    g = tile(g, v, 16)
g = reorder_loops(g, "ii jo")
g = reorder_loops(g, "ji ko")
g = reorder_loops(g, "ii ko")
g = stage_mem(g, "for ko in _: _", "C[16*io:16*io+16, 16*jo:16*jo+16]", "Ct")
g = stage_mem(g, "for ii in _: _", "A[16*io:16*io+16, 16*ko:16*ko+16]", "At")
g = stage_mem(g, "for ii in _: _", "B[16*ko:16*ko+16, 16*jo:16*jo+16]", "Bt")
g = simplify(g)
for buffer in ["Ct", "At", "Bt"]:
    g = set_memory(g, buffer, TILE)
gemm_tiled = replace_all(g, [gemm_tile_inst, load_tile_inst, store_tile_inst])
print(simplify(gemm_tiled))
