// SPDX-License-Identifier: MIT
// Checks words that the document's own figures contradict ("bit-exact" beside a difference,
// "shortest" beside a shorter row), statements that are known to be wrong, and advice for code that
// the sources do not contain. The patterns are data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

bool has_any(const std::string& lower, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](auto word) { return lower.find(word) != std::string::npos; });
}

std::optional<Figure> first_difference(const Facts& facts, int& line_number) {
  for (const Line& line : facts.document.lines) {
    if (!has_any(line.lower, {"max diff", "max_diff", "max difference", "maximum difference",
                              "max abs error", "max error"})) {
      continue;
    }
    for (const Figure& figure : facts.of(line.number)) {
      if (figure.unit == Unit::none && !figure.bounded && figure.value > 0 && figure.value < 1) {
        line_number = line.number;
        return figure;
      }
    }
  }
  return std::nullopt;
}

/// Whether the line compares two things or describes an earlier state.
bool is_contrast(const std::string& lower) {
  static constexpr std::array<std::string_view, 14> k_words{
      "while", "whereas", "but",    "except",   "unlike", "however", "wrong",
      "bug",   "fixed",   "before", "previous", "old",    "other",   "instead"};
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](auto word) { return has_word(lower, word); });
}

bool says_exact(const Line& line) {
  return has_any(line.lower,
                 {"bit-exact", "bit exact", "bitwise identical", "bit-identical", "bitwise equal"});
}

/// The first limit in a line about differences or thresholds: "max_diff < 0.002".
std::optional<Figure> told_threshold(const Facts& facts, int& line_number) {
  for (const Line& line : facts.document.lines) {
    if (!has_any(line.lower, {"max diff", "max_diff", "threshold", "tolerance"})) continue;
    for (const Figure& bound : facts.of(line.number)) {
      if (bound.bounded && bound.unit == Unit::none && bound.value > 0) {
        line_number = line.number;
        return bound;
      }
    }
  }
  return std::nullopt;
}

/// Checks "(98% under threshold)" on the line of a difference, if the document states a threshold.
void check_threshold(const Facts& facts, const Figure& difference, int at, Notes& notes) {
  if (!has_any(facts.document.at(at).lower, {"under threshold", "below threshold"})) return;
  const auto& figures = facts.of(at);
  const auto percent = std::find_if(figures.begin(), figures.end(), [](const Figure& figure) {
    return figure.unit == Unit::percent;
  });
  int told = 0;
  const auto bound = told_threshold(facts, told);
  if (percent == figures.end() || !bound) return;
  const double under = 100 * (1 - difference.value / bound->value);
  const std::string formula = fmt::format("1 - {} / {} (line {}) = {} %", difference.printed,
                                          bound->printed, told, show(under));
  if (percent->result().meets({under, under})) {
    notes.held(at, formula + ", printed " + percent->printed);
    return;
  }
  notes.add({.severity = Severity::doubtful,
             .line = at,
             .printed = percent->printed + " under threshold",
             .computed = formula,
             .meaning = "not of the only threshold that the document tells",
             .tolerance = tolerance_of(*percent),
             .also = {told}});
}

struct Superlative {
  std::string_view word;
  bool least;
};
constexpr std::array<Superlative, 6> k_superlatives{{{"shortest", true},
                                                     {"lowest", true},
                                                     {"smallest", true},
                                                     {"longest", false},
                                                     {"highest", false},
                                                     {"largest", false}}};

struct Statement {
  std::initializer_list<std::string_view> subject;  ///< the line has one of these words
  std::initializer_list<std::string_view> claim;  ///< and one of these, in the same line or heading
  std::string_view printed, fact;
};

/// Known facts about algorithms; the document's figures need not show them.
const std::array<Statement, 1> k_statements{{
    {{"flashattention-2", "flash attention 2", "fa-2", "fa2"},
     {"kv_tiles)", "kv_tile)", "parallel k/v", "parallelize k/v", "splits kv", "splits k/v",
      "split kv", "kv tiles in parallel"},
     "FlashAttention-2 as parallel over keys and values",
     "FlashAttention-2's forward grid runs over query tiles, batch and heads, and each block loops "
     "over the keys (arXiv 2307.08691, section 3.2); splitting keys over blocks is split-KV "
     "decoding (Flash-Decoding)"},
}};

/// The first line of a source that contains one of the words as a whole word.
std::optional<int> find_first(const Source& source, std::initializer_list<std::string_view> words) {
  std::size_t best = std::string::npos;
  for (const std::string_view word : words) {
    best = std::min(best, find_word(source.lower, word).value_or(std::string::npos));
  }
  if (best == std::string::npos) return std::nullopt;
  return 1 +
         static_cast<int>(std::count(
             source.lower.begin(), source.lower.begin() + static_cast<std::ptrdiff_t>(best), '\n'));
}

}  // namespace

void check_exactness(const Facts& facts, Notes& notes) {
  int at = 0;
  const auto difference = first_difference(facts, at);
  if (!difference) return;
  const int section = facts.document.at(at).section;
  const auto& lines = facts.document.lines;
  // A document that says it several times may mean different kernels.
  const bool often = std::count_if(lines.begin(), lines.end(), says_exact) > 1;
  for (const Line& line : lines) {
    // Another section is about another kernel or another attempt.
    if (line.section != section) continue;
    if (says_exact(line) && !has_any(line.lower, {"not bit", "no bit", "runs", "repeat",
                                                  "determinis", "across", "%"})) {
      // "the first try was off by 3e-3 while the other was bit-exact" is about two kernels.
      constexpr int k_near = 3;
      constexpr std::size_t k_long = 300;
      const Line& told = facts.document.at(at);
      const bool apart = often || is_contrast(line.lower) || is_contrast(told.lower) ||
                         line.in_table || told.in_table || std::abs(line.number - at) > k_near ||
                         line.plain.size() > k_long;
      notes.add(
          {.severity = apart ? Severity::doubtful : Severity::contradiction,
           .line = line.number,
           .printed = "bit-exact",
           .computed =
               fmt::format("line {}: a difference of {}, and 0 is exact", at, difference->printed),
           .meaning = apart ? "within a tolerance is not bit-exact, if both are about one thing"
                            : "within a tolerance is not bit-exact",
           .also = {at}});
    }
  }
  check_threshold(facts, *difference, at, notes);
}

void check_superlatives(const Facts& facts, Notes& notes) {
  for (const Line& line : facts.document.lines) {
    if (line.in_table) continue;
    for (const Superlative& word : k_superlatives) {
      const auto at = find_word(line.lower, word.word);
      if (!at) continue;
      const std::size_t open = line.lower.find('(', *at);
      if (open == std::string::npos || open - *at > 50) continue;
      const std::string what =
          trimmed(std::string_view(line.lower)
                      .substr(*at + word.word.size(), open - *at - word.word.size()));
      const auto claimed = figure_at(line.plain, open + 1);
      if (!claimed || what.find(' ') == std::string::npos) continue;
      for (const TableFacts& table : facts.tables) {
        for (std::size_t column = 0; column < table.columns.size(); ++column) {
          if (lower_of(table.table->headers[column]) != what) continue;
          for (const Row& row : table.table->rows) {
            const auto figure = table.figure(row, column);
            if (!figure || figure->unit != claimed->unit) continue;
            const bool beats = word.least ? figure->high < claimed->value - claimed->step
                                          : figure->value > claimed->high + claimed->step;
            if (!beats) continue;
            // A figure that is absent from the column belongs to another column.
            const bool stands = std::any_of(
                table.table->rows.begin(), table.table->rows.end(), [&](const Row& other) {
                  const auto one = table.figure(other, column);
                  return one && one->unit == claimed->unit && one->value == claimed->value &&
                         one->high == claimed->high;
                });
            notes.add({.severity = stands ? Severity::contradiction : Severity::doubtful,
                       .line = line.number,
                       .printed = fmt::format("{} {} ({})", word.word, what, claimed->printed),
                       .computed = fmt::format("line {}: {}", row.line, figure->printed),
                       .meaning = "the table has one that goes further",
                       .tolerance = tolerance_of(*claimed),
                       .also = {row.line}});
            break;
          }
        }
      }
    }
  }
}

void check_statements(const Facts& facts, Notes& notes) {
  for (const Statement& statement : k_statements) {
    std::vector<int> lines;
    for (const Line& line : facts.document.lines) {
      const std::string title =
          facts.document.sections[static_cast<std::size_t>(line.section)].title;
      const bool subject = has_any(line.lower, statement.subject);
      const bool below = has_any(title, statement.subject) &&
                         !has_any(title, {"vs", " or ", "versus"}) && !line.in_table;
      // Warps of one block may indeed split the keys, and a list of features may describe several
      // kernels.
      const bool denied =
          has_any(line.lower, {"unlike", "instead of", "not ", "rather than", "warp", "split kv/q",
                               "attention-1", "basic", "decoding", "split q"});
      if ((subject || below) && !denied && has_any(line.lower, statement.claim)) {
        lines.push_back(line.number);
      }
    }
    if (lines.empty()) continue;
    Finding finding{.line = lines.front(),
                    .printed = std::string(statement.printed),
                    .computed = std::string(statement.fact),
                    .meaning = "what is attributed to it is another algorithm"};
    finding.also.assign(lines.begin() + 1, lines.end());
    notes.add(std::move(finding));
  }
}

void check_advice(const Facts& facts, Notes& notes) {
  struct Technique {
    std::string_view name;
    std::initializer_list<std::string_view> words;  ///< words of the advice
    std::initializer_list<std::string_view> code;   ///< words in sources that already follow it
  };
  static const std::array<Technique, 4> k_techniques{
      {{"vector loads",
        {"float4", "vectorized", "vectorised", "vector loads"},
        {"float4", "uint4", "int4", "float2"}},
       {"shared memory padding", {"padding"}, {"pad", "padding", "padded", "k_pad"}},
       {"tensor cores", {"wmma", "tensor core", "mma.sync"}, {"wmma", "mma.sync", "wgmma"}},
       {"asynchronous copies",
        {"cp.async", "async copies", "async copy"},
        {"cp.async", "memcpy_async", "__pipeline_memcpy_async"}}}};
  for (const Line& line : facts.document.lines) {
    const std::string path = facts.document.path_of(line.section);
    const auto label = label_of(line.plain);
    if (!label || label->label != "target" || path.find("recommendation") == std::string::npos) {
      continue;
    }
    for (const Technique& technique : k_techniques) {
      if (!has_any(line.lower, technique.words)) continue;
      Finding finding{.severity = Severity::unknown,
                      .line = line.number,
                      .printed = std::string(technique.name) + " as the next step",
                      .computed =
                          "no line of the document, and no source given beside it, shows "
                          "the kernel at hand",
                      .meaning =
                          "whether the kernel has this already cannot be told: give its "
                          "source beside the report"};
      for (const Source& source : facts.sources) {
        const auto has = find_first(source, technique.code);
        if (!has) continue;
        finding.severity = Severity::contradiction;
        finding.computed = fmt::format("{}:{} has it", source.name, *has);
        finding.meaning = "what is advised is there already";
        break;
      }
      if (!facts.sources.empty() && finding.severity == Severity::unknown) {
        notes.held(line.number,
                   fmt::format("none of {} sources has {}", facts.sources.size(), technique.name));
      } else {
        notes.add(std::move(finding));
      }
    }
  }
}

}  // namespace wb::audit
