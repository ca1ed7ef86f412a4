// SPDX-License-Identifier: MIT
// What every CPU kernel needs and no kernel should copy: argument checks, the thread pool, storage
// formats, masks, causal limits, the exponential, and the six ABI functions around one forward().
//
// A kernel is one file that defines, in its own namespace, `Needs needs(const wb_sdpa_problem&)`
// and `void forward(const Call&)`, and ends with WB_CPU_KERNEL(needs, forward).
// A search compiles a kernel a hundred times, so this header is kept cheap: with <algorithm>,
// <cmath>, <thread> and <immintrin.h> a kernel took twice as long to compile (docs/benchmarks.md).
// Indices: b batch, h query head, i query row, j key, d head dim. Tensors are addressed by strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <new>

#include "cpu_threads.hpp"
#include "sdpa_abi.h"

namespace wb_cpu {

inline constexpr float k_minus_infinity = -std::numeric_limits<float>::infinity();
inline constexpr std::size_t k_cache_line_floats = 16;

// ---- what <algorithm> and <bit> have -------------------------------------------------------

template <typename T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
constexpr T clamp(T value, T low, T high) {
  return min(max(value, low), high);
}
inline void fill(float* from, std::int64_t count, float value) {
  for (std::int64_t i = 0; i < count; ++i) from[i] = value;
}
template <typename To, typename From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

// ---- vectors --------------------------------------------------------------------------------
// One hardware vector of floats; arithmetic with scalars and vectors works lane by lane.

#if defined(__AVX512F__)
inline constexpr int k_lanes = 16;
#elif defined(__AVX__)
inline constexpr int k_lanes = 8;
#else
inline constexpr int k_lanes = 4;
#endif
typedef float Vec __attribute__((vector_size(k_lanes * sizeof(float))));

inline Vec load_vec(const float* from) {
  Vec value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void store_vec(float* to, Vec value) {
  std::memcpy(to, &value, sizeof value);
}

inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// ---- errors ---------------------------------------------------------------------------------

/// The ABI wants the last error per thread, so this one variable is unavoidable.
inline thread_local char t_last_error[256] = "";

inline int fail(int status, const char* text) {
  std::snprintf(t_last_error, sizeof t_last_error, "%s", text);
  return status;
}

// ---- storage formats ------------------------------------------------------------------------

#if defined(__F16C__)
/// Eight f16 as the conversion instructions take them.
typedef short Halves __attribute__((vector_size(16)));
#endif

inline float float_of_bits(std::uint32_t bits) {
  return bit_cast<float>(bits);
}

inline float f32_from_bf16(std::uint16_t bits) {
  return float_of_bits(static_cast<std::uint32_t>(bits) << 16);
}
inline std::uint16_t bf16_from_f32(float value) {
  const auto bits = bit_cast<std::uint32_t>(value);
  const auto rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;  // to nearest even
  return static_cast<std::uint16_t>(value != value ? (bits >> 16) | 0x40u : rounded);
}

inline float f32_from_f16(std::uint16_t bits) {
#if defined(__F16C__)
  return __builtin_ia32_vcvtph2ps(Halves{static_cast<short>(bits)})[0];
#else
  // Exponent and mantissa moved into place, then the bias corrected by an exact multiplication,
  // which also normalises subnormals.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
  const float scaled = float_of_bits(magnitude) * float_of_bits(0x77800000u);  // 2^112
  std::uint32_t result = bit_cast<std::uint32_t>(scaled);
  if ((bits & 0x7c00u) == 0x7c00u) result |= 0x7f800000u;  // infinity and NaN
  return float_of_bits(result | static_cast<std::uint32_t>(bits & 0x8000u) << 16);
#endif
}
inline std::uint16_t f16_from_f32(float value) {
#if defined(__F16C__)
  typedef float Quad __attribute__((vector_size(16)));
  constexpr int k_to_nearest_even = 0;
  return static_cast<std::uint16_t>(__builtin_ia32_vcvtps2ph(Quad{value}, k_to_nearest_even)[0]);
#else
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;  // NaN
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;  // rounds to infinity
  } else if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 leaves the rounded mantissa in the low bits.
    half = bit_cast<std::uint32_t>(float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
#endif
}

/// to[0..count) = base[offset..offset+count) as f32, times `factor`.
inline void load_row(const void* base, std::int64_t offset, std::int64_t count, std::int32_t dtype,
                     float factor, float* __restrict to) {
  if (dtype == WB_F32) {
    const float* from = static_cast<const float*>(base) + offset;
    for (std::int64_t d = 0; d < count; ++d) to[d] = from[d] * factor;
    return;
  }
  const std::uint16_t* from = static_cast<const std::uint16_t*>(base) + offset;
  if (dtype == WB_BF16) {
    for (std::int64_t d = 0; d < count; ++d) to[d] = f32_from_bf16(from[d]) * factor;
    return;
  }
  std::int64_t d = 0;
#if defined(__F16C__)
  for (; d + 8 <= count; d += 8) {  // the compilers do not vectorise the conversion by themselves
    Halves halves;
    std::memcpy(&halves, from + d, sizeof halves);
    const auto floats = __builtin_ia32_vcvtph2ps256(halves) * factor;
    std::memcpy(to + d, &floats, sizeof floats);
  }
#endif
  for (; d < count; ++d) to[d] = f32_from_f16(from[d]) * factor;
}

/// base[offset..offset+count) = from[0..count) * factor, rounded to the dtype.
inline void store_row(void* base, std::int64_t offset, std::int64_t count, std::int32_t dtype,
                      float factor, const float* __restrict from) {
  if (dtype == WB_F32) {
    float* to = static_cast<float*>(base) + offset;
    for (std::int64_t d = 0; d < count; ++d) to[d] = from[d] * factor;
  } else if (dtype == WB_BF16) {
    std::uint16_t* to = static_cast<std::uint16_t*>(base) + offset;
    for (std::int64_t d = 0; d < count; ++d) to[d] = bf16_from_f32(from[d] * factor);
  } else {
    std::uint16_t* to = static_cast<std::uint16_t*>(base) + offset;
    for (std::int64_t d = 0; d < count; ++d) to[d] = f16_from_f32(from[d] * factor);
  }
}

// ---- arithmetic -----------------------------------------------------------------------------

/// e^x for x <= 0 (or -inf, which gives exactly 0), within one unit in the last place. Free of
/// branches and calls, so that loops over it are vectorised.
inline float exp_nonpositive(float x) {
  constexpr float k_log2_e = 1.44269504088896341f;
  constexpr float k_ln2_high = 0.693359375f, k_ln2_low = -2.12194440e-4f;
  constexpr float k_round = 12582912.0f;    // 1.5 * 2^23: adding it rounds to an integer
  constexpr float k_smallest = -87.33654f;  // e^x is subnormal below: flushed to 0
  const float clamped = x < k_smallest ? k_smallest : x;
  const float shifted = clamped * k_log2_e + k_round;
  const float n = shifted - k_round;
  const float r = (clamped - n * k_ln2_high) - n * k_ln2_low;  // |r| <= ln(2)/2
  float p = 1.381459879e-3f;  // fitted to (e^r - 1 - r) / r^2, worst relative error 3.1e-9
  p = p * r + 8.368716575e-3f;
  p = p * r + 4.166838899e-2f;
  p = p * r + 1.666652113e-1f;
  p = p * r + 4.999999404e-1f;
  p = p * r * r + r + 1.0f;
  const std::uint32_t power = bit_cast<std::uint32_t>(shifted) << 23;  // n in the exponent
  const float value = float_of_bits(bit_cast<std::uint32_t>(p) + power);
  return x < k_smallest ? 0.0f : value;
}

/// The sum over d of a[d] * b[d], in k_lanes partial sums.
inline float dot(const float* a, const float* b, std::int64_t count) {
  Vec sums{};
  std::int64_t d = 0;
  for (; d + k_lanes <= count; d += k_lanes) sums += load_vec(a + d) * load_vec(b + d);
  float sum = 0;
  for (int lane = 0; lane < k_lanes; ++lane) sum += sums[lane];
  for (; d < count; ++d) sum += a[d] * b[d];
  return sum;
}

// ---- the problem ----------------------------------------------------------------------------

/// What a kernel asks for when a plan is made.
struct Needs {
  std::int64_t scratch_floats = 0;  ///< per thread, from the workspace
  int max_threads = 1 << 10;
  std::int64_t shared_floats = 0;  ///< for all threads together, from the workspace
};

/// One call of wb_sdpa_forward.
struct Call {
  const wb_sdpa_problem& problem;
  const wb_sdpa_args& args;
  ThreadPool& pool;
  std::int64_t scratch_floats;

  /// Needs::shared_floats of the workspace: what one pass leaves for the next.
  [[nodiscard]] float* shared() const {
    return static_cast<float*>(args.workspace) + pool.size() * scratch_floats;
  }
  /// body(task, scratch) for every task, on args.threads threads; scratch is this thread's own.
  template <typename Body>
  void parallel(std::int64_t tasks, const Body& body) const {
    float* workspace = static_cast<float*>(args.workspace);
    pool.run(args.threads, tasks,
             [&](std::int64_t task, int slot) { body(task, workspace + slot * scratch_floats); });
  }
};

/// Element offset of [b, h, row, 0].
inline std::int64_t offset(const wb_strides& strides, std::int64_t b, std::int64_t h,
                           std::int64_t row) {
  return b * strides.batch + h * strides.head + row * strides.row;
}

inline std::int64_t kv_head(const wb_sdpa_problem& p, std::int64_t h) {
  return h / (p.heads_q / p.heads_kv);
}

/// Query row i sees keys [0, visible_keys) under the causal rule alone.
inline std::int64_t visible_keys(const wb_sdpa_problem& p, std::int64_t i) {
  if (p.causal == WB_CAUSAL_TOP_LEFT) return min(p.seq_kv, i + 1);
  if (p.causal == WB_CAUSAL_BOTTOM_RIGHT) {
    return clamp(i + 1 + p.seq_kv - p.seq_q, std::int64_t{0}, p.seq_kv);
  }
  return p.seq_kv;
}

/// scores[0..count) of keys [first_key, first_key + count): -inf where a bool mask says no, plus
/// the value of an additive mask (already in the scale of the scores).
inline void apply_mask(const Call& call, std::int64_t b, std::int64_t h, std::int64_t i,
                       std::int64_t first_key, std::int64_t count, float* scores) {
  const wb_sdpa_problem& p = call.problem;
  if (p.mask == WB_MASK_NONE) return;
  const std::int64_t at = offset(p.mask_strides, b, h, i) + first_key;
  if (p.mask == WB_MASK_BOOL) {
    const std::uint8_t* keep = static_cast<const std::uint8_t*>(call.args.mask) + at;
    for (std::int64_t j = 0; j < count; ++j) scores[j] = keep[j] ? scores[j] : k_minus_infinity;
    return;
  }
  float bias[64];
  for (std::int64_t j = 0; j < count; j += 64) {
    const std::int64_t n = min<std::int64_t>(64, count - j);
    load_row(call.args.mask, at + j, n, p.dtype, 1.0f, bias);
    for (std::int64_t t = 0; t < n; ++t) scores[j + t] += bias[t];
  }
}

/// Writes row i from its unnormalised sum `acc`, its maximum score and its sum of exponentials.
/// No key left: zeros and lse = -inf.
inline void finish_row(const Call& call, std::int64_t b, std::int64_t h, std::int64_t i,
                       const float* acc, float row_max, float row_sum) {
  const wb_sdpa_problem& p = call.problem;
  const bool empty = !(row_sum > 0.0f);
  store_row(call.args.out, offset(p.out, b, h, i), p.dim_v, p.dtype, empty ? 0.0f : 1.0f / row_sum,
            acc);
  if (call.args.lse != nullptr) {
    call.args.lse[(b * p.heads_q + h) * p.seq_q + i] =
        empty ? k_minus_infinity : row_max + __builtin_logf(row_sum);
  }
}

// ---- the ABI --------------------------------------------------------------------------------

inline int check_problem(const wb_sdpa_problem* p) {
  if (p == nullptr || p->struct_size < WB_SDPA_PROBLEM_V1_BYTES) {
    return fail(WB_FAILED, "wb_sdpa_problem is missing or shorter than any version's");
  }
  if (const char* beyond = wb_sdpa_beyond_dense_forward(p)) return fail(WB_UNSUPPORTED, beyond);
  if (p->dtype < WB_F32 || p->dtype > WB_BF16) return fail(WB_UNSUPPORTED, "unknown dtype");
  if (p->causal < WB_CAUSAL_NONE || p->causal > WB_CAUSAL_BOTTOM_RIGHT) {
    return fail(WB_UNSUPPORTED, "unknown causal kind");
  }
  if (p->mask < WB_MASK_NONE || p->mask > WB_MASK_ADDITIVE) {
    return fail(WB_UNSUPPORTED, "unknown mask kind");
  }
  for (const std::int64_t size :
       {p->batch, p->heads_q, p->heads_kv, p->seq_q, p->seq_kv, p->dim, p->dim_v}) {
    if (size < 1 || size > std::int64_t{1} << 31) return fail(WB_FAILED, "a size is out of range");
  }
  if (p->heads_q % p->heads_kv != 0) return fail(WB_FAILED, "heads_q is no multiple of heads_kv");
  if (!__builtin_isfinite(p->scale)) return fail(WB_FAILED, "the scale is not finite");
  return WB_OK;
}

inline int check_args(const wb_sdpa_problem& p, const wb_sdpa_args* args, bool needs_workspace) {
  if (args == nullptr || args->struct_size < WB_SDPA_ARGS_V1_BYTES) {
    return fail(WB_FAILED, "wb_sdpa_args is missing or shorter than any version's");
  }
  if (const char* beyond = wb_sdpa_args_beyond_dense_forward(args)) {
    return fail(WB_UNSUPPORTED, beyond);
  }
  if (args->q == nullptr || args->k == nullptr || args->v == nullptr || args->out == nullptr ||
      (p.mask != WB_MASK_NONE && args->mask == nullptr) ||
      (needs_workspace && args->workspace == nullptr) ||
      (p.want_lse != 0 && args->lse == nullptr)) {
    return fail(WB_FAILED, "a pointer is missing");
  }
  if (args->threads < 1) return fail(WB_FAILED, "threads is below 1");
  return WB_OK;
}

}  // namespace wb_cpu

struct wb_sdpa_plan {
  wb_sdpa_problem problem;
  std::int64_t scratch_floats;  ///< per thread, whole cache lines: threads never share one
  std::int64_t shared_floats;
  wb_cpu::ThreadPool pool;

  wb_sdpa_plan(const wb_sdpa_problem& p, const wb_cpu::Needs& needs)
      : problem(p),
        scratch_floats(wb_cpu::round_up(needs.scratch_floats, wb_cpu::k_cache_line_floats)),
        shared_floats(needs.shared_floats),
        pool(wb_cpu::min(wb_cpu::allowed_cpus(), wb_cpu::max(1, needs.max_threads))) {}
};

/// The body of wb_sdpa_plan_create. A plan that would need more than 256 GiB is refused.
inline int wb_cpu_make_plan(const wb_sdpa_problem* problem,
                            wb_cpu::Needs (*needs_of)(const wb_sdpa_problem&),
                            wb_sdpa_plan** plan) {
  if (plan == nullptr) return wb_cpu::fail(WB_FAILED, "plan is NULL");
  *plan = nullptr;
  if (const int status = wb_cpu::check_problem(problem); status != WB_OK) return status;
  const wb_sdpa_problem whole = wb_sdpa_whole_problem(problem);
  const wb_cpu::Needs needs = needs_of(whole);
  constexpr std::int64_t k_most = std::int64_t{1} << 36;
  if (needs.scratch_floats < 0 || needs.scratch_floats > k_most || needs.shared_floats < 0 ||
      needs.shared_floats > k_most) {
    return wb_cpu::fail(WB_UNSUPPORTED, "the problem needs too large a workspace");
  }
  auto* made = new (std::nothrow) wb_sdpa_plan(whole, needs);
  if (made == nullptr) return wb_cpu::fail(WB_FAILED, "out of memory");
  if (!made->pool.complete()) {
    delete made;
    return wb_cpu::fail(WB_FAILED, "the system refuses a thread");
  }
  *plan = made;
  return WB_OK;
}

/// The body of wb_sdpa_forward.
inline int wb_cpu_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args,
                          void (*forward)(const wb_cpu::Call&)) {
  if (plan == nullptr) return wb_cpu::fail(WB_FAILED, "plan is NULL");
  const int status =
      wb_cpu::check_args(plan->problem, args, plan->scratch_floats > 0 || plan->shared_floats > 0);
  if (status != WB_OK) return status;
  forward(wb_cpu::Call{plan->problem, *args, plan->pool, plan->scratch_floats});
  return WB_OK;
}

/// Defines the functions of sdpa_abi.h around `Needs needs_of(const wb_sdpa_problem&)` and
/// `void forward(const Call&)`.
#define WB_CPU_KERNEL(needs_of, forward)                                                       \
  extern "C" int wb_sdpa_plan_create(const wb_sdpa_problem* problem, wb_sdpa_plan** plan) {    \
    return wb_cpu_make_plan(problem, needs_of, plan);                                          \
  }                                                                                            \
  extern "C" size_t wb_sdpa_workspace_bytes(const wb_sdpa_plan* plan) {                        \
    return sizeof(float) * static_cast<std::size_t>(plan->scratch_floats * plan->pool.size() + \
                                                    plan->shared_floats);                      \
  }                                                                                            \
  extern "C" int wb_sdpa_forward(wb_sdpa_plan* plan, const wb_sdpa_args* args) {               \
    return wb_cpu_forward(plan, args, forward);                                                \
  }                                                                                            \
  extern "C" void wb_sdpa_plan_destroy(wb_sdpa_plan* plan) {                                   \
    delete plan;                                                                               \
  }                                                                                            \
  extern "C" const char* wb_sdpa_last_error(void) {                                            \
    return wb_cpu::t_last_error;                                                               \
  }                                                                                            \
  extern "C" const char* wb_sdpa_build_id(void) {                                              \
    return WB_BUILD_ID;                                                                        \
  }
