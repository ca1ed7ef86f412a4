// SPDX-License-Identifier: MIT
#include "report/format.hpp"
#include "core/ascii.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace wb::report {
namespace {

constexpr int k_max_ratio_decimals = 4;
constexpr std::size_t k_max_padding = 72;  ///< longer cells do not widen their column
constexpr std::size_t k_cited_singly = 3;

/// The number of decimals for so many significant digits.
int decimals_for(double value, int digits) {
  if (value == 0) return 0;
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return std::clamp(digits - 1 - magnitude, 0, 9);
}

bool rounds_onto_one(std::optional<double> value, int decimals) {
  return value && *value != 1 && fixed(*value, decimals) == fixed(1, decimals);
}

std::size_t width(std::string_view cell) {
  return static_cast<std::size_t>(std::count_if(cell.begin(), cell.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

std::string ref(std::int64_t seq) {
  return seq > 0 ? fmt::format("[e{}]", seq) : std::string();
}

std::string cite(std::int64_t seq) {
  return seq > 0 ? " " + ref(seq) : std::string();
}

std::string cite(const std::vector<std::int64_t>& seqs) {
  std::string out;
  if (seqs.size() > k_cited_singly) {
    const auto [first, last] = std::minmax_element(seqs.begin(), seqs.end());
    const std::string range = " " + ref(*first) + " to " + ref(*last);
    const bool is_whole = *last - *first + 1 == static_cast<std::int64_t>(seqs.size());
    return is_whole ? range : fmt::format("{} ({} events)", range, seqs.size());
  }
  for (const std::int64_t seq : seqs) out += cite(seq);
  return out;
}

std::string fixed(double value, int decimals) {
  std::string digits = fmt::format("{:.{}f}", value, decimals);
  // Print "0.00" and not "-0.00".
  if (digits.front() == '-' && digits.find_first_not_of("-0.") == std::string::npos) {
    digits.erase(0, 1);
  }
  return digits;
}

int ratio_decimals(const Ratio& ratio) {
  const double value = std::abs(ratio.value.value_or(1));
  int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  if (value > 0 && value < 0.2) decimals = decimals_for(value, 3);
  if (ratio.low && ratio.high && *ratio.high > *ratio.low) {
    const double spread = *ratio.high - *ratio.low;
    while (decimals < k_max_ratio_decimals && spread < 2 * std::pow(10.0, -decimals)) ++decimals;
  }
  while (decimals < k_max_ratio_decimals &&
         (rounds_onto_one(ratio.low, decimals) || rounds_onto_one(ratio.high, decimals))) {
    ++decimals;
  }
  return decimals;
}

std::string speedup(const Ratio& ratio) {
  if (!ratio.value) return "not measured";
  const int decimals = ratio_decimals(ratio);
  std::string out = fixed(*ratio.value, decimals) + "x";
  if (ratio.low && ratio.high) {
    out += fmt::format(" [{}, {}]", fixed(*ratio.low, decimals), fixed(*ratio.high, decimals));
  }
  return out;
}

std::string speedup(std::optional<double> value) {
  Ratio ratio;
  ratio.value = value;
  return speedup(ratio);
}

std::string microseconds(std::optional<double> value_us) {
  if (!value_us) return "not measured";
  return fixed(*value_us, std::min(decimals_for(*value_us, 4), 4));
}

std::string percent(std::optional<double> frac) {
  if (!frac) return "not measured";
  const double value = *frac * 100;
  return fixed(value, std::min(decimals_for(value, 2), 4)) + " %";
}

std::string duration(double seconds) {
  if (!(seconds >= 0)) return "unknown";
  if (seconds < 10) return fixed(seconds, 1) + " s";
  if (seconds < 60) return fixed(seconds, 0) + " s";
  const auto whole = static_cast<std::int64_t>(std::min(std::round(seconds), 1e15));
  if (whole < 3600 && whole % 60 == 0) return fmt::format("{} min", whole / 60);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const std::int64_t minutes = (whole + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string with_prefix(double value) {
  static constexpr std::array<std::pair<double, const char*>, 4> k_prefixes{
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [factor, prefix] : k_prefixes) {
    if (std::abs(value) >= factor) {
      return fmt::format("{} {}", fixed(value / factor, decimals_for(value / factor, 4)), prefix);
    }
  }
  return fixed(value, std::min(decimals_for(value, 4), 3)) + " ";
}

std::string bytes(double value) {
  const BinarySize size = binary_size(value);
  const bool whole = size.value == std::floor(size.value);
  return fmt::format(
      "{} {}", fixed(size.value, whole ? 0 : std::min(decimals_for(size.value, 3), 2)), size.unit);
}

namespace {

/// Of a text with "1.26e+03" whose 'e' stands there.
struct ExponentForm {
  std::size_t from = 0, size = 0, decimals = 0;
};

std::optional<ExponentForm> exponent_form(std::string_view said, std::size_t e) {
  constexpr std::size_t k_behind = 4;  // "e+03"
  if (e == 0 || e + k_behind > said.size() || !ascii::is_digit(said[e - 1])) return std::nullopt;
  if ((said[e + 1] != '+' && said[e + 1] != '-') || !ascii::is_digit(said[e + 2]) ||
      !ascii::is_digit(said[e + 3])) {
    return std::nullopt;
  }
  // Sizes and rates end long before: what has more digits is no figure for a reader.
  if (said[e + 2] > '1') return std::nullopt;
  std::size_t from = e;
  while (from > 0 && (ascii::is_digit(said[from - 1]) || said[from - 1] == '.')) --from;
  const auto is_word = [](char c) { return ascii::is_alnum(c) || c == '_' || c == '@'; };
  // "x" may follow a ratio; other letters make it a part of a name.
  const bool goes_on =
      e + k_behind < said.size() && is_word(said[e + k_behind]) && said[e + k_behind] != 'x';
  if ((from > 0 && is_word(said[from - 1])) || goes_on) return std::nullopt;
  const std::size_t point = said.substr(from, e - from).find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : e - from - point - 1;
  return ExponentForm{from, e + k_behind - from, decimals};
}

}  // namespace

std::string readable(std::string said) {
  constexpr std::string_view k_without_sparsity = "tensor rates halved";
  for (std::size_t at = said.find(k_without_sparsity); at != std::string::npos;
       at = said.find(k_without_sparsity, at)) {
    said.replace(at, k_without_sparsity.size(), "dense");
  }
  for (std::size_t e = said.find('e'); e != std::string::npos; e = said.find('e', e + 1)) {
    const auto form = exponent_form(said, e);
    if (!form) continue;
    const auto value = ascii::number<double>(std::string_view(said).substr(form->from, form->size));
    if (!value) continue;
    const int power = (said[e + 2] - '0') * 10 + said[e + 3] - '0';
    const int decimals = static_cast<int>(form->decimals) + (said[e + 1] == '-' ? power : -power);
    said.replace(form->from, form->size, fixed(*value, std::max(decimals, 0)));
    e = form->from;
  }
  return said;
}

std::string significant(double value, int digits) {
  return readable(fmt::format("{:.{}g}", value, digits));
}

std::string count(std::int64_t n, std::string_view singular) {
  return fmt::format("{} {}{}", n, singular, n == 1 ? "" : "s");
}

Table::Table(std::vector<std::string> header) : m_header(std::move(header)) {
  for (std::string& name : m_header) {
    const bool right = !name.empty() && name.back() == '>';
    if (right) name.pop_back();
    m_right.push_back(right);
  }
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(m_header.size());
  for (std::string& cell : cells) cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
  m_rows.push_back(std::move(cells));
}

std::string Table::str() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < m_header.size(); ++c) {
    std::size_t widest = std::max(width(m_header[c]), std::size_t{3});
    for (const auto& cells : m_rows) {
      widest = std::max(widest, std::min(width(cells[c]), k_max_padding));
    }
    widths.push_back(widest);
  }
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::vector<std::string> padded;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::size_t used = width(cells[c]);
      const std::string padding(widths[c] > used ? widths[c] - used : 0, ' ');
      padded.push_back(m_right[c] ? padding + cells[c] : cells[c] + padding);
    }
    out += markdown::row(padded);
  };
  add(m_header);
  for (std::size_t c = 0; c < m_header.size(); ++c) {
    out += "|" + std::string(widths[c] + 1, '-') + (m_right[c] ? ":" : "-");
  }
  out += "|\n";
  for (const auto& cells : m_rows) add(cells);
  return out;
}

}  // namespace wb::report
