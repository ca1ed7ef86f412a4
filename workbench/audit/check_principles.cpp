// SPDX-License-Identifier: MIT
// Checks six rules for findings about the attention of a profile: the kind of attention comes
// first, efficiency is judged by length, paged attention by its workload, unfused attention is to
// be replaced, advice is of both kinds, and the share of context tokens decides what to inspect.
// After a failure there must be no findings.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

using Words = std::initializer_list<std::string_view>;

bool has_any(std::string_view lower, Words words) {
  return std::any_of(words.begin(), words.end(),
                     [&](auto word) { return lower.find(word) != std::string_view::npos; });
}

/// The parts of a findings page that the rules use.
struct Page {
  const Facts& facts;
  std::string type;     ///< the line that tells the kind of attention, in lower case
  int type_line = 0;    ///< 0 if there is none
  int judged_line = 0;  ///< the first heading of bottlenecks or recommendations; 0 if there is none
  std::string advice;   ///< all below headings of recommendations, in lower case
  int advice_line = 0;  ///< the first such heading
  std::string bottlenecks;   ///< the same of bottlenecks
  int bottlenecks_line = 0;  ///<

  explicit Page(const Facts& of) : facts(of) {
    for (const Section& section : facts.document.sections) {
      note(section, "recommendation", advice_line);
      note(section, "bottleneck", bottlenecks_line);
    }
    for (const Line& line : facts.document.lines) {
      const std::string path = facts.document.path_of(line.section);
      if (path.find("recommendation") != std::string::npos) advice += line.lower + "\n";
      if (path.find("bottleneck") != std::string::npos) bottlenecks += line.lower + "\n";
      if (type_line == 0 && tells_type(line)) {
        type = line.lower;
        type_line = line.number;
      }
    }
    judged_line = std::min(advice_line > 0 ? advice_line : bottlenecks_line,
                           bottlenecks_line > 0 ? bottlenecks_line : advice_line);
  }

  [[nodiscard]] bool is_type(Words words) const {
    return has_any(type, words) && !has_any(type, {"no paged", "no unfused", "not detected"});
  }

 private:
  static void note(const Section& section, std::string_view word, int& line) {
    if (line == 0 && section.title.find(word) != std::string::npos) line = section.line;
  }
  static bool tells_type(const Line& line) {
    const auto label = label_of(line.plain);
    return label && label->label.find("attention") != std::string::npos &&
           has_any(label->label, {"type", "implementation"});
  }
};

/// The section whose title marks a findings page, "# SDPA Forward Analysis Findings", or null.
const Section* findings_title(const Document& document) {
  for (const Section& section : document.sections) {
    if (section.level != 1) continue;
    if (!has_any(section.title, {"finding"})) return nullptr;
    const bool is_about_kernels =
        std::any_of(document.lines.begin(), document.lines.end(), [](const Line& line) {
          return has_any(line.lower, {"gpu", "kernel", "flash", "paged", "status"});
        });
    const bool is_page = has_any(section.title, {"sdpa"}) ||
                         (has_any(section.title, {"attention"}) && is_about_kernels);
    return is_page ? &section : nullptr;
  }
  return nullptr;
}

bool is_none(const std::string& text) {
  return trimmed(text).starts_with("none") || has_any(text, {"\nnone.", "\nnone:"});
}

void doubt(Notes& notes, int line, std::string printed, std::string computed, std::string meaning,
           Severity severity = Severity::doubtful) {
  notes.add({.severity = severity,
             .line = line,
             .printed = std::move(printed),
             .computed = std::move(computed),
             .meaning = std::move(meaning)});
}

void check_type_first(const Page& page, int title, Notes& notes) {
  if (page.type_line == 0) {
    doubt(notes, title, "findings about attention", "no line tells the kind of attention",
          "flash, paged or unfused: what is to be expected and advised differs");
  } else if (page.judged_line > 0 && page.type_line > page.judged_line) {
    doubt(notes, page.type_line, "the kind of attention",
          fmt::format("told after line {}, where it is judged already", page.judged_line),
          "what is to be expected and advised depends on the kind of attention");
  } else {
    notes.held(page.type_line, "the kind of attention is told before it is judged");
  }
}

/// The lowest expected efficiency for a sequence length; the bands of docs/guide/trace.md.
double expected_from(double length) {
  constexpr std::array<std::pair<double, double>, 4> k_bands{
      {{1024, 5}, {2048, 20}, {4096.5, 40}, {1e30, 50}}};
  return std::find_if(k_bands.begin(), k_bands.end(),
                      [&](auto& band) { return length < band.first; })
      ->second;
}

/// The sequence length on the line, the first whole number after its name: "N=128", "N_Q = N_KV =
/// 32768", "sequence length 4096".
std::optional<double> length_in(const Facts& facts, const Line& line) {
  for (const std::string_view name : {"n_q", "n", "seq_len", "sequence length", "seq", "s"}) {
    for (auto at = find_word(line.lower, name); at; at = find_word(line.lower, name, *at + 1)) {
      const std::size_t end = *at + name.size();
      const std::string_view rest = std::string_view(line.lower).substr(end);
      const std::size_t digit = rest.find_first_not_of(" =:");
      const bool named = digit != std::string_view::npos &&
                         (name.size() > 3 || rest.substr(0, digit).find('=') != rest.npos);
      if (!named) continue;
      for (const Figure& figure : facts.of(line.number)) {
        const bool behind = figure.begin >= end && figure.begin <= end + digit + 8;
        if (behind && figure.unit == Unit::none && figure.value >= 1) return figure.value;
      }
    }
  }
  return std::nullopt;
}

/// Reports a bottleneck whose efficiency is usual for its sequence length.
void check_lengths(const Page& page, Notes& notes) {
  const Document& document = page.facts.document;
  bool tells_lengths = false;
  int judged = 0, first = 0;
  for (std::size_t n = 0; n < document.sections.size(); ++n) {
    const std::string path = document.path_of(static_cast<int>(n));
    const bool is_judged = path.find("bottleneck") != std::string::npos;
    std::optional<double> length;
    std::optional<Figure> efficiency;
    int at = 0;
    bool excused = false;
    for (const Line& line : document.lines) {
      if (line.section != static_cast<int>(n)) continue;
      const auto told = length_in(page.facts, line);
      tells_lengths = tells_lengths || told || has_any(line.lower, {"n_q", "sequence length"});
      if (!length) length = told;
      excused = excused || has_any(line.lower, {"expected", "normal", "short sequence", "band"});
      if (efficiency || line.lower.find("efficiency") == std::string::npos) continue;
      for (const Figure& figure : page.facts.of(line.number)) {
        if (figure.unit != Unit::percent || figure.bounded || efficiency) continue;
        efficiency = figure;
        at = line.number;
      }
    }
    if (!is_judged || !efficiency) continue;
    ++judged;
    if (first == 0) first = at;
    if (!length || excused || efficiency->value < expected_from(*length)) continue;
    doubt(notes, at, efficiency->printed + fmt::format(" at N = {:g}", *length),
          fmt::format("from {:g} % on is expected at that length", expected_from(*length)),
          "short sequences have low efficiency by nature: this is no bottleneck of a kernel");
  }
  if (judged == 0) return;
  if (tells_lengths) {
    notes.held(first, "efficiencies stand beside lengths");
  } else {
    doubt(notes, first, "an efficiency that is judged", "no length of a sequence on the page",
          "what is to be expected grows with the length");
  }
}

void check_kind_of_advice(const Page& page, Notes& notes) {
  const bool has_bottleneck = page.bottlenecks_line > 0 && !is_none(page.bottlenecks);
  if (page.advice_line == 0) {
    if (!has_bottleneck) return;
    doubt(notes, page.bottlenecks_line, "bottlenecks", "no section of recommendations",
          "each bottleneck asks for advice of both kinds");
    return;
  }
  if (is_none(page.advice)) return;
  std::string missing;
  if (!has_any(page.advice, {"algorithm"})) missing = "algorithmic";
  if (!has_any(page.advice, {"kernel"})) missing += missing.empty() ? "kernel" : " and kernel";
  if (missing.empty()) {
    notes.held(page.advice_line, "advice is of both kinds, algorithmic and kernel");
  } else {
    doubt(notes, page.advice_line, "recommendations", "no advice of the kind: " + missing,
          "what is computed and how it is computed are two ways to be faster");
  }
}

void check_unfused(const Page& page, Notes& notes) {
  if (!page.is_type({"unfused", "standard"}) || page.advice_line == 0) return;
  if (has_any(page.advice, {"flash", "fused"})) {
    notes.held(page.advice_line, "unfused attention is told to be replaced");
  } else {
    doubt(notes, page.advice_line, "recommendations about unfused attention",
          "none of them is to fuse it",
          "a fused kernel is the largest gain that is known, 3 to 10 "
          "times");
  }
}

struct Ratio {
  double value = 0;
  int line = 0;
  std::string row;  ///< the rest of its row, in lower case
};

std::vector<Ratio> context_ratios(const Facts& facts) {
  std::vector<Ratio> ratios;
  const auto add = [&](const Figure& figure, int line) {
    const bool is_share = figure.unit == Unit::none && figure.value >= 0;
    if (is_share && !figure.bounded)
      ratios.push_back({figure.value, line, facts.document.at(line).lower});
  };
  for (const TableFacts& table : facts.tables) {
    for (std::size_t n = 0; n < table.columns.size(); ++n) {
      if (!has_any(table.columns[n].name, {"ctx_ratio", "context ratio"})) continue;
      for (const Row& row : table.table->rows) {
        if (const auto figure = table.figure(row, n)) add(*figure, row.line);
      }
    }
  }
  for (const Line& line : facts.document.lines) {
    const std::size_t at = std::min(line.lower.find("ctx_ratio"), line.lower.find("context ratio"));
    if (at == std::string::npos || line.in_table) continue;
    for (const Figure& figure : facts.of(line.number)) {
      if (figure.begin < at) continue;
      add(figure, line.number);
      break;
    }
  }
  return ratios;
}

void check_workload(const Page& page, Notes& notes) {
  const std::vector<Ratio> ratios = context_ratios(page.facts);
  for (const Ratio& ratio : ratios) {
    if (ratio.value > 1) {
      doubt(notes, ratio.line, fmt::format("a share of context tokens of {:g}", ratio.value),
            "a share lies between 0 and 1", "the tokens were counted otherwise",
            Severity::contradiction);
      continue;
    }
    const bool prefill = has_any(ratio.row, {"prefill_heavy", "prefill-heavy", "prefill heavy"});
    const bool decode = has_any(ratio.row, {"decode_heavy", "decode-heavy", "decode heavy"});
    if (prefill == decode) continue;
    if (prefill ? ratio.value > 0.8 : ratio.value < 0.2) {
      notes.held(ratio.line, fmt::format("a share of context tokens of {:g} is {}", ratio.value,
                                         prefill ? "prefill-heavy" : "decode-heavy"));
    } else {
      doubt(notes, ratio.line, prefill ? "prefill-heavy" : "decode-heavy",
            fmt::format("its share of context tokens is {:g}; {}", ratio.value,
                        prefill ? "prefill-heavy is above 0.8" : "decode-heavy is below 0.2"),
            "the workload decides which kernel is looked at", Severity::contradiction);
    }
  }
  if (page.is_type({"paged"})) {
    const bool told =
        !ratios.empty() || std::any_of(page.facts.document.lines.begin(),
                                       page.facts.document.lines.end(), [&](const Line& line) {
                                         return has_any(line.lower, {"prefill", "decod", "mixed"});
                                       });
    if (told) {
      notes.held(page.type_line, "the workload of paged attention is told");
    } else {
      doubt(notes, page.type_line, "paged attention", "neither prefill nor decode is named",
            "what is to be expected of paged attention depends on its workload");
    }
  }
  if (ratios.empty() || page.advice_line == 0) return;
  const auto all = [&](auto holds) { return std::all_of(ratios.begin(), ratios.end(), holds); };
  const bool on_prefill = has_any(page.advice, {"prefill", "_fwd_kernel", "unified"});
  const bool on_decode = has_any(page.advice, {"decod", "paged_attention", "unified"});
  if (all([](auto& ratio) { return ratio.value > 0.8; }) && on_decode && !on_prefill) {
    doubt(notes, page.advice_line, "advice about decoding only",
          fmt::format("the share of context tokens is {:g} (line {})", ratios.front().value,
                      ratios.front().line),
          "most of the work is prefill: its kernel comes first");
  } else if (all([](auto& ratio) { return ratio.value < 0.2; }) && on_prefill && !on_decode) {
    doubt(notes, page.advice_line, "advice about prefill only",
          fmt::format("the share of context tokens is {:g} (line {})", ratios.front().value,
                      ratios.front().line),
          "most of the work is decoding: its kernel comes first");
  }
}

/// Reports findings on a page that says that it failed or found nothing. Returns whether the page
/// says so.
bool check_without_findings(const Page& page, Notes& notes) {
  for (const Line& line : page.facts.document.lines) {
    const auto label = label_of(line.plain);
    const bool failed = label && label->label == "status" &&
                        has_word(std::string_view(line.lower).substr(label->rest), "error");
    if (!failed && !has_any(line.lower, {"no sdpa operations found", "no sdpa operation that is",
                                         "nothing could be looked at"})) {
      continue;
    }
    const char* said = failed ? "Status: ERROR" : "no operations found";
    if (page.judged_line == 0) {
      notes.held(line.number, fmt::format("{}, and no findings", said));
    } else {
      doubt(notes, page.judged_line, "bottlenecks or recommendations",
            fmt::format("line {} says {}", line.number, said),
            "what could not be analyzed has no findings", Severity::contradiction);
    }
    return true;
  }
  return false;
}

}  // namespace

void check_principles(const Facts& facts, Notes& notes) {
  const Section* title = findings_title(facts.document);
  if (title == nullptr) return;
  const Page page(facts);
  if (check_without_findings(page, notes)) return;
  check_type_first(page, title->line, notes);
  check_lengths(page, notes);
  check_workload(page, notes);
  check_unfused(page, notes);
  check_kind_of_advice(page, notes);
}

}  // namespace wb::audit
