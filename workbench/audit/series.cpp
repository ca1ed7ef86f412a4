// SPDX-License-Identifier: MIT
#include "audit/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wb::audit {

double Growth::exponent() const {
  return std::log(time) / std::log(work);
}

std::string kind_of(double exponent) {
  if (std::abs(exponent - 1) <= k_linear) return "near-linear";
  return exponent < 1 ? "sub-linear" : "super-linear";
}

namespace {

/// Whether the document is about attention ("attention", "SDPA"), so that work grows with the
/// square of a lone size ("n").
bool speaks_of_attention(const Document& document) {
  return std::any_of(document.lines.begin(), document.lines.end(), [](const Line& line) {
    return line.lower.find("attention") != std::string::npos || has_word(line.lower, "sdpa");
  });
}

/// Whether the columns hold two sizes of an attention problem, so that their letters are clear.
bool tells_sizes(const TableFacts& table) {
  std::size_t roles = 0;
  for (const Role role : {Role::batch, Role::heads, Role::sequence, Role::dim}) {
    roles += table.of(role).empty() ? 0 : 1;
  }
  return roles > 1 || !table.of(Role::shape).empty();
}

}  // namespace

std::vector<Series> series_of(const Facts& facts) {
  std::vector<Series> found;
  const bool attention = speaks_of_attention(facts.document);
  for (const TableFacts& table : facts.tables) {
    if (!table.has_shapes || (!attention && !tells_sizes(table))) continue;
    for (const std::size_t time : table.of(Role::time)) {
      Series series{&table, time, {}};
      for (std::size_t n = 0; n < table.table->rows.size(); ++n) {
        const auto figure = table.figure(table.table->rows[n], time);
        const bool first = series.rows.empty();
        if (figure && figure->value > 0 && figure->unit == Unit::time && !table.shapes[n].empty() &&
            (first || table.shapes[n].lacks_same(table.shapes[series.rows.front()]))) {
          series.rows.push_back(n);
        }
      }
      if (series.rows.size() >= 2) found.push_back(std::move(series));
    }
  }
  return found;
}

double time_at(const Series& series, std::size_t row) {
  return series.table->figure(series.table->table->rows[row], series.time)->value;
}

Growth growth(const Series& series, std::size_t from, std::size_t to) {
  return {series.table->shapes[to].work() / series.table->shapes[from].work(),
          time_at(series, to) / time_at(series, from)};
}

std::string differences(const Shape& a, const Shape& b) {
  static constexpr std::array<char, 4> k_letters{'B', 'H', 'S', 'D'};
  std::string text;
  for (std::size_t n = 0; n < k_sizes.size(); ++n) {
    const double from = a.*k_sizes[n].member, to = b.*k_sizes[n].member;
    if (from == to) continue;
    text += fmt::format("{}{} {:.0f} -> {:.0f}", text.empty() ? "" : ", ", k_letters[n], from, to);
  }
  return text;
}

std::string word_in(const std::string& lower) {
  if (lower.find("super-linear") != std::string::npos ||
      lower.find("superlinear") != std::string::npos) {
    return "super-linear";
  }
  if (lower.find("sub-linear") != std::string::npos ||
      lower.find("sublinear") != std::string::npos) {
    return "sub-linear";
  }
  if (lower.find("near-linear") != std::string::npos) return "near-linear";
  return has_word(lower, "linear") || has_word(lower, "linearly") ? "linear" : "";
}

bool word_fits(const std::string& word, double exponent) {
  const std::string kind = kind_of(exponent);
  if (word == "linear" || word == "near-linear") return kind == "near-linear";
  return word == kind;
}

}  // namespace wb::audit
