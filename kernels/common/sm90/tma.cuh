// SPDX-License-Identifier: MIT
// cp.async.bulk.tensor: tiles of a [B, H, S, D] tensor of 16-bit elements copied by TMA into shared
// memory with the 128-byte swizzle, and the host side that encodes the tensor map.
// A tile is stored as D / 64 slabs of `rows` lines of 128 bytes; the 16-byte unit u of line r lies
// at unit u ^ (r % 8). Coordinates beyond the tensor read as zero.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "sdpa_abi.h"

namespace wb::gpu {

__device__ __forceinline__ void prefetch_tensormap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__device__ __forceinline__ void cp_async_bulk_tensor_4d(uint32_t smem, const CUtensorMap* map,
                                                        uint32_t barrier, int d, int row, int head,
                                                        int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(smem),
      "l"(map), "r"(barrier), "r"(d), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

// The same with a policy that says how the L2 is to keep the lines (createpolicy).
__device__ __forceinline__ void cp_async_bulk_tensor_4d_hint(uint32_t smem, const CUtensorMap* map,
                                                             uint32_t barrier, int d, int row,
                                                             int head, int batch, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(smem),
      "l"(map), "r"(barrier), "r"(d), "r"(row), "r"(head), "r"(batch), "l"(policy)
      : "memory");
}

// Both slabs of a tile of 128 columns in one box; the map is encoded with `whole_rows`.
__device__ __forceinline__ void cp_async_bulk_tensor_5d(uint32_t smem, const CUtensorMap* map,
                                                        uint32_t barrier, int row, int head,
                                                        int batch) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %3, %5, %6}], [%2];" ::"r"(smem),
      "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

__device__ __forceinline__ void cp_async_bulk_tensor_5d_hint(uint32_t smem, const CUtensorMap* map,
                                                             uint32_t barrier, int row, int head,
                                                             int batch, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %3, %5, %6}], [%2], %7;" ::"r"(smem),
      "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(head), "r"(batch), "l"(policy)
      : "memory");
}

// Copies a tile from shared memory out; what lies beyond the tensor is left out.
__device__ __forceinline__ void cp_async_bulk_tensor_4d_out(const CUtensorMap* map, uint32_t smem,
                                                            int d, int row, int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::
          "l"(map),
      "r"(smem), "r"(d), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

__device__ __forceinline__ void cp_async_bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until this thread's copies out have read their shared memory.
__device__ __forceinline__ void cp_async_bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Encodes a map whose tiles are 64 elements by `box_rows` rows, or with `whole_rows` all the slabs
// of as many rows (dim is then a multiple of 64). Returns nullptr, or why not.
inline const char* encode_bhsd_map(
    CUtensorMap* map, const void* base, int dtype, int64_t batch, int64_t heads, int64_t rows,
    int64_t dim, wb_strides strides, uint32_t box_rows,
    CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
    bool whole_rows = false) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault,
                                       &found) != cudaSuccess ||
      found != cudaDriverEntryPointSuccess) {
    return "the driver has no cuTensorMapEncodeTiled";
  }
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  // A dimension of size 1 is never stepped over: give it any legal stride.
  const int64_t row_stride = rows > 1 ? strides.row : dim;
  const int64_t head_stride = heads > 1 ? strides.head : row_stride;
  const int64_t batch_stride = batch > 1 ? strides.batch : row_stride;
  cuuint64_t sizes[5] = {cuuint64_t(dim), cuuint64_t(rows), cuuint64_t(heads), cuuint64_t(batch)};
  cuuint64_t bytes[4] = {cuuint64_t(row_stride) * 2, cuuint64_t(head_stride) * 2,
                         cuuint64_t(batch_stride) * 2};
  cuuint32_t box[5] = {64, box_rows, 1, 1, 1};
  const cuuint32_t step[5] = {1, 1, 1, 1, 1};
  if (whole_rows) {  // slabs are a dimension of their own, behind the rows
    sizes[4] = sizes[3];
    sizes[3] = sizes[2];
    sizes[2] = box[2] = cuuint32_t(dim / 64);
    sizes[0] = 64;
    bytes[3] = bytes[2];
    bytes[2] = bytes[1];
    bytes[1] = 128;
  }
  const CUresult result = encode(
      map, dtype == WB_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
      whole_rows ? 5 : 4, const_cast<void*>(base), sizes, bytes, box, step,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, promotion,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? nullptr : "cuTensorMapEncodeTiled refused the tensor";
}

}  // namespace wb::gpu
