// SPDX-License-Identifier: MIT
// The statistics for the verdict's inequalities: errors of a block against the oracle, and counts
// over every element of an output. Reductions have a fixed order, so that results repeat bit for
// bit; NaN counts as an infinite error.
#include "worker/cuda/device/numbers.cuh"

namespace wb::worker::cuda::device {
namespace {

constexpr std::int64_t k_no_index = 0x7fffffffffffffff;

/// One thread's part of a block's statistics, later that of several threads.
struct Partial {
  double max = 0, sum = 0, max_magnitude = 0, magnitude_sum = 0, max_ref = 0, ref_sum = 0;
  std::int64_t worst_index = k_no_index;

  __device__ void add(double value, double ref, std::int64_t index) {
    const double difference = fabs(value - ref);
    const double error = difference >= 0 ? difference : static_cast<double>(__builtin_huge_val());
    if (error > max) {
      max = error;
      worst_index = index;
    }
    sum += error;
    max_magnitude = fmax(max_magnitude, fabs(value));
    magnitude_sum += fabs(value);
    max_ref = fmax(max_ref, fabs(ref));
    ref_sum += fabs(ref);
  }

  __device__ void merge(const Partial& other) {
    if (other.max > max || (other.max == max && other.worst_index < worst_index)) {
      max = other.max;
      worst_index = other.worst_index;
    }
    sum += other.sum;
    max_magnitude = fmax(max_magnitude, other.max_magnitude);
    magnitude_sum += other.magnitude_sum;
    max_ref = fmax(max_ref, other.max_ref);
    ref_sum += other.ref_sum;
  }
};

/// Merges the threads' partial sums in pairs of fixed distance; the result is shared[0].
__device__ void merge_threads(Partial* shared, const Partial& own) {
  shared[threadIdx.x] = own;
  for (unsigned distance = blockDim.x / 2; distance > 0; distance /= 2) {
    __syncthreads();  // the halves are written
    if (threadIdx.x < distance) shared[threadIdx.x].merge(shared[threadIdx.x + distance]);
  }
}

/// Element `index` ([rows, Dv] order) of the values compared with the oracle: out, or std.
__device__ double value_at(const Wave& w, const BlockTask& task, std::int64_t index) {
  if (w.form != Form::oracle) {
    return static_cast<double>(w.std_out[blockIdx.x * w.rows_per_block * w.Dv + index]);
  }
  const std::int64_t row = task.row_begin + index / w.Dv;
  const std::int64_t at = task.b * w.out_strides.batch + task.h * w.out_strides.head +
                          row * w.out_strides.row + index % w.Dv;
  return static_cast<double>(load(w.number, w.out, at));
}

}  // namespace

/// grid (blocks). Form oracle: errors of out; a form of std: errors of its result in the scratch
/// memory.
extern "C" __global__ void __launch_bounds__(k_scan_threads) wb_block_errors(const Wave w) {
  __shared__ Partial shared[k_scan_threads];
  const BlockTask& task = w.tasks[blockIdx.x];
  const double* ref = w.ref + blockIdx.x * w.rows_per_block * w.Dv;
  const std::int64_t count = task.rows * w.Dv;
  Partial own;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    own.add(value_at(w, task, i), ref[i], i);
  }
  merge_threads(shared, own);
  if (threadIdx.x != 0) return;
  const Partial& all = shared[0];
  const std::int64_t worst = all.worst_index == k_no_index ? 0 : all.worst_index;
  const auto elements = static_cast<double>(count);
  w.errors[blockIdx.x] = {all.max, all.sum / elements, all.max_magnitude,
                          all.magnitude_sum / elements, value_at(w, task, worst), ref[worst],
                          all.max_ref, all.ref_sum / elements, worst};
}

/// Counts over every element of an output: infinite or NaN, and still the poison
/// (problem/poison.cpp).
extern "C" __global__ void __launch_bounds__(k_scan_threads) wb_scan_output(const ScanParams p) {
  std::uint64_t non_finite = 0, survivors = 0;
  const std::uint64_t element = p.number == Number::f32 ? 4 : 2;
  const std::uint32_t mask = element == 4 ? 0xffffffffu : 0xffffu;
  const std::uint32_t exponent = p.number == Number::f32   ? 0x7f800000u
                                 : p.number == Number::f16 ? 0x7c00u
                                                           : 0x7f80u;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.elements;
       i += step) {
    const std::uint32_t bits = element == 4 ? static_cast<const std::uint32_t*>(p.bytes)[i]
                                            : static_cast<const std::uint16_t*>(p.bytes)[i];
    non_finite += (bits & exponent) == exponent ? 1 : 0;
    const std::uint64_t at = static_cast<std::uint64_t>(i) * element;
    const std::uint64_t word = poison_word(p.poison_seed, at / 8);
    survivors += (static_cast<std::uint32_t>(word >> (8 * (at % 8))) & mask) == bits ? 1 : 0;
  }
  // Integers: the order of these additions does not matter.
  atomicAdd(reinterpret_cast<unsigned long long*>(p.counts), non_finite);
  if (p.has_poison != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(p.counts + 1), survivors);
  }
}

}  // namespace wb::worker::cuda::device
