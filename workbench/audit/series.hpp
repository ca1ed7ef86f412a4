// SPDX-License-Identifier: MIT
// Private to audit: table rows with a shape and a time, and words for scaling. Used by the checks
// of scaling.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "audit/facts.hpp"

namespace wb::audit {

inline constexpr double k_linear = 0.15;  ///< exponents this near to 1 are called linear

struct Growth {
  double work = 1, time = 1;
  [[nodiscard]] double exponent() const;
};

/// A time column and the rows that have a shape and a time.
struct Series {
  const TableFacts* table;
  std::size_t time;
  std::vector<std::size_t> rows;
};
/// From tables in which at least two rows have both.
std::vector<Series> series_of(const Facts& facts);
double time_at(const Series& series, std::size_t row);
Growth growth(const Series& series, std::size_t from, std::size_t to);

struct Size {
  std::string_view word;
  double Shape::*member;
};
inline constexpr std::array<Size, 4> k_sizes{{{"batch", &Shape::batch},
                                              {"heads", &Shape::heads},
                                              {"sequence", &Shape::sequence},
                                              {"dim", &Shape::dim}}};

/// Sizes that differ between two shapes: "B 1 -> 8, H 8 -> 16".
std::string differences(const Shape& a, const Shape& b);
/// "near-linear", "sub-linear", "super-linear".
std::string kind_of(double exponent);
/// The scaling word that a text uses, or "linear"; empty for none. `lower` in lower case.
std::string word_in(const std::string& lower);
bool word_fits(const std::string& word, double exponent);

}  // namespace wb::audit
