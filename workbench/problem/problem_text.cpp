// SPDX-License-Identifier: MIT
// The text and JSON forms of a problem.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <vector>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "problem/problem.hpp"

namespace wb::problem {
namespace {

constexpr std::string_view k_tensors = "qkv";
constexpr std::string_view k_mask_shape = "[B,1,Sq,Skv]";
constexpr std::array<std::string_view, 15> k_words{"B",      "Hq",    "Hkv",   "Sq",     "Skv",
                                                   "D",      "Dv",    "scale", "causal", "mask",
                                                   "layout", "dtype", "f32",   "f16",    "bf16"};
constexpr std::string_view k_example =
    "write it like 'B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16 causal=none'";

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// "did you mean Hkv?" for a word close to a known one, else the example.
std::string suggestion(std::string_view word) {
  std::string_view best;
  std::size_t best_distance = 3;
  if (word.size() <= 16) {
    for (const std::string_view known : k_words) {
      const std::size_t distance = edit_distance(word, known);
      if (distance < best_distance && distance < known.size()) {
        best = known;
        best_distance = distance;
      }
    }
  }
  if (best.empty()) return std::string(k_example);
  return fmt::format("did you mean {}?", best);
}

/// Reads one token after the other into a Problem; each key may occur once.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : m_text(text) {}

  Result<Problem> read() {
    constexpr std::string_view k_blank = " \t\r\n";
    std::size_t at = 0;
    while ((at = m_text.find_first_not_of(k_blank, at)) != std::string_view::npos) {
      const std::size_t end = std::min(m_text.find_first_of(k_blank, at), m_text.size());
      WB_TRY(token(m_text.substr(at, end - at)));
      at = end;
    }
    std::string missing;
    for (const std::string_view key : {"B", "Hq", "Sq", "D"}) {
      if (!m_seen.contains(key)) missing.append(missing.empty() ? "" : ", ").append(key);
    }
    if (!missing.empty()) return fault(missing + " missing", std::string(k_example));
    if (!m_seen.contains("Hkv")) m_problem.Hkv = m_problem.Hq;
    if (!m_seen.contains("Skv")) m_problem.Skv = m_problem.Sq;
    if (!m_seen.contains("Dv")) m_problem.Dv = m_problem.D;
    if (m_problem.scale == default_scale(m_problem.D)) m_problem.scale.reset();
    WB_TRY(validate(m_problem));
    return m_problem;
  }

 private:
  Error fault(std::string cause, std::string next) const {
    return Error{ErrorCode::parse, "read the problem", fmt::format("'{}'", printable(m_text, 200)),
                 std::move(cause), std::move(next)};
  }

  Result<void> token(std::string_view token) {
    const std::size_t equals = token.find('=');
    if (equals == std::string_view::npos) {
      const auto dtype = parse_dtype(token);
      if (!dtype) {
        return fault(fmt::format("'{}' is not known", printable(token, 40)), suggestion(token));
      }
      m_problem.dtype = *dtype;
      return once("dtype");
    }
    const std::string_view key = token.substr(0, equals);
    const std::string_view value = token.substr(equals + 1);
    if (std::int64_t* size = size_named(key)) {
      WB_TRY(read_size(key, value, *size));
      return once(key);
    }
    if (key == "dtype")
      return word(key, value, parse_dtype(value), m_problem.dtype, "f32, f16, bf16");
    if (key == "causal") {
      return word(key, value, parse_causal(value), m_problem.causal,
                  "none, top_left, bottom_right");
    }
    if (key == "layout") return layout(value);
    if (key == "mask") return mask(value);
    if (key == "scale") {
      double scale = 0;
      WB_TRY(read_real(key, value, scale));
      m_problem.scale = scale;
      return once(key);
    }
    return fault(fmt::format("key '{}' is not known", printable(key, 40)), suggestion(key));
  }

  std::int64_t* size_named(std::string_view key) {
    if (key == "B") return &m_problem.B;
    if (key == "Hq") return &m_problem.Hq;
    if (key == "Hkv") return &m_problem.Hkv;
    if (key == "Sq") return &m_problem.Sq;
    if (key == "Skv") return &m_problem.Skv;
    if (key == "D") return &m_problem.D;
    if (key == "Dv") return &m_problem.Dv;
    return nullptr;
  }

  Result<void> once(std::string_view key) {
    if (m_seen.emplace(key).second) return {};
    return fault(fmt::format("{} is given twice", key), "give it once");
  }

  Result<void> read_size(std::string_view key, std::string_view value, std::int64_t& out) const {
    if (const auto size = ascii::whole(value)) {
      out = *size;
      return {};
    }
    return fault(fmt::format("{} is '{}'", key, printable(value, 40)),
                 fmt::format("give a whole number from 1 to {}", k_max_size));
  }

  Result<void> read_real(std::string_view key, std::string_view value, double& out) const {
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (code == std::errc() && end == value.data() + value.size()) return {};
    return fault(fmt::format("{} is '{}'", key, printable(value, 40)), "give a number");
  }

  template <typename T>
  Result<void> word(std::string_view key, std::string_view value, std::optional<T> parsed, T& out,
                    std::string_view allowed) {
    if (!parsed) {
      return fault(fmt::format("{} is '{}'", key, printable(value, 40)),
                   fmt::format("it is one of {}", allowed));
    }
    out = *parsed;
    return once(key);
  }

  Result<void> mask(std::string_view value) {
    const std::size_t colon = value.find(':');
    const auto kind = parse_mask_kind(value.substr(0, colon));
    const bool says_more = colon != std::string_view::npos;
    const bool is_bool = kind == MaskKind::boolean;
    const auto values = is_bool || !says_more ? std::optional(MaskValues::drawn)
                                              : parse_mask_values(value.substr(colon + 1));
    if (!kind || !values || (is_bool && !says_more) || (kind == MaskKind::none && says_more)) {
      return fault(fmt::format("mask is '{}'", printable(value, 40)),
                   "it is none, additive, additive:finite_min, or bool:SHARE with the share of "
                   "true elements (bool:0.7)");
    }
    m_problem.mask = *kind;
    m_problem.mask_values = *values;
    if (is_bool)
      WB_TRY(read_real("the share of mask", value.substr(colon + 1), m_problem.keep_frac));
    return once("mask");
  }

  /// BSHD, or one word each for q, k and v: q:BSHD,k:BHSD,v:BHSD in any order.
  Result<void> layout(std::string_view value) {
    const auto wrong = [&] {
      return fault(fmt::format("layout is '{}'", printable(value, 60)),
                   "it is one of BHSD, BSHD, or one for each tensor: q:BSHD,k:BHSD,v:BHSD");
    };
    if (const auto one = parse_layout(value)) {
      set_layouts(m_problem, *one, *one, *one);
      return once("layout");
    }
    std::optional<Layout> of[3];
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      const std::string_view part = value.substr(begin, end - begin);
      const std::size_t tensor = part.empty() ? std::string_view::npos : k_tensors.find(part[0]);
      if (tensor == std::string_view::npos || part.size() < 2 || part[1] != ':') return wrong();
      const auto layout = parse_layout(part.substr(2));
      if (!layout || of[tensor]) return wrong();
      of[tensor] = layout;
      begin = end + 1;
    }
    if (!of[0] || !of[1] || !of[2]) return wrong();
    set_layouts(m_problem, *of[0], *of[1], *of[2]);
    return once("layout");
  }

  std::string_view m_text;
  Problem m_problem;
  std::set<std::string_view> m_seen;
};

template <typename T>
T read_word(ObjectReader& reader, std::string_view key, std::string fallback,
            std::optional<T> (*parse)(std::string_view), std::string_view allowed) {
  const std::string value = reader.string_or(key, std::move(fallback));
  const std::optional<T> parsed = parse(value);
  if (!parsed)
    reader.fail(key, fmt::format("is \"{}\"; it is one of {}", printable(value, 40), allowed));
  return parsed.value_or(T{});
}

Result<void> read_mask(const Json& json, const std::string& what, Problem& problem) {
  ObjectReader reader(json, what);
  const std::string kind = reader.string("kind");
  const auto parsed = parse_mask_kind(kind);
  if (!parsed) reader.fail("kind", "is one of none, bool, additive");
  problem.mask = parsed.value_or(MaskKind::none);
  if (problem.mask == MaskKind::boolean) {
    problem.keep_frac = reader.real("keep_frac");
    if (!(problem.keep_frac > 0.0 && problem.keep_frac <= 1.0)) {
      reader.fail("keep_frac", "must be above 0 and at most 1");
    }
  }
  if (problem.mask == MaskKind::additive) {
    problem.mask_values =
        read_word(reader, "values", "drawn", parse_mask_values, "drawn, finite_min");
  }
  if (reader.string_or("shape", std::string(k_mask_shape)) != k_mask_shape) {
    reader.fail("shape", fmt::format("must be \"{}\", the only mask shape so far", k_mask_shape));
  }
  return reader.finish();
}

/// One word for all, or {"q", "k", "v"}.
Result<void> read_layout(const Json& json, const std::string& what, Problem& problem) {
  if (json.is_object()) {
    ObjectReader reader(json, what);
    Layout of[3];
    for (std::size_t i = 0; i < k_tensors.size(); ++i) {
      const std::string_view tensor = k_tensors.substr(i, 1);
      reader.string(tensor);  // required; its word is checked below
      of[i] = read_word(reader, tensor, "BHSD", parse_layout, "BHSD, BSHD");
    }
    set_layouts(problem, of[0], of[1], of[2]);
    return reader.finish();
  }
  const auto one = json.is_string() ? parse_layout(json.get<std::string>()) : std::nullopt;
  if (!one) {
    return Error{ErrorCode::parse, "read", what,
                 fmt::format("it is {}", printable(json.dump(), 40)),
                 "it is one of BHSD, BSHD, or an object with one of them for each of q, k and v"};
  }
  set_layouts(problem, *one, *one, *one);
  return {};
}

std::string layout_text(const Problem& p) {
  if (has_one_layout(p)) return std::string(to_string(p.layout));
  return fmt::format("q:{},k:{},v:{}", to_string(p.layout), to_string(k_layout(p)),
                     to_string(v_layout(p)));
}

}  // namespace

std::string to_text(const Problem& p) {
  std::string text =
      fmt::format("B={} Hq={} Hkv={} Sq={} Skv={} D={}", p.B, p.Hq, p.Hkv, p.Sq, p.Skv, p.D);
  if (p.Dv != p.D) text += fmt::format(" Dv={}", p.Dv);
  text += fmt::format(" {} causal={}", to_string(p.dtype), to_string(p.causal));
  if (p.scale) text += fmt::format(" scale={}", *p.scale);
  if (p.mask == MaskKind::boolean) text += fmt::format(" mask=bool:{}", p.keep_frac);
  if (p.mask == MaskKind::additive) text += " mask=additive";
  if (p.mask_values != MaskValues::drawn) text += fmt::format(":{}", to_string(p.mask_values));
  if (p.layout != Layout::bhsd || !has_one_layout(p)) text += " layout=" + layout_text(p);
  return text;
}

Result<Problem> parse_problem(std::string_view text) {
  return TextReader(text).read();
}

Result<std::vector<Problem>> parse_problems(std::string_view texts) {
  std::vector<Problem> problems;
  for (std::size_t begin = 0; begin <= texts.size();) {
    const std::size_t end = std::min(texts.find(';', begin), texts.size());
    WB_TRY_ASSIGN(Problem problem, parse_problem(texts.substr(begin, end - begin)));
    problems.push_back(std::move(problem));
    begin = end + 1;
  }
  return problems;
}

Result<Problem> problem_from_json(const Json& json, std::string_view what) {
  const std::string source(what);
  ObjectReader reader(json, source);
  Problem p;
  p.name = reader.string_or("name", {});
  p.B = reader.integer("B", 1, k_max_size);
  p.Hq = reader.integer("Hq", 1, k_max_size);
  p.Hkv = reader.integer_or("Hkv", p.Hq, 1, k_max_size);
  p.Sq = reader.integer("Sq", 1, k_max_size);
  p.Skv = reader.integer_or("Skv", p.Sq, 1, k_max_size);
  p.D = reader.integer("D", 1, k_max_size);
  p.Dv = reader.integer_or("Dv", p.D, 1, k_max_size);
  reader.string("dtype");  // required; its word is checked below
  p.dtype = read_word(reader, "dtype", "f32", parse_dtype, "f32, f16, bf16");
  p.causal = read_word(reader, "causal", "none", parse_causal, "none, top_left, bottom_right");
  const Json* layout = reader.member("layout");
  if (reader.member("scale") != nullptr) p.scale = reader.real("scale");
  if (p.scale == default_scale(p.D)) p.scale.reset();
  const Json* mask = reader.member("mask");
  WB_TRY(reader.finish());
  if (layout != nullptr) WB_TRY(read_layout(*layout, source + ", layout", p));
  if (mask != nullptr) WB_TRY(read_mask(*mask, source + ", mask", p));
  if (auto checked = validate(p); !checked.ok()) {
    Error error = std::move(checked).error();
    error.subject = source;
    return error;
  }
  return p;
}

Json to_json(const Problem& p) {
  Json json{{"B", p.B},
            {"Hq", p.Hq},
            {"Hkv", p.Hkv},
            {"Sq", p.Sq},
            {"Skv", p.Skv},
            {"D", p.D},
            {"dtype", to_string(p.dtype)},
            {"causal", to_string(p.causal)}};
  if (!p.name.empty()) json["name"] = p.name;
  if (p.Dv != p.D) json["Dv"] = p.Dv;
  if (p.scale) json["scale"] = *p.scale;
  if (!has_one_layout(p)) {
    json["layout"] = {
        {"q", to_string(p.layout)}, {"k", to_string(k_layout(p))}, {"v", to_string(v_layout(p))}};
  } else if (p.layout != Layout::bhsd) {
    json["layout"] = to_string(p.layout);
  }
  if (p.mask != MaskKind::none) {
    json["mask"] = {{"kind", to_string(p.mask)}, {"shape", k_mask_shape}};
    if (p.mask == MaskKind::boolean) json["mask"]["keep_frac"] = p.keep_frac;
    if (p.mask_values != MaskValues::drawn) json["mask"]["values"] = to_string(p.mask_values);
  }
  return json;
}

}  // namespace wb::problem
