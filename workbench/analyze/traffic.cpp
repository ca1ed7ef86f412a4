// SPDX-License-Identifier: MIT
#include "analyze/traffic.hpp"

#include <algorithm>

namespace wb::analyze {

using problem::Problem;

namespace {

constexpr double k_softmax_flops = 5;  // per score

double real(std::int64_t value) {
  return static_cast<double>(value);
}

double element_bytes(const Problem& problem) {
  return real(static_cast<std::int64_t>(size_bytes(problem.dtype)));
}

/// The number of keys that any row sees: the last row's, since causal rules let later rows see
/// more.
std::int64_t seen_keys(const Problem& problem) {
  return problem::visible_keys(problem, problem.Sq - 1);
}

double query_heads(const Problem& problem) {
  return real(problem.B) * real(problem.Hq);
}

}  // namespace

std::array<PhaseWork, 3> phase_work(const Problem& problem) {
  const double element = element_bytes(problem);
  const double rows = query_heads(problem) * real(problem.Sq);
  const double pairs = problem::work(problem).kept_pairs;
  const double keys = real(problem.B) * real(problem.Hkv) * real(seen_keys(problem));
  const auto in = [&](double elements) { return elements * element; };
  return {{{"QK^T", 2 * real(problem.D) * pairs,
            in(rows * real(problem.D) + keys * real(problem.D) + pairs)},
           {"softmax", k_softmax_flops * pairs, in(2 * pairs)},
           {"PV", 2 * real(problem.Dv) * pairs,
            in(pairs + keys * real(problem.Dv) + rows * real(problem.Dv))}}};
}

double kv_bytes_of_head(const Problem& problem) {
  return real(seen_keys(problem)) * real(problem.D + problem.Dv) * element_bytes(problem);
}

double kv_bytes(const Problem& problem) {
  return real(problem.B) * real(problem.Hkv) * kv_bytes_of_head(problem);
}

double kv_requested_bytes(const Problem& problem, std::int64_t rows) {
  double keys = 0;  // of one query head
  if (problem.causal == problem::Causal::none) {
    keys = real((problem.Sq + rows - 1) / rows) * real(problem.Skv);
  } else {
    for (std::int64_t first = 0; first < problem.Sq; first += rows) {
      keys += real(problem::visible_keys(problem, std::min(first + rows, problem.Sq) - 1));
    }
  }
  return query_heads(problem) * keys * real(problem.D + problem.Dv) * element_bytes(problem);
}

double tensor_bytes(const Problem& problem) {
  const double element = element_bytes(problem);
  const double heads = query_heads(problem);
  const double pairs = real(problem.Sq) * real(problem.Skv);
  const double mask = problem.mask == problem::MaskKind::none ? 0
                      : problem.mask == problem::MaskKind::boolean
                          ? real(problem.B) * pairs
                          : real(problem.B) * pairs * element;
  return element * (heads * real(problem.Sq) * real(problem.D + problem.Dv) +
                    real(problem.B) * real(problem.Hkv) * real(problem.Skv) *
                        real(problem.D + problem.Dv)) +
         mask;
}

}  // namespace wb::analyze
