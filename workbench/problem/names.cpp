// SPDX-License-Identifier: MIT
#include "problem/names.hpp"

#include <fmt/format.h>

#include "problem/problem.hpp"

namespace wb::problem {
namespace {

/// Longer text cannot be a problem and is not searched.
constexpr std::size_t k_max_name_bytes = 200;

std::optional<Problem> parsed_name(std::string_view text) {
  if (text.size() > k_max_name_bytes || text.find("Hq=") == std::string_view::npos) {
    return std::nullopt;
  }
  auto problem = parse_problem(text);
  return problem ? std::optional(*std::move(problem)) : std::nullopt;
}

std::string pair_or_one(std::int64_t first, std::string_view between, std::int64_t second) {
  return first == second ? fmt::format("{}", first) : fmt::format("{}{}{}", first, between, second);
}

}  // namespace

std::string short_name(std::string_view text) {
  const auto problem = parsed_name(text);
  if (!problem) return std::string(text);
  std::string out =
      fmt::format("B{}_H{}_S{}_D{}_{}", problem->B, pair_or_one(problem->Hq, "kv", problem->Hkv),
                  pair_or_one(problem->Sq, "x", problem->Skv),
                  pair_or_one(problem->D, "v", problem->Dv), to_string(problem->dtype));
  if (problem->causal == Causal::top_left) out += "_causal";
  if (problem->causal == Causal::bottom_right) out += "_causal_br";
  if (problem->mask == MaskKind::boolean) out += fmt::format("_mask{:g}", problem->keep_frac);
  if (problem->mask == MaskKind::additive) out += "_bias";
  if (problem->mask_values == MaskValues::finite_min) out += "_min";
  if (!has_one_layout(*problem)) {
    out += "_mixed";
  } else if (problem->layout == Layout::bshd) {
    out += "_bshd";
  }
  if (problem->scale) out += fmt::format("_scale{:g}", *problem->scale);
  return out;
}

std::optional<std::int64_t> output_elements(std::string_view text) {
  const auto problem = parsed_name(text);
  if (!problem) return std::nullopt;
  return problem->B * problem->Hq * problem->Sq * problem->Dv;
}

}  // namespace wb::problem
