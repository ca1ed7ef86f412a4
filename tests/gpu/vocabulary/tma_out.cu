// SPDX-License-Identifier: MIT
// tma.cuh: boxes copied out. Would be seen: another swizzle or coordinate, a write beyond the
// tensor's rows or columns, a wait that lets shared memory be written while it is still read, a
// fence that is missing before the copy.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90/tma.cuh"
#include "sm90/warpgroup.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_batches = 2, k_heads = 2, k_rows = 75, k_box = 32, k_threads = 128;
constexpr int k_dim = 104, k_line = 112;  // columns of a row, and from one row to the next
constexpr uint16_t k_untouched = 0xeeee;

struct Job {
  int d, row, head, batch;
};

// Makes tile after tile in the same shared memory; what has been sent is overwritten at once.
__global__ void send_boxes(const __grid_constant__ CUtensorMap map, const Job* jobs, int count) {
  extern __shared__ __align__(1024) unsigned char smem[];
  uint16_t* tile = reinterpret_cast<uint16_t*>(smem);
  const uint32_t at = smem_address(smem);
  for (int i = blockIdx.x; i < count; i += gridDim.x) {
    for (int e = threadIdx.x; e < k_box * 64; e += k_threads) {
      const int row = e / 64, c = e % 64;
      tile[row * 64 + ((c / 8) ^ (row % 8)) * 8 + c % 8] = word_of(i * k_box * 64 + e);
    }
    fence_proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      const Job j = jobs[i];
      cp_async_bulk_tensor_4d_out(&map, at, j.d, j.row, j.head, j.batch);
      cp_async_bulk_commit_group();
      cp_async_bulk_wait_group_read();
    }
    __syncthreads();
    for (int e = threadIdx.x; e < k_box * 64; e += k_threads) tile[e] = 0xdddd;
    __syncthreads();
  }
}

}  // namespace

std::string boxes_go_out() {
  // BSHD, with a gap behind every row; rows of a last, missing batch watch the end.
  const wb_strides strides = {int64_t(k_rows) * k_heads * k_line, k_line, k_heads * k_line};
  std::vector<uint16_t> wanted((k_batches + 1) * strides.batch, k_untouched);
  const DeviceArray<uint16_t> out(wanted);
  CUtensorMap map;
  if (const char* why = encode_bhsd_map(&map, out.data(), WB_BF16, k_batches, k_heads, k_rows,
                                        k_dim, strides, k_box)) {
    return why;
  }
  std::vector<Job> jobs;
  for (int batch = 0; batch < k_batches; ++batch) {
    for (int head = 0; head < k_heads; ++head) {
      for (int d = 0; d < k_dim; d += 64) {
        for (const int row : {64, 0, 96}) jobs.push_back({d, row, head, batch});  // not 32 to 63
      }
    }
  }
  const DeviceArray<Job> jobs_on_device(jobs);
  run("boxes_go_out", send_boxes, 3, k_threads, k_box * 128, 1, map, jobs_on_device.data(),
      int(jobs.size()));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& j = jobs[i];
    for (int e = 0; e < k_box * 64; ++e) {
      const int row = j.row + e / 64, d = j.d + e % 64;
      if (row >= k_rows || d >= k_dim) continue;
      wanted[j.batch * strides.batch + j.head * strides.head + row * strides.row + d] =
          word_of(uint32_t(i * k_box * 64 + e));
    }
  }
  return difference("what went out", out.host(), wanted, k_line);
}

}  // namespace wb::testing::vocabulary
