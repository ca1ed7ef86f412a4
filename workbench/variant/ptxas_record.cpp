// SPDX-License-Identifier: MIT
#include "variant/ptxas_record.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace wb::variant {

namespace {

constexpr std::size_t k_kernels_max = 64, k_warnings_max = 16, k_codes_max = 32;
constexpr std::size_t k_text_max_bytes = 300;
constexpr std::int64_t k_figure_max = std::int64_t{1} << 40;

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

/// The number before `words` in the line: "40 bytes spill stores".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) return {};
  std::size_t begin = end;
  while (begin > 0 && is_decimal(line[begin - 1])) --begin;
  std::int64_t value = 0;
  const auto [stop, fault] = std::from_chars(line.data() + begin, line.data() + end, value);
  const bool good = fault == std::errc() && begin < end && value <= k_figure_max;
  return good ? std::optional(value) : std::nullopt;
}

/// The sum of "N bytes cmem[i]" over the banks.
std::int64_t constant_bytes(std::string_view line) {
  std::int64_t sum = 0;
  constexpr std::string_view k_words = " bytes cmem[";
  for (std::size_t at = line.find(k_words); at != std::string_view::npos;
       at = line.find(k_words, at + 1)) {
    const std::size_t comma = line.rfind(',', at);
    sum += number_before(line.substr(comma == std::string_view::npos ? 0 : comma), k_words)
               .value_or(0);
  }
  return sum;
}

/// The text between the first two quotes after `words`.
std::string_view quoted_after(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return {};
  const std::size_t open = line.find('\'', at + words.size());
  const std::size_t close = open == std::string_view::npos ? open : line.find('\'', open + 1);
  if (close == std::string_view::npos) return {};
  return line.substr(open + 1, close - open - 1);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r:,");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// "injected in around line 101 by compiler" -> "injected by compiler": lines are those of the PTX.
std::string without_line(std::string_view text) {
  std::string words(text);
  for (const std::string_view mark : {" in around line ", " around line ", " at line "}) {
    const std::size_t at = words.find(mark);
    if (at == std::string::npos) continue;
    std::size_t end = at + mark.size();
    while (end < words.size() && is_decimal(words[end])) ++end;
    words.erase(at, end - at);
  }
  return words;
}

/// Reads a log line by line; the kernel of a figure is named some lines before it.
class Reader {
 public:
  void line(std::string_view text) {
    const bool is_info = text.starts_with("ptxas ");
    if (is_info && text.find("(C75") != std::string_view::npos) return warning(text);
    if (const auto symbol = quoted_after(text, "Compiling entry function "); !symbol.empty()) {
      return is_info ? begin_kernel(symbol) : void();
    }
    constexpr std::string_view k_of = "Function properties for ";
    if (const std::size_t at = text.find(k_of); is_info && at != std::string_view::npos) {
      m_is_own = trimmed(text.substr(at + k_of.size())) == m_symbol;
      return;
    }
    if (!m_kernel || !m_is_own) return;
    if (text.find(" bytes stack frame") != std::string_view::npos) return stack(text);
    if (is_info && text.find("Used ") != std::string_view::npos) return usage(text);
  }
  PtxasRecord take() {
    end_kernel();
    if (m_worst_left_out) {  // it spills more than all kept ones
      --m_record.kernels_left_out;
      --m_record.spilling_left_out;
      m_record.kernels.push_back(*std::move(m_worst_left_out));
    }
    return std::move(m_record);
  }

 private:
  void begin_kernel(std::string_view symbol) {
    end_kernel();
    m_symbol = symbol;
    m_is_own = true;
    m_kernel = KernelResources{};
  }
  /// Finishes a kernel. Names are demangled only for kept ones.
  void end_kernel() {
    if (!m_kernel) return;
    KernelResources kernel = *std::exchange(m_kernel, std::nullopt);
    const std::int64_t spilled = spilled_bytes(kernel);
    const bool is_worst = spilled > m_worst_bytes;
    m_worst_bytes = std::max(m_worst_bytes, spilled);
    const bool is_kept = m_record.kernels.size() < k_kernels_max;
    if (is_kept || is_worst) kernel.kernel = kernel_name(m_symbol);
    if (is_kept) return m_record.kernels.push_back(std::move(kernel));
    ++m_record.kernels_left_out;
    m_record.spilling_left_out += spilled > 0 ? 1 : 0;
    if (is_worst) m_worst_left_out = std::move(kernel);
  }
  void stack(std::string_view text) {
    KernelResources& kernel = *m_kernel;
    kernel.stack_bytes = number_before(text, " bytes stack frame").value_or(0);
    kernel.spill_store_bytes = number_before(text, " bytes spill stores").value_or(0);
    kernel.spill_load_bytes = number_before(text, " bytes spill loads").value_or(0);
  }
  void usage(std::string_view text) {
    KernelResources& kernel = *m_kernel;
    kernel.registers = number_before(text, " registers").value_or(0);
    kernel.barriers = number_before(text, " barriers").value_or(0);
    kernel.shared_bytes = number_before(text, " bytes smem").value_or(0);
    kernel.constant_bytes = constant_bytes(text);
  }
  void warning(std::string_view text) {
    const std::size_t open = text.find("(C75"), close = text.find(')', open);
    if (close == std::string_view::npos || close - open > 8) return;
    PtxasWarning found;
    found.code = text.substr(open + 1, close - open - 1);
    std::string_view words = trimmed(text.substr(close + 1));
    const std::string_view symbol = quoted_after(words, "function");
    if (!symbol.empty()) {
      found.kernel = kernel_name(symbol);
      words = words.substr(0, words.find(symbol) - 1);
      for (const std::string_view tail : {" in the function ", " in function ", " for function "}) {
        if (words.ends_with(tail)) words.remove_suffix(tail.size());
      }
    }
    found.text = cut_in_the_middle(without_line(trimmed(words)), k_text_max_bytes);
    auto& known = m_record.warnings;
    const auto same = std::find_if(known.begin(), known.end(), [&](const PtxasWarning& other) {
      return other.code == found.code && other.kernel == found.kernel && other.text == found.text;
    });
    if (same != known.end()) {
      ++same->count;
      return;
    }
    // Left-out warnings are counted once, like kept ones.
    if (m_left_out.contains({found.code, found.kernel, found.text})) return;
    const bool is_new_code = !m_codes.contains(found.code) && m_codes.size() < k_codes_max;
    if (is_new_code) m_codes.insert(found.code);
    if (known.size() < k_warnings_max || is_new_code) return known.push_back(std::move(found));
    ++m_record.warnings_left_out;
    if (m_codes.contains(found.code)) ++m_record.codes_left_out[found.code];
    m_left_out.insert({std::move(found.code), std::move(found.kernel), std::move(found.text)});
  }

  PtxasRecord m_record;
  std::string_view m_symbol;
  std::optional<KernelResources> m_kernel;  ///< owner of the following figures
  bool m_is_own = false;                    ///< figures are its own, not those of a called function
  std::int64_t m_worst_bytes = 0;
  std::optional<KernelResources> m_worst_left_out;
  std::set<std::string> m_codes;                    ///< codes with a warning in the record
  std::set<std::array<std::string, 3>> m_left_out;  ///< code, kernel, text
};

}  // namespace

std::int64_t spilled_bytes(const KernelResources& kernel) {
  return kernel.spill_store_bytes + kernel.spill_load_bytes;
}

PtxasRecord parse_ptxas(std::string_view log) {
  Reader reader;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    reader.line(log.substr(begin, end - begin));
    begin = end + 1;
  }
  return reader.take();
}

Json to_json(const PtxasRecord& record) {
  Json kernels = Json::array(), warnings = Json::array();
  for (const KernelResources& kernel : record.kernels) {
    kernels.push_back({{"kernel", kernel.kernel},
                       {"registers", kernel.registers},
                       {"stack_bytes", kernel.stack_bytes},
                       {"spill_store_bytes", kernel.spill_store_bytes},
                       {"spill_load_bytes", kernel.spill_load_bytes},
                       {"shared_bytes", kernel.shared_bytes},
                       {"constant_bytes", kernel.constant_bytes},
                       {"barriers", kernel.barriers}});
  }
  for (const PtxasWarning& warning : record.warnings) {
    warnings.push_back({{"code", warning.code},
                        {"text", warning.text},
                        {"kernel", warning.kernel},
                        {"count", warning.count}});
  }
  return {{"kernels", std::move(kernels)},
          {"warnings", std::move(warnings)},
          {"kernels_left_out", record.kernels_left_out},
          {"spilling_left_out", record.spilling_left_out},
          {"warnings_left_out", record.warnings_left_out},
          {"codes_left_out", record.codes_left_out}};
}

Result<PtxasRecord> ptxas_record_from_json(const Json& json) {
  ObjectReader reader(json, "the ptxas record");
  PtxasRecord record;
  const Json* kernels = reader.member("kernels");
  const Json* warnings = reader.member("warnings");
  record.kernels_left_out = reader.integer_or("kernels_left_out", 0, 0, k_figure_max);
  record.warnings_left_out = reader.integer_or("warnings_left_out", 0, 0, k_figure_max);
  record.spilling_left_out = reader.integer_or("spilling_left_out", 0, 0, k_figure_max);
  for (const auto& [key, list] : {std::pair{"kernels", kernels}, std::pair{"warnings", warnings}}) {
    if (list == nullptr || !list->is_array()) reader.fail(key, "must be a list");
  }
  WB_TRY(reader.finish(true));
  if (const auto codes = json.find("codes_left_out"); codes != json.end()) {
    ObjectReader fields(*codes, "the codes left out of the ptxas record");
    for (const auto& [code, count] : codes->items()) {
      record.codes_left_out[code] = fields.integer(code, 1, k_figure_max);
    }
    WB_TRY(fields.finish(true));
  }
  for (const Json& item : *kernels) {
    ObjectReader fields(item, "a kernel of the ptxas record");
    const auto figure = [&](const char* key) { return fields.integer(key, 0, k_figure_max); };
    record.kernels.push_back({.kernel = fields.string("kernel"),
                              .registers = figure("registers"),
                              .stack_bytes = figure("stack_bytes"),
                              .spill_store_bytes = figure("spill_store_bytes"),
                              .spill_load_bytes = figure("spill_load_bytes"),
                              .shared_bytes = figure("shared_bytes"),
                              .constant_bytes = figure("constant_bytes"),
                              .barriers = figure("barriers")});
    WB_TRY(fields.finish(true));
  }
  for (const Json& item : *warnings) {
    ObjectReader fields(item, "a warning of the ptxas record");
    record.warnings.push_back({.code = fields.string("code"),
                               .text = fields.string("text"),
                               .kernel = fields.string("kernel"),
                               .count = fields.integer("count", 1, k_figure_max)});
    WB_TRY(fields.finish(true));
  }
  return record;
}

}  // namespace wb::variant
