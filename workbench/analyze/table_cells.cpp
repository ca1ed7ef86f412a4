// SPDX-License-Identifier: MIT
#include "analyze/table_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace wb {
namespace {

constexpr double k_largest_size = 1e15;

std::string small(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\"'");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\"'") - begin + 1);
}

/// Microseconds of one such unit; 0 for what is none of time.
double unit_of(std::string_view word) {
  struct Unit {
    std::string_view word;
    double us;
  };
  static constexpr std::array<Unit, 8> k_units{{{"s", 1e6},
                                                {"sec", 1e6},
                                                {"ms", 1e3},
                                                {"msec", 1e3},
                                                {"us", 1},
                                                {"\xC2\xB5s", 1},  // micro sign
                                                {"\xCE\xBCs", 1},  // Greek mu
                                                {"ns", 1e-3}}};
  for (const Unit& unit : k_units) {
    if (unit.word == word) return unit.us;
  }
  return 0;
}

/// "np.float64(0.5)" -> "0.5".
std::string_view without_python(std::string_view text) {
  constexpr std::string_view k_numpy = "np.", k_long = "numpy.";
  const bool is_numpy = text.starts_with(k_numpy) || text.starts_with(k_long);
  const auto open = text.find('(');
  if (!is_numpy || open == std::string_view::npos || !text.ends_with(')')) return text;
  return trimmed(text.substr(open + 1, text.size() - open - 2));
}

/// Of a whole text; thousands apart ("1,234.5") only where a point or a second comma shows that the
/// commas are no decimal ones.
std::optional<double> number_of(std::string_view text) {
  std::string digits(text);
  const auto commas = std::count(digits.begin(), digits.end(), ',');
  if (commas > 0) {
    const auto point = std::min(digits.find('.'), digits.size());
    const bool is_clear = commas > 1 || point < digits.size();
    for (std::size_t at = digits.find(','); at != std::string::npos;
         at = digits.find(',', at + 1)) {
      if (!is_clear || at == 0 || at >= point || (point - at) % 4 != 0) return std::nullopt;
    }
    std::erase(digits, ',');
  }
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

HeaderCell read_header_cell(std::string_view text) {
  HeaderCell cell{small(trimmed(text)), 0};
  const auto take = [&](std::size_t begin, std::size_t unit_begin, std::size_t unit_bytes) {
    const double unit = unit_of(std::string_view(cell.name).substr(unit_begin, unit_bytes));
    if (unit == 0) return false;
    cell.name = std::string(trimmed(std::string_view(cell.name).substr(0, begin)));
    cell.unit_us = unit;
    return true;
  };
  const std::string& name = cell.name;
  const char last = name.empty() ? ' ' : name.back();
  if (last == ')' || last == ']') {
    const auto open = name.rfind(last == ')' ? '(' : '[');
    if (open != std::string::npos) take(open, open + 1, name.size() - open - 2);
    return cell;
  }
  const auto apart = name.find_last_of("_ ");
  if (apart != std::string::npos) take(apart, apart + 1, name.size() - apart - 1);
  return cell;
}

std::string size_token(std::string_view header) {
  struct Word {
    std::string_view word, token;
  };
  static constexpr std::array<Word, 43> k_words{{
      {"b", "B"},           {"batch", "B"},        {"batch size", "B"},
      {"batch_size", "B"},  {"batch (b)", "B"},    {"h", "Hq"},
      {"hq", "Hq"},         {"heads", "Hq"},       {"heads (h)", "Hq"},
      {"num_heads", "Hq"},  {"h_q", "Hq"},         {"hkv", "Hkv"},
      {"h_kv", "Hkv"},      {"kv heads", "Hkv"},   {"kv_heads", "Hkv"},
      {"s", "Sq"},          {"sq", "Sq"},          {"seq", "Sq"},
      {"seqlen", "Sq"},     {"seq_len", "Sq"},     {"sequence", "Sq"},
      {"n_q", "Sq"},        {"s_q", "Sq"},         {"len_q", "Sq"},
      {"seq (s)", "Sq"},    {"skv", "Skv"},        {"s_kv", "Skv"},
      {"n_kv", "Skv"},      {"len_k", "Skv"},      {"d", "D"},
      {"dim", "D"},         {"hdim", "D"},         {"head_dim", "D"},
      {"head dim", "D"},    {"dv", "Dv"},          {"d_v", "Dv"},
      {"dtype", "dtype"},   {"causal", "causal"},  {"problem", "problem"},
      {"shape", "problem"}, {"config", "problem"}, {"configuration", "problem"},
      {"case", "problem"},
  }};
  const std::string name = small(trimmed(header));
  for (const Word& word : k_words) {
    if (word.word == name) return std::string(word.token);
  }
  return {};
}

std::vector<Token> problem_tokens(std::string_view text) {
  std::vector<Token> tokens;
  constexpr std::string_view k_apart = ", \t;";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(k_apart, at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(k_apart, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    at = end;
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) {
      tokens.push_back({"dtype", std::string(word)});
      continue;
    }
    const std::string_view key = word.substr(0, equals);
    const std::string token = size_token(key);
    tokens.push_back(
        {token.empty() ? std::string(key) : token, std::string(word.substr(equals + 1))});
  }
  return tokens;
}

Result<std::string> problem_word(const Token& token) {
  const std::string_view value = without_python(trimmed(token.value));
  const bool is_size = token.key == "B" || token.key == "Hq" || token.key == "Hkv" ||
                       token.key == "Sq" || token.key == "Skv" || token.key == "D" ||
                       token.key == "Dv";
  if (token.key == "dtype") {
    const std::string name = small(value.starts_with("torch.") ? value.substr(6) : value);
    const std::string word = name == "fp16" || name == "float16" || name == "half"    ? "f16"
                             : name == "fp32" || name == "float32" || name == "float" ? "f32"
                             : name == "bfloat16"                                     ? "bf16"
                                                                                      : name;
    return "dtype=" + word;
  }
  if (token.key == "causal") {
    const std::string word = small(value);
    if (word == "true" || word == "yes" || word == "1") return std::string("causal=top_left");
    if (word == "false" || word == "no" || word == "0") return std::string("causal=none");
  }
  if (!is_size) return token.key + "=" + std::string(value);
  const auto number = number_of(value);
  if (!number || *number != std::floor(*number) || std::abs(*number) > k_largest_size) {
    return Error{ErrorCode::invalid, "read", token.key,
                 fmt::format("\"{}\" is no whole number", printable(token.value, 40)), ""};
  }
  return fmt::format("{}={:.0f}", token.key, *number);
}

std::optional<double> time_of_cell(std::string_view text, double unit_us) {
  std::string_view digits = without_python(trimmed(text));
  double unit = unit_us;
  const auto letter = digits.find_last_of("0123456789.");
  if (letter != std::string_view::npos && letter + 1 < digits.size()) {
    const double own = unit_of(trimmed(digits.substr(letter + 1)));
    if (own == 0) return std::nullopt;
    unit = own;
    digits = digits.substr(0, letter + 1);
  }
  const auto number = number_of(digits);
  if (!number || !(*number > 0)) return std::nullopt;
  return *number * unit;
}

}  // namespace wb
