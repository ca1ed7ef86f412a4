// SPDX-License-Identifier: MIT
// A register's values over the 32 lanes of a warp: a common part, known or unknown, and each lane's
// difference from the first. Private to analyze.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace wb::analyze {

/// value(lane) = base + lanes[lane], with lanes[0] = 0. The base is a constant, or an unknown
/// multiple of `align`.
struct LaneValue {
  std::array<std::int64_t, 32> lanes{};
  std::optional<std::int64_t> base;
  std::int64_t align = 1;  ///< a power of two; for a known base the largest that divides it

  friend bool operator==(const LaneValue&, const LaneValue&) = default;
};
using Known = std::optional<LaneValue>;

inline constexpr std::int64_t k_most_align = std::int64_t{1} << 40;
inline constexpr std::int64_t k_most_lane = std::int64_t{1} << 31;

inline std::int64_t align_of(std::int64_t value) {
  return value == 0 ? k_most_align : std::min(k_most_align, value & -value);
}

inline LaneValue constant(std::int64_t value) {
  return {{}, value, align_of(value)};
}

/// Equal in all lanes, otherwise unknown.
inline LaneValue uniform() {
  return {{}, std::nullopt, 1};
}

/// threadIdx.x: a multiple of 32 plus the lane.
inline LaneValue lane_index() {
  LaneValue value{{}, std::nullopt, 32};
  for (std::size_t lane = 0; lane < value.lanes.size(); ++lane) {
    value.lanes[lane] = static_cast<std::int64_t>(lane);
  }
  return value;
}

inline Known checked(LaneValue value) {
  for (const std::int64_t lane : value.lanes) {
    if (lane > k_most_lane || lane < -k_most_lane) return std::nullopt;
  }
  if (value.base && (*value.base > k_most_lane || *value.base < -k_most_lane)) {
    value.base.reset();
    value.align = 1;
  }
  return value;
}

inline Known sum(const Known& a, const Known& b) {
  if (!a || !b) return std::nullopt;
  LaneValue value;
  for (std::size_t i = 0; i < value.lanes.size(); ++i) value.lanes[i] = a->lanes[i] + b->lanes[i];
  if (a->base && b->base) {
    value = {value.lanes, *a->base + *b->base, align_of(*a->base + *b->base)};
  } else {
    value.align = std::min(a->align, b->align);
  }
  return checked(value);
}

/// A product with a known factor.
inline Known product(const Known& a, std::int64_t factor) {
  if (!a || factor > k_most_lane || factor < -k_most_lane) return std::nullopt;
  LaneValue value;
  for (std::size_t i = 0; i < value.lanes.size(); ++i) value.lanes[i] = a->lanes[i] * factor;
  if (a->base) {
    value = {value.lanes, *a->base * factor, align_of(*a->base * factor)};
  } else {
    value.align = factor == 0 ? k_most_align : std::min(k_most_align, a->align * align_of(factor));
    if (factor == 0) value.base = 0;
  }
  return checked(value);
}

/// Applies `change` to each lane's value; `change` must not depend on bits above the lanes' own, so
/// that an unknown base stays separate. `base_after`: the base's alignment afterwards; 0: the base
/// is dropped.
template <typename Change>
Known changed(const Known& a, const Change& change, std::int64_t base_after) {
  if (!a) return std::nullopt;
  LaneValue value;
  std::array<std::int64_t, 32> whole{};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::int64_t own = a->base.value_or(0) + a->lanes[i];
    if (own < 0 || (!a->base && own >= a->align)) return std::nullopt;
    whole[i] = change(own);
  }
  for (std::size_t i = 0; i < whole.size(); ++i) value.lanes[i] = whole[i] - whole[0];
  if (a->base || base_after == 0) {
    value.base = whole[0];
    value.align = align_of(whole[0]);
  } else {
    value.align = std::min(base_after, align_of(whole[0]));
  }
  return checked(value);
}

/// The value where two control-flow paths join.
inline Known meet(const Known& a, const Known& b) {
  if (!a || !b || a->lanes != b->lanes) return std::nullopt;
  if (a->base == b->base) return a->align < b->align ? a : b;
  return LaneValue{a->lanes, std::nullopt, std::min(a->align, b->align)};
}

}  // namespace wb::analyze
