// SPDX-License-Identifier: MIT
#include "problem/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace wb::problem {
namespace {

Error rule_broken(const Problem& problem, std::string cause, std::string next) {
  std::string subject =
      problem.name.empty() ? to_text(problem) : fmt::format("\"{}\"", printable(problem.name));
  return Error{ErrorCode::invalid, "use the problem", std::move(subject), std::move(cause),
               std::move(next)};
}

/// Number of queries that see a key under the causal rule alone.
std::int64_t seeing_rows(const Problem& problem) {
  if (problem.causal != Causal::bottom_right) return problem.Sq;
  return std::min(problem.Sq, problem.Skv);
}

/// Sum of visible_keys over the rows of one (b, h), in closed form.
double visible_pairs_per_head(const Problem& problem) {
  const auto rows = static_cast<double>(seeing_rows(problem));
  const auto keys = static_cast<double>(problem.Skv);
  if (problem.causal == Causal::none) return rows * keys;
  // The last `rows` queries see first, first + 1, ... keys, capped at Skv.
  const std::int64_t first = visible_keys(problem, problem.Sq - seeing_rows(problem));
  const auto start = static_cast<double>(first);
  const double rising = std::min(rows, keys - start + 1);
  return rising * start + rising * (rising - 1) / 2 + (rows - rising) * keys;
}

double share_kept(const Problem& problem) {
  switch (problem.mask) {
    case MaskKind::none:
      return 1.0;
    case MaskKind::boolean:
      return problem.keep_frac;
    case MaskKind::additive:
      // Finite minima mask nothing.
      return problem.mask_values == MaskValues::drawn ? k_additive_keep_frac : 1.0;
  }
  throw std::logic_error("a MaskKind outside its enumeration");
}

/// Expected number of keys that some row uses: all visible ones without a mask; with a mask, a key
/// is unused only if every row that may see it rejects it.
double used_keys(const Problem& problem) {
  const std::int64_t visible = visible_keys(problem, problem.Sq - 1);
  if (problem.mask == MaskKind::none) return static_cast<double>(visible);
  const std::int64_t shift = problem.causal == Causal::bottom_right ? problem.Skv - problem.Sq : 0;
  const double reject = 1.0 - share_kept(problem);
  double used = 0;
  for (std::int64_t key = 0; key < visible; ++key) {
    const std::int64_t first_row =
        problem.causal == Causal::none ? 0 : std::max<std::int64_t>(0, key - shift);
    used += 1.0 - std::pow(reject, static_cast<double>(problem.Sq - first_row));
  }
  return used;
}

}  // namespace

std::string_view to_string(Causal value) {
  switch (value) {
    case Causal::none:
      return "none";
    case Causal::top_left:
      return "top_left";
    case Causal::bottom_right:
      return "bottom_right";
  }
  throw std::logic_error("a Causal outside its enumeration");
}

std::string_view to_string(MaskKind value) {
  switch (value) {
    case MaskKind::none:
      return "none";
    case MaskKind::boolean:
      return "bool";
    case MaskKind::additive:
      return "additive";
  }
  throw std::logic_error("a MaskKind outside its enumeration");
}

std::string_view to_string(Layout value) {
  switch (value) {
    case Layout::bhsd:
      return "BHSD";
    case Layout::bshd:
      return "BSHD";
  }
  throw std::logic_error("a Layout outside its enumeration");
}

std::string_view to_string(MaskValues value) {
  switch (value) {
    case MaskValues::drawn:
      return "drawn";
    case MaskValues::finite_min:
      return "finite_min";
  }
  throw std::logic_error("a MaskValues outside its enumeration");
}

std::optional<Causal> parse_causal(std::string_view word) {
  for (const Causal value : {Causal::none, Causal::top_left, Causal::bottom_right}) {
    if (word == to_string(value)) return value;
  }
  return std::nullopt;
}

std::optional<MaskKind> parse_mask_kind(std::string_view word) {
  for (const MaskKind value : {MaskKind::none, MaskKind::boolean, MaskKind::additive}) {
    if (word == to_string(value)) return value;
  }
  return std::nullopt;
}

std::optional<Layout> parse_layout(std::string_view word) {
  for (const Layout value : {Layout::bhsd, Layout::bshd}) {
    if (word == to_string(value)) return value;
  }
  return std::nullopt;
}

std::optional<MaskValues> parse_mask_values(std::string_view word) {
  for (const MaskValues value : {MaskValues::drawn, MaskValues::finite_min}) {
    if (word == to_string(value)) return value;
  }
  return std::nullopt;
}

Layout k_layout(const Problem& problem) {
  return problem.k_layout.value_or(problem.layout);
}

Layout v_layout(const Problem& problem) {
  return problem.v_layout.value_or(problem.layout);
}

void set_layouts(Problem& problem, Layout q, Layout k, Layout v) {
  problem.layout = q;
  problem.k_layout = k == q ? std::nullopt : std::optional(k);
  problem.v_layout = v == q ? std::nullopt : std::optional(v);
}

bool has_one_layout(const Problem& problem) {
  return k_layout(problem) == problem.layout && v_layout(problem) == problem.layout;
}

double default_scale(std::int64_t head_dim) {
  return 1.0 / std::sqrt(static_cast<double>(head_dim));
}

double effective_scale(const Problem& problem) {
  return problem.scale.value_or(default_scale(problem.D));
}

std::string label(const Problem& problem) {
  return problem.name.empty() ? to_text(problem) : problem.name;
}

Result<void> validate(const Problem& p) {
  struct Size {
    const char* name;
    std::int64_t value;
  };
  const std::array<Size, 7> sizes{{{"B", p.B},
                                   {"Hq", p.Hq},
                                   {"Hkv", p.Hkv},
                                   {"Sq", p.Sq},
                                   {"Skv", p.Skv},
                                   {"D", p.D},
                                   {"Dv", p.Dv}}};
  for (const Size& size : sizes) {
    if (!(size.value >= 1 && size.value <= k_max_size)) {
      return rule_broken(p, fmt::format("{} is {}", size.name, size.value),
                         fmt::format("every size is from 1 to {}", k_max_size));
    }
  }
  if (p.Hq % p.Hkv != 0) {
    return rule_broken(p, fmt::format("Hq {} is not a multiple of Hkv {}", p.Hq, p.Hkv),
                       "each key/value head serves Hq / Hkv query heads");
  }
  if (p.scale && !(std::abs(*p.scale) <= k_max_scale)) {
    return rule_broken(p, fmt::format("scale is {}", *p.scale),
                       fmt::format("give a finite number, at most {} in magnitude", k_max_scale));
  }
  if (!(p.keep_frac > 0.0 && p.keep_frac <= 1.0)) {
    return rule_broken(p, fmt::format("keep_frac is {}", p.keep_frac),
                       "give the share of true elements, above 0 and at most 1");
  }
  if (p.mask != MaskKind::boolean && p.keep_frac != 1.0) {
    return rule_broken(p, fmt::format("keep_frac {} without a bool mask", p.keep_frac),
                       "only a bool mask has one");
  }
  if (p.mask != MaskKind::additive && p.mask_values != MaskValues::drawn) {
    return rule_broken(
        p, fmt::format("mask values {} without an additive mask", to_string(p.mask_values)),
        "only an additive mask has other values than its own");
  }
  const auto element = static_cast<double>(size_bytes(p.dtype));
  const auto bytes = [&](std::int64_t heads, std::int64_t rows, std::int64_t width) {
    return static_cast<double>(p.B) * static_cast<double>(heads) * static_cast<double>(rows) *
           static_cast<double>(width) * element;
  };
  const double mask_bytes = p.mask == MaskKind::none ? 0 : bytes(1, p.Sq, p.Skv);
  const double largest = std::max({bytes(p.Hq, p.Sq, std::max(p.D, p.Dv)),
                                   bytes(p.Hkv, p.Skv, std::max(p.D, p.Dv)), mask_bytes});
  if (!(largest <= k_max_tensor_bytes)) {
    return rule_broken(p, fmt::format("its largest tensor has {:.3g} bytes", largest),
                       "the limit is 2^40 bytes");
  }
  return {};
}

std::int64_t visible_keys(const Problem& problem, std::int64_t row) {
  switch (problem.causal) {
    case Causal::none:
      return problem.Skv;
    case Causal::top_left:
      return std::min(row + 1, problem.Skv);
    case Causal::bottom_right:
      return std::clamp<std::int64_t>(row + 1 + problem.Skv - problem.Sq, 0, problem.Skv);
  }
  throw std::logic_error("a Causal outside its enumeration");
}

double expected_rows_without_keys(const Problem& problem) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const std::int64_t seeing = seeing_rows(problem);
  double rows = real(problem.Sq - seeing);
  const double keep = share_kept(problem);
  if (keep < 1.0) {
    // A row that may see n keys sees none with probability (1 - keep)^n = exp(n * log_reject).
    const double log_reject = std::log1p(-keep);
    double full = real(seeing);  // rows that may see every key
    if (problem.causal != Causal::none) {
      // As in visible_pairs_per_head: first, first + 1, ... keys, then all: a geometric series.
      const double first = real(visible_keys(problem, problem.Sq - seeing));
      const double rising = std::min(full, real(problem.Skv) - first + 1);
      rows +=
          std::exp(first * log_reject) * std::expm1(rising * log_reject) / std::expm1(log_reject);
      full -= rising;
    }
    rows += full * std::exp(real(problem.Skv) * log_reject);
  }
  return real(problem.B) * rows;
}

Work work(const Problem& problem, std::optional<double> kept_pairs_of_drawn_mask) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const double visible = visible_pairs_per_head(problem);
  Work result;
  result.kept_pairs = kept_pairs_of_drawn_mask.value_or(visible * share_kept(problem) *
                                                        real(problem.B) * real(problem.Hq));
  result.flops = 2.0 * real(problem.D + problem.Dv) * result.kept_pairs;

  const double element = real(size_bytes(problem.dtype));
  const double q = real(problem.Hq) * real(seeing_rows(problem)) * real(problem.D);
  const double kv = real(problem.Hkv) * used_keys(problem) * real(problem.D + problem.Dv);
  const double out = real(problem.Hq) * real(problem.Sq) * real(problem.Dv);
  const double mask_element = problem.mask == MaskKind::none      ? 0.0
                              : problem.mask == MaskKind::boolean ? 1.0
                                                                  : element;
  result.min_bytes = real(problem.B) * ((q + kv + out) * element + visible * mask_element);
  return result;
}

}  // namespace wb::problem
