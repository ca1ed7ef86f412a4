// SPDX-License-Identifier: MIT
// tma.cuh: boxes copied in, and the maps. Would be seen: another swizzle, slabs the wrong way
// round, a swapped stride or coordinate, rows or columns beyond the tensor that are not zero, bytes
// that the barrier does not count, a map of a tensor that TMA cannot read.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm80/cp_async.cuh"
#include "sm90/tma.cuh"

namespace wb::testing::vocabulary {

namespace {

constexpr int k_batches = 2, k_heads = 3, k_rows = 37, k_box = 16, k_threads = 64;

struct Job {
  int d, row, head, batch;
};

enum Kind { plain, hinted, whole, whole_hinted };

// Copies box after box through the same shared memory and out as it lies there.
template <int Which>
__global__ void dump_boxes(const __grid_constant__ CUtensorMap map, const Job* jobs, int count,
                           uint16_t* out, int box_bytes, int* late) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t at = smem_address(smem), barrier = at + box_bytes;
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    prefetch_tensormap(&map);
  }
  __syncthreads();
  const int words = box_bytes / 2;
  for (int i = 0; i < count; ++i) {
    if (threadIdx.x == 0) {
      const Job j = jobs[i];
      const uint64_t policy = createpolicy_evict_first();
      mbarrier_arrive_expect_tx(barrier, box_bytes);
      if (Which == plain) {
        cp_async_bulk_tensor_4d(at, &map, barrier, j.d, j.row, j.head, j.batch);
      } else if (Which == hinted) {
        cp_async_bulk_tensor_4d_hint(at, &map, barrier, j.d, j.row, j.head, j.batch, policy);
      } else if (Which == whole) {
        cp_async_bulk_tensor_5d(at, &map, barrier, j.row, j.head, j.batch);
      } else {
        cp_async_bulk_tensor_5d_hint(at, &map, barrier, j.row, j.head, j.batch, policy);
      }
    }
    if (!await_phase(barrier, i & 1, late)) return;
    for (int e = threadIdx.x; e < words; e += k_threads) {
      out[i * words + e] = reinterpret_cast<const volatile uint16_t*>(smem)[e];
    }
    __syncthreads();  // all have read before the next box comes
  }
}

// The layouts BSHD and BHSD of a tensor of `heads` heads and `dim` columns, with `gap` elements
// that belong to nobody behind every row.
wb_strides strides_of(bool rows_outside, int heads, int rows, int dim, int gap) {
  const int64_t line = dim + gap;
  if (rows_outside) return {int64_t(rows) * heads * line, line, heads * line};
  return {int64_t(heads) * rows * line, rows * line, line};
}

template <int Which>
std::string boxes_of(int dtype, int dim, bool rows_outside, int gap, int batches) {
  constexpr bool all_slabs = Which == whole || Which == whole_hinted;
  const wb_strides strides = strides_of(rows_outside, k_heads, k_rows, dim, gap);
  std::vector<uint16_t> data(std::size_t(batches) * k_heads * k_rows * (dim + gap));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = word_of(uint32_t(i));
  const DeviceArray<uint16_t> on_device(data);
  wb_strides told = strides;
  if (batches == 1) told.batch = 7;  // never stepped over, so it may be anything
  CUtensorMap map;
  if (const char* why = encode_bhsd_map(
          &map, on_device.data(), dtype, batches, k_heads, k_rows, dim, told, k_box,
          all_slabs ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
          all_slabs)) {
    return why;
  }
  const int slabs = all_slabs ? dim / 64 : 1, words = slabs * k_box * 64;
  std::vector<Job> jobs;
  for (int batch = batches - 1; batch >= 0; --batch) {
    for (int head = 0; head < k_heads; ++head) {
      for (const int row : {0, 16, 32, 13, 40, -3}) {
        for (int d = 0; d < (all_slabs ? 1 : dim); d += 64) jobs.push_back({d, row, head, batch});
      }
    }
  }
  const DeviceArray<Job> jobs_on_device(jobs);
  const DeviceArray<uint16_t> out(jobs.size() * words);
  const DeviceArray<int> late(1);
  run("boxes", dump_boxes<Which>, 1, k_threads, words * 2 + 8, 1, map, jobs_on_device.data(),
      int(jobs.size()), out.data(), words * 2, late.data());
  const std::string what = "box kind " + std::to_string(Which) + ", " + std::to_string(dim) +
                           " columns" + (rows_outside ? ", BSHD" : ", BHSD");
  if (late.host()[0] != 0) return what + ": its bytes did not come";

  std::vector<uint16_t> wanted(jobs.size() * words);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& j = jobs[i];
    for (int row = 0; row < k_box; ++row) {
      for (int c = 0; c < slabs * 64; ++c) {
        const int unit = c % 64 / 8;
        const int at = c / 64 * (k_box * 64) + row * 64 + (unit ^ row % 8) * 8 + c % 8;
        const int from = j.row + row, d = j.d + c;
        if (from < 0 || from >= k_rows || d >= dim) continue;
        wanted[i * words + at] =
            data[j.batch * strides.batch + j.head * strides.head + from * strides.row + d];
      }
    }
  }
  return difference(what, out.host(), wanted, words);
}

}  // namespace

std::string boxes_of_four_dimensions_arrive() {
  for (const std::string& wrong :
       {boxes_of<plain>(WB_F16, 72, true, 0, k_batches),
        boxes_of<plain>(WB_BF16, 128, false, 8, k_batches),
        boxes_of<plain>(WB_BF16, 40, false, 0, 1), boxes_of<plain>(WB_F16, 192, true, 0, 1),
        boxes_of<hinted>(WB_F16, 72, true, 24, k_batches)}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string boxes_of_whole_rows_arrive() {
  for (const std::string& wrong : {boxes_of<whole>(WB_BF16, 128, true, 0, k_batches),
                                   boxes_of<whole>(WB_F16, 128, false, 16, 1),
                                   boxes_of<whole_hinted>(WB_F16, 128, false, 0, k_batches)}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string maps_that_cannot_be_are_refused() {
  const DeviceArray<uint16_t> data(4 * 64 * 128);
  CUtensorMap map;
  const auto encode = [&](int skipped, int64_t row_stride, uint32_t box_rows) {
    return encode_bhsd_map(&map, data.data() + skipped, WB_F16, 1, 2, 64, 64,
                           {0, 64 * row_stride, row_stride}, box_rows);
  };
  if (encode(0, 64, 64) != nullptr) return "a proper map was refused";
  if (encode(4, 64, 64) == nullptr) return "a base on 8 bytes was taken";
  if (encode(0, 68, 64) == nullptr) return "rows of 136 bytes were taken";
  if (encode(0, 64, 257) == nullptr) return "a box of 257 rows was taken";
  return {};
}

}  // namespace wb::testing::vocabulary
