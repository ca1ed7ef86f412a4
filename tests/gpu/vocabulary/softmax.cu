// SPDX-License-Identifier: MIT
// online_softmax.cuh on one warpgroup, step after step, against the same in f64. Would be seen: a
// maximum that misses a value or takes a negative one for large (the maximum of three integers), a
// path taken where a running maximum is negative, NaN from rows without a key, a sum that is not
// rescaled, probabilities packed in another order, a mask off by one.
#include "gpu/vocabulary/vocabulary.cuh"
#include "sm90/online_softmax.cuh"

#include <algorithm>
#include <cfloat>

namespace wb::testing::vocabulary {

namespace {

constexpr int k_groups = 16, k_keys = 8 * k_groups, k_steps = 5, k_rows = 64;

enum Kind { plain, by_threes, masked, half_step };

struct Problem {
  int seq_q, seq_kv, causal_offset, first_row;
  float scale_log2;
};

// What the kernel tells, of a step and of the end.
struct Told {
  float* p;           // [step][row][key], from the packed 16-bit probabilities
  float* alpha;       // [step][row]
  float* m;           // [step][row]
  int* non_negative;  // [step][warp]
  float* l;           // [row], summed
  float* o;           // [row]: the sums of p with the factors that O gets
  int* limits;        // keys, least_limit, then limit of each row
};

template <int Which>
__global__ void __launch_bounds__(128) softmax_kernel(Problem p, const float* scores, Told told) {
  const int thread = threadIdx.x, lane = thread % 32, pair = lane % 4;
  const int row = thread / 32 * 16 + lane / 4;
  RowState r = init_rows(p, p.first_row, thread);
  if (thread == 0) {
    told.limits[0] = r.keys;
    told.limits[1] = r.least_limit;
  }
  float o[2][4];
  clear(o);
  for (int step = 0; step < k_steps; ++step) {
    float s[k_groups][4];
    for (int n = 0; n < k_groups; ++n) {
      for (int c = 0; c < 4; ++c) {
        s[n][c] = scores[(step * k_rows + row + c / 2 * 8) * k_keys + 8 * n + 2 * pair + c % 2];
      }
    }
    const int first_key = step * k_keys;
    if (first_key + k_keys - 1 > r.least_limit) mask_scores(s, r, first_key, lane);
    if (Which == plain) softmax<k_groups>(s, r, p.scale_log2);
    if (Which == by_threes) softmax_by_threes<k_groups>(s, r, p.scale_log2);
    if (Which == masked) softmax_masked(s, r);
    if (Which == half_step) {
      softmax<k_groups / 2>(s, r, p.scale_log2);
      for (int n = k_groups / 2; n < k_groups; ++n) {
        for (int c = 0; c < 4; ++c) s[n][c] = 0.0f;
      }
    }
    rescale(o, r.alpha);
    uint32_t prob[k_groups / 2][4];
    pack_probabilities<__half>(prob, s);
    for (int ks = 0; ks < k_groups / 2; ++ks) {
      for (int i = 0; i < 4; ++i) {
        const float2 two = __half22float2(*reinterpret_cast<const __half2*>(&prob[ks][i]));
        float* to =
            told.p + (step * k_rows + row + i % 2 * 8) * k_keys + 16 * ks + i / 2 * 8 + 2 * pair;
        to[0] = two.x;
        to[1] = two.y;
      }
    }
    for (int n = 0; n < k_groups; ++n) {
      for (int c = 0; c < 4; ++c) o[n % 2][c] += s[n][c];
    }
    for (int half = 0; half < 2 && pair == 0; ++half) {
      told.alpha[step * k_rows + row + 8 * half] = r.alpha[half];
      told.m[step * k_rows + row + 8 * half] = r.m[half];
    }
    if (lane == 0) told.non_negative[step * 4 + thread / 32] = r.no_negatives ? 1 : 0;
  }
  reduce_row_sums(r);
  for (int half = 0; half < 2; ++half) {
    float sum = 0.0f;
    for (int n = 0; n < 2; ++n) sum += o[n][2 * half] + o[n][2 * half + 1];
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (pair != 0) continue;
    told.l[row + 8 * half] = r.l[half];
    told.o[row + 8 * half] = sum;
    told.limits[2 + row + 8 * half] = r.limit[half];
  }
}

// Warp 0: maxima positive from the first step on, then only negative ones and -inf, then larger
// ones. Warp 1: never a positive one, more and less negative. Warp 2: rows without a key at first,
// then zeros, positive ones, nothing. Warp 3: everything; one row starts with -0, one with the
// least number of its type where a mask was added (`natural`; only there is that allowed).
float score_at(int step, int row, int key, bool natural) {
  const uint32_t index = uint32_t((step * k_rows + row) * k_keys + key);
  const float x = number_of(index, 4000) / 400.0f, size = std::fabs(x) + 0.01f;
  switch (row / 16) {
    case 0:
      if (step == 1) return key % 5 == row % 5 ? -INFINITY : -size * 100.0f;
      if (step == 2 && row % 2 == 0) return -INFINITY;
      if (step == 3) return x + 3.0f * float(row % 3);
      return x;
    case 1:
      return key % 7 == 3 ? -INFINITY : -size - float((step * 7 + row) % 11);
    case 2:
      if (step == 0) return row % 2 == 0 ? -INFINITY : -size;
      if (step == 1) return key == row ? 0.0f : -size;
      if (step == 3) return -INFINITY;
      return x * 2.0f;
    default:
      if (step == 0 && row == 50) return key == 77 ? -0.0f : -size;
      if (step == 0 && row == 51) return natural ? -FLT_MAX : -20.0f;
      return key % 9 == step ? -INFINITY : x;
  }
}

struct Wanted {
  std::vector<float> p, alpha, m, l, o;
  std::vector<int> non_negative, limits;
};

Wanted compute(const Problem& p, const std::vector<float>& scores, bool natural, int used) {
  Wanted w;
  w.p.resize(k_steps * k_rows * k_keys);
  w.alpha.resize(k_steps * k_rows);
  w.m.resize(k_steps * k_rows);
  w.l.resize(k_rows);
  w.o.resize(k_rows);
  w.non_negative.assign(k_steps * 4, 1);
  const int last = std::min(p.first_row + 63, p.seq_q - 1);
  w.limits = {std::max(0, std::min(p.seq_kv, last + p.causal_offset + 1)),
              std::min(p.seq_kv - 1, p.first_row + p.causal_offset)};
  const double scale = natural ? 1.4426950408889634 : double(p.scale_log2);
  for (int row = 0; row < k_rows; ++row) {
    const int limit = std::min(p.seq_kv - 1, p.first_row + row + p.causal_offset);
    w.limits.push_back(limit);
    float m = -INFINITY;
    double l = 0.0;
    for (int step = 0; step < k_steps; ++step) {
      const float* s = scores.data() + (step * k_rows + row) * k_keys;
      float top = m;
      for (int key = 0; key < used; ++key) {
        if (step * k_keys + key <= limit) top = std::fmax(top, s[key]);
      }
      const double alpha =
          std::isinf(top) || std::isinf(m) ? 0.0 : std::exp2((double(m) - top) * scale);
      m = top;
      l *= alpha;
      for (int key = 0; key < used; ++key) {
        const bool seen = step * k_keys + key <= limit && !std::isinf(s[key]);
        const double x = seen ? std::exp2((double(s[key]) - m) * scale) : 0.0;
        w.p[(step * k_rows + row) * k_keys + key] = float(x);
        l += x;
      }
      w.alpha[step * k_rows + row] = float(alpha);
      w.m[step * k_rows + row] = m;
      if (std::signbit(m)) w.non_negative[step * 4 + row / 16] = 0;
    }
    w.l[row] = w.o[row] = float(l);
  }
  return w;
}

template <int Which>
std::string softmax_of(const Problem& problem) {
  std::vector<float> scores(k_steps * k_rows * k_keys);
  for (int i = 0; i < k_steps * k_rows * k_keys; ++i) {
    scores[i] = score_at(i / (k_rows * k_keys), i / k_keys % k_rows, i % k_keys, Which == masked);
  }
  const DeviceArray<float> in(scores), p(scores.size()), alpha(k_steps * k_rows);
  const DeviceArray<float> m(k_steps * k_rows), l(k_rows), o(k_rows);
  const DeviceArray<int> non_negative(k_steps * 4), limits(2 + k_rows);
  run("softmax", softmax_kernel<Which>, 1, 128, 0, 1, problem, in.data(),
      Told{p.data(), alpha.data(), m.data(), non_negative.data(), l.data(), o.data(),
           limits.data()});
  const Wanted w =
      compute(problem, scores, Which == masked, Which == half_step ? k_keys / 2 : k_keys);
  const std::string what = "offset " + std::to_string(problem.causal_offset) + ", ";
  std::vector<std::string> faults = {
      difference(what + "limits", limits.host(), w.limits, w.limits.size()),
      difference(what + "maxima of a step", m.host(), w.m, k_rows),
      difference(what + "probabilities", p.host(), w.p, k_keys, 1e-6, 0x1p-10),
      difference(what + "factors", alpha.host(), w.alpha, k_rows, 1e-30, 1e-4),
      difference(what + "sums", l.host(), w.l, 1, 1e-30, 1e-4),
      difference(what + "sums as O has them", o.host(), w.o, 1, 1e-30, 1e-4)};
  if (Which == by_threes) {
    faults.push_back(
        difference(what + "warps without negative maxima", non_negative.host(), w.non_negative, 4));
  }
  for (const std::string& fault : faults) {
    if (!fault.empty()) return fault;
  }
  return {};
}

// No mask; a causal limit that lies in the second and third step of the tile; one that takes all
// keys from its first rows; the last rows behind the queries, the last step behind the keys.
template <int Which>
std::string softmax_of_problems() {
  const Problem problems[] = {{128, 1000, 1000, 64, 0.18f},
                              {1000, 600, 150, 64, 0.0883883f * 1.44269504f},
                              {100, 300, -70, 64, 1.0f},
                              {100, 520, 600, 64, 0.3f}};
  for (const Problem& problem : problems) {
    const std::string fault = softmax_of<Which>(problem);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace

std::string softmax_over_steps() {
  return softmax_of_problems<plain>();
}

std::string softmax_by_threes_over_steps() {
  return softmax_of_problems<by_threes>();
}

std::string softmax_of_masked_scores() {
  return softmax_of_problems<masked>();
}

std::string softmax_of_half_a_step() {
  return softmax_of_problems<half_step>();
}

}  // namespace wb::testing::vocabulary
