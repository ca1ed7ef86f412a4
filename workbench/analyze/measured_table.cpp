// SPDX-License-Identifier: MIT
#include "analyze/measured_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "analyze/table_cells.hpp"

namespace wb::analyze {

using problem::Problem;

namespace {

constexpr std::size_t k_most_gaps = 50;

/// The columns of the figures.
struct Columns {
  std::map<std::string, std::size_t> sizes;  ///< token of a problem text -> column
  std::optional<std::size_t> problem, ours, reference;
  /// The provider column, which says whose the row's time is, and the providers that are read.
  std::optional<std::size_t> provider;
  std::string ours_name, reference_name;
  double ours_unit_us = 0, reference_unit_us = 0;  ///< microseconds per unit
};

Error invalid(std::string_view what, std::string reason, std::string advice) {
  return {ErrorCode::invalid, "read the table of", std::string(what), std::move(reason),
          std::move(advice)};
}

bool has_word(const std::string& name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

bool is_reference_name(const std::string& name) {
  return has_word(name, {"torch", "sdpa", "cudnn", "flash", "baseline", "reference"});
}

/// True for quantiles and deviations, which are times but not a row's figure.
bool is_side_figure(const std::string& name) {
  return has_word(name, {"std", "dev", "min", "max", "p90", "p95", "p99", "low", "high", "err"});
}

bool is_provider_name(const std::string& header) {
  static constexpr std::array<std::string_view, 8> k_names{
      "provider", "impl", "implementation", "backend", "kernel", "method", "library", "variant"};
  return std::find(k_names.begin(), k_names.end(), read_header_cell(header).name) != k_names.end();
}

struct TimeColumn {
  std::size_t column = 0;
  std::string name;
  double unit_us = 0;
};

std::vector<TimeColumn> time_columns(const TextRow& header) {
  std::vector<TimeColumn> times;
  for (std::size_t c = 0; c < header.cells.size(); ++c) {
    const HeaderCell cell = read_header_cell(header.cells[c]);
    // "Seq (S)" is a size, although it ends like seconds.
    const bool is_size = !size_token(header.cells[c]).empty();
    if (cell.unit_us > 0 && !is_size) times.push_back({c, cell.name, cell.unit_us});
  }
  return times;
}

/// The requested column, else the only one of its side.
Result<std::optional<TimeColumn>> pick(const TextRow& header, const std::vector<TimeColumn>& times,
                                       const std::string& asked, bool is_reference,
                                       std::string_view what) {
  std::vector<TimeColumn> found;
  for (const TimeColumn& time : times) {
    const bool is_asked = !asked.empty() && header.cells[time.column] == asked;
    const bool is_side =
        asked.empty() && is_reference_name(time.name) == is_reference && !is_side_figure(time.name);
    if (is_asked || is_side) found.push_back(time);
  }
  const std::string option = is_reference ? "--reference" : "--ours";
  if (found.size() == 1) return std::optional(found.front());
  if (!asked.empty()) {
    return invalid(what,
                   fmt::format("{} \"{}\" is {} of its columns of times", option, printable(asked),
                               found.empty() ? "none" : "more than one"),
                   fmt::format("columns: {}",
                               printable(fmt::format("{}", fmt::join(header.cells, ", ")), 400)));
  }
  if (found.empty()) return std::optional<TimeColumn>{};
  return invalid(what,
                 fmt::format("\"{}\" and \"{}\" may both be times of {}",
                             printable(header.cells[found[0].column]),
                             printable(header.cells[found[1].column]),
                             is_reference ? "the reference" : "ours"),
                 "name one with " + option);
}

/// Rows of several implementations in one column of times: one is ours, one the reference. Errors:
/// invalid (ambiguous).
Result<void> pick_providers(const TextTable& table, const TableReading& reading,
                            std::string_view what, Columns& columns) {
  std::vector<std::string> ours, references;
  for (const TextRow& row : table.rows) {
    if (row.cells.size() != table.header.cells.size()) continue;
    const std::string& name = row.cells[*columns.provider];
    const bool is_reference =
        name == reading.reference ||
        (name != reading.ours && is_reference_name(read_header_cell(name).name));
    auto& names = is_reference ? references : ours;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const auto choose = [&](std::vector<std::string>& names, const std::string& asked,
                          std::string_view side, std::string& chosen) -> Result<void> {
    if (std::find(names.begin(), names.end(), asked) != names.end()) names = {asked};
    if (names.size() > 1) {
      return invalid(
          what,
          fmt::format("its rows are of several implementations: \"{}\" and \"{}\" may both "
                      "be {}",
                      printable(names[0]), printable(names[1]), side),
          fmt::format("name one with --{}", side));
    }
    if (!names.empty()) chosen = names[0];
    return {};
  };
  WB_TRY(choose(ours, reading.ours, "ours", columns.ours_name));
  return choose(references, reading.reference, "reference", columns.reference_name);
}

Result<Columns> columns_of(const TextTable& table, const TableReading& asked,
                           std::string_view what) {
  const TextRow& header = table.header;
  TableReading reading = asked;
  Columns columns;
  for (std::size_t c = 0; c < header.cells.size(); ++c) {
    // "kernel (us)" is a time.
    const bool is_time = read_header_cell(header.cells[c]).unit_us > 0;
    if (!is_time && is_provider_name(header.cells[c])) columns.provider = c;
  }
  if (time_columns(header).size() != 1) columns.provider.reset();
  if (columns.provider) {
    const auto is_column = [&](const std::string& name) {
      return std::find(header.cells.begin(), header.cells.end(), name) != header.cells.end();
    };
    if (!is_column(reading.ours)) reading.ours.clear();
    if (!is_column(reading.reference)) reading.reference.clear();
  }
  std::set<std::string> names;
  for (const std::string& cell : header.cells) {
    if (cell.empty() || names.insert(cell).second) continue;
    return invalid(what, fmt::format("it has two columns \"{}\"", printable(cell)),
                   "rename one of them");
  }
  for (std::size_t c = 0; c < header.cells.size(); ++c) {
    const std::string token = size_token(header.cells[c]);
    if (token.empty()) continue;
    if (token == "problem") {
      columns.problem = c;
    } else if (!columns.sizes.emplace(token, c).second) {
      return invalid(
          what,
          fmt::format("\"{}\" and another column both are {}", printable(header.cells[c]), token),
          "rename one of them");
    }
  }
  const auto times = time_columns(header);
  WB_TRY_ASSIGN(const auto ours, pick(header, times, reading.ours, false, what));
  WB_TRY_ASSIGN(const auto reference, pick(header, times, reading.reference, true, what));
  if (ours) {
    columns.ours = ours->column;
    columns.ours_unit_us = ours->unit_us;
  }
  if (reference) {
    columns.reference = reference->column;
    columns.reference_unit_us = reference->unit_us;
  }
  if (columns.provider && (ours || reference)) {
    WB_TRY(pick_providers(table, asked, what, columns));
    const auto& time = ours ? ours : reference;
    columns.ours = columns.reference = time->column;
    columns.ours_unit_us = columns.reference_unit_us = time->unit_us;
    return columns;
  }
  if (!ours && !reference) {
    return invalid(what, "no column says in its header that it is a time, with a unit",
                   "write for example \"ours (ms)\" or \"sdpa_us\"; units: s, ms, us, ns");
  }
  return columns;
}

/// The row's problem: its cells take precedence over --shape.
Result<Problem> problem_of(const TextRow& row, const Columns& columns,
                           const std::vector<Token>& shape) {
  std::vector<Token> tokens;
  const auto add = [&](const Token& token) {
    const bool is_there = std::any_of(tokens.begin(), tokens.end(),
                                      [&](const Token& other) { return other.key == token.key; });
    if (!is_there) tokens.push_back(token);
  };
  for (const auto& [key, column] : columns.sizes) {
    if (row.cells[column].empty()) {
      return Error{ErrorCode::invalid, "read", "the row",
                   fmt::format("its cell of {} is empty (merged with another?)", key), ""};
    }
    add({key, row.cells[column]});
  }
  if (columns.problem) {
    for (const Token& token : problem_tokens(row.cells[*columns.problem])) add(token);
  }
  for (const Token& token : shape) add(token);
  const bool has_dtype = std::any_of(tokens.begin(), tokens.end(),
                                     [](const Token& token) { return token.key == "dtype"; });
  if (!has_dtype) {
    return Error{ErrorCode::invalid, "read", "the row", "it does not say its dtype",
                 "give it with --shape, as in --shape \"f16\""};
  }
  std::string text;
  for (const Token& token : tokens) {
    WB_TRY_ASSIGN(const std::string word, problem_word(token));
    text += (text.empty() ? "" : " ") + word;
  }
  return problem::parse_problem(text);
}

/// Without the parts that readers of the table assume.
std::string short_name(const Problem& problem) {
  std::string text = problem::to_text(problem);
  const auto drop = [&](const std::string& words) {
    const auto at = text.find(words);
    if (at != std::string::npos) text.erase(at, words.size());
  };
  if (problem.Hkv == problem.Hq) drop(fmt::format(" Hkv={}", problem.Hkv));
  if (problem.Skv == problem.Sq) drop(fmt::format(" Skv={}", problem.Skv));
  drop(" causal=none");
  return text;
}

class Reader {
 public:
  Reader(const TextTable& table, Columns columns, const TableReading& reading)
      : m_table(table),
        m_columns(std::move(columns)),
        m_reading(reading),
        m_shape(problem_tokens(reading.shape)) {}

  TableEvidence read() {
    for (const TextRow& row : m_table.rows) read_row(row);
    if (m_left_out > 0) {
      m_result.gaps.push_back(fmt::format("{} more gaps are not told", m_left_out));
    }
    return std::move(m_result);
  }

 private:
  void gap(const TextRow& row, const std::string& words) {
    if (m_result.gaps.size() < k_most_gaps) {
      m_result.gaps.push_back(fmt::format("line {}: {}", row.line, words));
    } else {
      ++m_left_out;
    }
  }

  void read_row(const TextRow& row) {
    bool is_ours = true, is_reference = true;
    if (m_columns.provider && row.cells.size() == m_table.header.cells.size()) {
      const std::string& name = row.cells[*m_columns.provider];
      is_ours = name == m_columns.ours_name;
      is_reference = name == m_columns.reference_name;
      m_provider = name;
      if (!is_ours && !is_reference) {
        if (m_others.insert(name).second) {
          gap(row, fmt::format("rows of \"{}\" are neither ours nor the reference's: left out",
                               printable(name, 60)));
        }
        return;
      }
    }
    if (row.cells.size() != m_table.header.cells.size()) {
      gap(row, fmt::format("{} cells below a header of {} (merged cells?): the row is left out",
                           row.cells.size(), m_table.header.cells.size()));
      return;
    }
    auto problem = problem_of(row, m_columns, m_shape);
    if (!problem.ok()) {
      const Error& error = problem.error();
      gap(row, fmt::format("the row is left out: {}{}{}", printable(error.cause, 200),
                           error.next.empty() ? "" : "; ", printable(error.next, 200)));
      return;
    }
    if (const auto first =
            m_lines.emplace(m_provider + "\n" + problem::to_text(*problem), row.line);
        !first.second) {
      gap(row, fmt::format("the problem of line {} again; both count", first.first->second));
    }
    problem->name = short_name(*problem);
    const bool has_ours =
        is_ours && add(row, *problem, m_columns.ours, m_columns.ours_unit_us, false);
    const bool has_reference =
        is_reference && add(row, *problem, m_columns.reference, m_columns.reference_unit_us, true);
    if (has_ours || has_reference) ++m_result.rows;
  }

  bool add(const TextRow& row, const Problem& problem, std::optional<std::size_t> column,
           double unit_us, bool is_reference) {
    if (!column) return false;
    const std::string& name = m_columns.provider ? m_provider : m_table.header.cells[*column];
    const auto time_us = time_of_cell(row.cells[*column], unit_us);
    if (!time_us) {
      gap(row, fmt::format("\"{}\" of {} is no positive time: it is left out",
                           printable(row.cells[*column], 40), printable(name, 60)));
      return false;
    }
    measure::Observation observation;
    observation.problem = problem;
    observation.subject = printable(name, 60);
    observation.plan = m_reading.plan;
    observation.measurement.median_us = *time_us;
    m_result.evidence.observations.push_back(observation);
    if (is_reference) m_result.evidence.beside.push_back(std::move(observation));
    return true;
  }

  const TextTable& m_table;
  Columns m_columns;
  const TableReading& m_reading;
  std::vector<Token> m_shape;
  std::map<std::string, std::size_t> m_lines;  ///< problem -> line of its first row
  std::string m_provider;                      ///< of the present row, if rows name it
  std::set<std::string> m_others;
  TableEvidence m_result;
  std::size_t m_left_out = 0;
};

}  // namespace

Result<TableEvidence> read_measured_table(std::string_view text, std::string_view what,
                                          const TableReading& reading) {
  WB_TRY_ASSIGN(const std::vector<TextTable> tables, read_tables(text, what));
  const TextTable* chosen = nullptr;
  std::string others;
  for (const TextTable& table : tables) {
    if (time_columns(table.header).empty()) continue;
    if (chosen == nullptr) {
      chosen = &table;
    } else {
      others += fmt::format("{}{}", others.empty() ? "" : ", ", table.header.line);
    }
  }
  const TextTable& table = chosen == nullptr ? tables.front() : *chosen;
  WB_TRY_ASSIGN(Columns columns, columns_of(table, reading, what));
  if (columns.sizes.empty() && !columns.problem) {
    return invalid(what, "no column says the sizes of a row's problem",
                   "name columns B, H, S, D, dtype, or one \"problem\" with texts such as "
                   "\"B=4 H=8 S=512 D=64 f16\"");
  }
  TableEvidence result = Reader(table, std::move(columns), reading).read();
  if (!others.empty()) {
    result.gaps.push_back("other tables with times were not read, on lines " + others);
  }
  if (result.rows > 0) return result;
  return invalid(what, fmt::format("no row has a problem and a time; {}", result.gaps.front()),
                 "mend the rows, or give what they leave out with --shape");
}

}  // namespace wb::analyze
