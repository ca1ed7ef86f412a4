// SPDX-License-Identifier: MIT
#include "analyze/table_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "core/ascii.hpp"

namespace wb::analyze {
namespace {

constexpr double k_largest_size = 1e15;

std::string small(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), ascii::lower);
  return result;
}

std::string_view unquoted(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\"'");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\"'") - begin + 1);
}

/// Microseconds per unit; 0 when it is no unit of time.
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
  return unquoted(text.substr(open + 1, text.size() - open - 2));
}

/// Parses a whole text. Commas count as thousands separators ("1,234.5") only with a decimal point
/// or a second comma.
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
  HeaderCell cell{small(unquoted(text)), 0};
  const auto take = [&](std::size_t begin, std::size_t unit_begin, std::size_t unit_bytes) {
    const double unit = unit_of(std::string_view(cell.name).substr(unit_begin, unit_bytes));
    if (unit == 0) return false;
    cell.name = std::string(unquoted(std::string_view(cell.name).substr(0, begin)));
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
  // "ms" alone is a unit; "s" alone is a length.
  if (name.size() > 1 && take(0, 0, name.size())) return cell;
  const auto apart = name.find_last_of("_ ");
  if (apart != std::string::npos) take(apart, apart + 1, name.size() - apart - 1);
  return cell;
}

namespace {

/// "Seq Len", "seq_len", "SEQ-LEN": the same name.
std::string compact(std::string_view text) {
  std::string name = small(unquoted(text));
  std::erase_if(name, [](char c) { return c == '_' || c == '-' || c == ' ' || c == '.'; });
  return name;
}

/// "1k", "2K", "1Mi" in sizes: powers of two, as usual for lengths.
double take_thousands(std::string_view& text) {
  if (text.ends_with('i')) text.remove_suffix(1);
  double factor = 1;
  if (text.ends_with('k') || text.ends_with('K')) factor = 1024;
  if (text.ends_with('m') || text.ends_with('M')) factor = 1024.0 * 1024.0;
  if (factor > 1) text = unquoted(text.substr(0, text.size() - 1));
  return factor;
}

/// "1,024" as a size is an integer, so its comma separates thousands.
std::optional<double> size_of(std::string_view text) {
  std::string_view digits = text;
  const double factor = take_thousands(digits);
  const auto comma = digits.find(',');
  if (comma != std::string_view::npos && digits.find('.') == std::string_view::npos && comma > 0 &&
      comma <= 3 && digits.size() == comma + 4 && digits[0] != '0') {
    const std::string joined =
        std::string(digits.substr(0, comma)) + std::string(digits.substr(comma + 1));
    const auto number = number_of(joined);
    return number ? std::optional(*number * factor) : std::nullopt;
  }
  const auto number = number_of(digits);
  return number ? std::optional(*number * factor) : std::nullopt;
}

}  // namespace

std::string size_token(std::string_view header) {
  struct Words {
    std::string_view token;
    std::initializer_list<std::string_view> words;
  };
  // Names used by PyTorch, Triton's tutorials, FlashAttention, FlashInfer and tables in reports.
  static const std::array<Words, 10> k_words{{
      {"B", {"b", "z", "batch", "batchsize", "bs", "bsz", "nbatch", "numbatch", "batches"}},
      {"Hq",
       {"h",
        "hq",
        "heads",
        "nhead",
        "nheads",
        "numhead",
        "numheads",
        "headnum",
        "qheads",
        "nqheads",
        "numqheads",
        "numqoheads",
        "headsq",
        "nheadsq",
        "numheadsq",
        "queryheads",
        "numqueryheads",
        "attentionheads",
        "numattentionheads",
        "nh"}},
      {"Hkv",
       {"hkv", "hk", "kvheads", "nkvheads", "numkvheads", "headskv", "headsk", "nheadskv",
        "nheadsk", "numheadskv", "numheadsk", "numkeyvalueheads", "nkvh"}},
      {"Sq", {"s",           "sq",
              "n",           "l",
              "seq",         "seqlen",
              "seqlength",   "sequence",
              "sequencelen", "sequencelength",
              "nctx",        "ctx",
              "ctxlen",      "context",
              "contextlen",  "contextlength",
              "nq",          "lenq",
              "lq",          "seqq",
              "seqlenq",     "seqlenqo",
              "qlen",        "qolen",
              "qseqlen",     "mq",
              "querylen",    "querylength"}},
      {"Skv",
       {"skv", "sk", "nkv", "nk", "lenk", "lenkv", "lk", "lkv", "seqk", "seqkv", "seqlenk",
        "seqlenkv", "kvlen", "kvlength", "kvseqlen", "klen", "keylen"}},
      {"D",
       {"d", "dim", "hdim", "headdim", "headdimension", "headsize", "dhead", "dh", "dqk", "dk",
        "headdimqk", "qkheaddim"}},
      {"Dv", {"dv", "vdim", "dvo", "headdimv", "headdimvo", "vheaddim"}},
      {"dtype", {"dtype", "datatype", "precision"}},
      {"causal", {"causal", "iscausal"}},
      {"problem", {"problem", "shape", "config", "configuration", "case"}},
  }};
  std::string name = compact(header);
  std::string letter;  // "Heads (H)": the letter repeats the word
  if (const auto open = name.find_first_of("(["); open != std::string::npos && open > 0) {
    const char last = name.back();
    if (last != ')' && last != ']') return {};
    letter = name.substr(open + 1, name.size() - open - 2);
    name.resize(open);
  }
  const auto token_of = [&](const std::string& word) -> std::string_view {
    for (const Words& entry : k_words) {
      if (std::find(entry.words.begin(), entry.words.end(), word) != entry.words.end()) {
        return entry.token;
      }
    }
    return {};
  };
  const std::string_view token = token_of(name);
  if (token.empty() || (!letter.empty() && token_of(letter) != token)) return {};
  return std::string(token);
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
  const std::string_view value = without_python(unquoted(token.value));
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
  const auto number = size_of(value);
  if (!number || *number != std::floor(*number) || std::abs(*number) > k_largest_size) {
    return Error{ErrorCode::invalid, "read", token.key,
                 fmt::format("\"{}\" is no whole number", printable(token.value, 40)), ""};
  }
  return fmt::format("{}={:.0f}", token.key, *number);
}

std::optional<double> time_of_cell(std::string_view text, double unit_us) {
  std::string_view digits = without_python(unquoted(text));
  double unit = unit_us;
  const auto letter = digits.find_last_of("0123456789.");
  if (letter != std::string_view::npos && letter + 1 < digits.size()) {
    const double own = unit_of(unquoted(digits.substr(letter + 1)));
    if (own == 0) return std::nullopt;
    unit = own;
    digits = digits.substr(0, letter + 1);
  }
  const auto number = number_of(digits);
  if (!number || !(*number > 0)) return std::nullopt;
  return *number * unit;
}

}  // namespace wb::analyze
