// SPDX-License-Identifier: MIT
#include "audit/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/ascii.hpp"

namespace wb::audit {
namespace {

constexpr std::array<std::string_view, 9> k_references{
    "pytorch", "sdpa", "torch", "reference", "baseline", "cudnn", "ref", "eager", "before"};
constexpr std::array<std::string_view, 5> k_ratios{"speedup", "ratio", "slowdown", "vs", "scaling"};

/// Takes a header's unit, in brackets or as its last word. `header` keeps its case, because (H) is
/// not hours.
bool take_unit(Column& column, const std::string& header) {
  const std::size_t open = column.name.find('(');
  std::string word;
  if (open != std::string::npos) {
    const std::size_t close = column.name.find(')', open);
    word = trimmed(std::string_view(header).substr(
        open + 1, close == std::string::npos ? std::string::npos : close - open - 1));
  } else if (const std::size_t space = column.name.rfind(' '); space != std::string::npos) {
    word = header.substr(space + 1);
  } else if (header.size() > 1) {
    word = header;  // "us"
  }
  const auto figure = figure_at("1 " + word, 0);
  if (!figure || figure->unit == Unit::none || word.empty()) return false;
  // "min" is a minimum and "S" a length, unless the header is about a time.
  if (word == "min" || word == "s" || word == "h") {
    static constexpr std::array<std::string_view, 6> k_times{"time",    "duration", "elapsed",
                                                             "runtime", "total",    "wall"};
    const bool is_time = std::any_of(k_times.begin(), k_times.end(), [&](auto known) {
      return column.name.find(known) != std::string::npos;
    });
    const bool is_bracket = open != std::string::npos;
    if (!is_time && (word == "min" || !is_bracket)) return false;
  }
  column.unit = figure->unit;
  column.scale = figure->scale;
  column.name =
      trimmed(std::string_view(column.name)
                  .substr(0, open != std::string::npos                     ? open
                             : column.name.rfind(' ') != std::string::npos ? column.name.rfind(' ')
                                                                           : 0));
  return true;
}

}  // namespace

bool is_spread(const std::string& name) {
  static constexpr std::array<std::string_view, 15> k_words{
      "ci",    "interval", "std", "stddev", "stdev", "sd",  "dev",     "deviation",
      "error", "err",      "sem", "cv",     "iqr",   "mad", "variance"};
  return name.find("+/-") != std::string::npos ||
         std::any_of(k_words.begin(), k_words.end(),
                     [&](auto word) { return has_word(name, word); });
}

namespace {

/// Whether a word in brackets agrees with the role of the letter: "n (dimension)" and "n (nodes)"
/// are not sequence lengths.
bool fits_brackets(Role role, const std::string& name) {
  constexpr std::size_t k_letters = 4;  ///< fewer may be a unit or a symbol
  const std::size_t open = name.find('('), close = name.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return true;
  const std::string inner = name.substr(open + 1, close - open - 1);
  const auto letters = std::count_if(inner.begin(), inner.end(), ascii::is_alpha);
  if (static_cast<std::size_t>(letters) < k_letters || size_of(inner) == role) return true;
  const auto has_piece = [&](std::string_view piece) {
    return inner.find(piece) != std::string::npos;
  };
  switch (role) {
    case Role::sequence:
      return has_piece("seq") || has_piece("len") || has_piece("tok") || has_piece("context");
    case Role::batch:
      return has_piece("batch");
    case Role::heads:
      return has_piece("head");
    case Role::dim:
      return has_piece("dim");
    default:
      return true;
  }
}

}  // namespace

Column column_named(const std::string& header) {
  Column column;
  column.name = lower_of(header);
  for (const auto& [word, scale] :
       {std::pair{"tflop", 1e12}, std::pair{"gflop", 1e9}, std::pair{"mflop", 1e6}}) {
    if (column.name.find(word) == std::string::npos) continue;
    column.role = Role::flop_rate;
    column.unit = Unit::flop_rate;
    column.scale = scale;
    column.reference = std::any_of(k_references.begin(), k_references.end(),
                                   [&](auto name) { return has_word(column.name, name); });
    return column;
  }
  const bool has_unit = take_unit(column, header);
  for (const std::string_view name : k_references) {
    if (has_word(column.name, name)) column.reference = true;
  }
  if (has_unit) {
    if (column.unit == Unit::time && !is_spread(column.name)) column.role = Role::time;
    return column;
  }
  if (column.name.find("expected") != std::string::npos) {
    column.role = Role::expected;
    return column;
  }
  if (std::any_of(k_ratios.begin(), k_ratios.end(),
                  [&](auto word) { return has_word(column.name, word); })) {
    column.role = Role::ratio;
    return column;
  }
  std::string bare = column.name;
  if (const std::size_t open = bare.find('('); open != std::string::npos) {
    bare = trimmed(std::string_view(bare).substr(0, open));
  }
  const auto role = size_of(bare);
  if (role && fits_brackets(*role, column.name)) column.role = *role;
  return column;
}

void in_unit_of(const Column& column, Figure& figure) {
  figure.unit = column.unit;
  // "100T" below "TFLOPS": the prefix is written twice.
  const double scale = figure.scale == 1 ? column.scale : 1;
  figure.value *= scale;
  figure.high *= scale;
  figure.step *= scale;
  figure.scale *= scale;
}

namespace {

/// The sizes of all rows of a table from the list above it in its section: "- Batch size (B): 16".
/// Two values that disagree are dropped.
Shape shape_of_list(const Document& document, const Table& table) {
  Shape shape;
  for (const Line& line : document.lines) {
    if (line.number >= table.line || line.section != table.section || !line.item) continue;
    const auto label = label_of(line.plain);
    if (!label) continue;
    std::string name = label->label;
    if (const auto open = name.find('('); open != std::string::npos) {
      name = trimmed(std::string_view(name).substr(0, open));
    }
    const auto role = size_of(name == "head dimension" ? "head dim" : name);
    double* const size = role ? member(shape, *role) : nullptr;
    const std::string rest = trimmed(std::string_view(line.plain).substr(label->rest));
    const auto figure = figure_at(rest, 0);
    if (size == nullptr || !figure || figure->unit != Unit::none || figure->end != rest.size() ||
        figure->is_range) {
      continue;
    }
    *size = *size == 0 || *size == figure->value ? figure->value : -1;
  }
  for (double* size : {&shape.batch, &shape.heads, &shape.sequence, &shape.dim}) {
    *size = std::max(*size, 0.0);
  }
  return shape;
}

/// Whether a cell holds two figures of its column's quantity.
bool holds_two(const std::string& cell, const std::vector<Figure>& found) {
  if (found.size() < 2) return false;
  if (cell.starts_with('[') || cell.starts_with('(')) return true;
  const std::string between =
      trimmed(std::string_view(cell).substr(found[0].end, found[1].begin - found[0].end));
  return between == "/" || between == "," || between == "->" || between == ";" || between == "vs" ||
         between == "or" || between == "to" || between == "&";
}

bool same_keys(const TableFacts& a, const TableFacts& b) {
  if (!a.has_shapes || !b.has_shapes || a.shapes.size() != b.shapes.size()) return false;
  if (a.shapes.size() < 2 || a.shapes != b.shapes) return false;
  std::vector<Shape> seen;
  for (const Shape& shape : a.shapes) {
    if (std::find(seen.begin(), seen.end(), shape) != seen.end()) return false;
    seen.push_back(shape);
  }
  return true;
}

bool speaks_of_reference(const Facts& facts, const Table& table) {
  const std::string title =
      facts.document.sections[static_cast<std::size_t>(table.section)].title + " " + table.caption;
  return std::any_of(k_references.begin(), k_references.end(),
                     [&](auto word) { return has_word(title, word); });
}

constexpr std::array<std::string_view, 8> k_gpu_words{
    "A100", "H100", "H200", "B200", "MI300X", "RTX 4000 Ada", "L4", "RTX 4000 ADA"};

}  // namespace

bool is_reference(std::string_view lower) {
  return std::any_of(k_references.begin(), k_references.end(),
                     [&](auto word) { return has_word(lower, word); });
}

std::vector<std::size_t> TableFacts::of(Role role) const {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    if (columns[n].role == role) found.push_back(n);
  }
  return found;
}

std::optional<Figure> TableFacts::figure(const Row& row, std::size_t column) const {
  std::vector<Figure> found = figures_in(cell_of(row, column));
  if (found.empty()) return std::nullopt;
  const Column& facts = columns[column];
  const bool judged =
      facts.role == Role::time || facts.role == Role::flop_rate || facts.unit == Unit::byte_rate;
  if (judged && holds_two(cell_of(row, column), found)) return std::nullopt;
  Figure figure = std::move(found.front());
  if (figure.unit == Unit::none && facts.unit != Unit::none) in_unit_of(facts, figure);
  return figure;
}

Facts::Facts(const Document& read, const std::vector<Source>& beside)
    : document(read), sources(beside) {
  figures.reserve(document.lines.size());
  for (const Line& line : document.lines) figures.push_back(figures_in(line.plain));
  read_tables();
  find_pairs();
  find_gpus();
}

void Facts::read_tables() {
  for (const Table& table : document.tables) {
    TableFacts facts;
    facts.table = &table;
    for (const std::string& header : table.headers) facts.columns.push_back(column_named(header));
    Shape around = shape_in(table.caption);
    around.complete_from(
        shape_in(document.sections[static_cast<std::size_t>(table.section)].title));
    around.complete_from(shape_of_list(document, table));
    for (const Row& row : table.rows) {
      Shape shape;
      for (std::size_t n = 0; n < facts.columns.size(); ++n) {
        double* size = member(shape, facts.columns[n].role);
        if (size == nullptr && n == 0) {
          shape.complete_from(shape_of_cell(table.headers[n], cell_of(row, n)));
        } else if (size == nullptr && facts.columns[n].role == Role::shape) {
          shape.complete_from(shape_of_cell(table.headers[n], cell_of(row, n)));
        } else if (size != nullptr) {
          const auto figure = facts.figure(row, n);
          if (figure && !figure->is_range && figure->unit == Unit::none) *size = figure->value;
        }
      }
      facts.has_shapes = facts.has_shapes || !shape.empty();
      facts.shapes.push_back(shape);
      facts.shapes.back().complete_from(around);
      facts.shapes_are_own = facts.shapes_are_own && facts.shapes.back() == shape;
    }
    std::size_t twice = 0;
    for (const Row& row : table.rows) {
      for (std::size_t n = 0; n < facts.columns.size(); ++n) {
        const Column& column = facts.columns[n];
        const bool judged = column.role == Role::time || column.role == Role::flop_rate ||
                            column.unit == Unit::byte_rate;
        const std::string& cell = cell_of(row, n);
        twice += judged && holds_two(cell, figures_in(cell)) ? 1 : 0;
      }
    }
    if (twice > 0) {
      unread.push_back(
          fmt::format("the table at line {} has {} cell{} with two times or rates each, "
                      "whose names are not told: they are not read",
                      table.line, twice, twice == 1 ? "" : "s"));
    }
    tables.push_back(std::move(facts));
  }
}

void Facts::find_pairs() {
  for (const TableFacts& facts : tables) {
    const std::vector<std::size_t> times = facts.of(Role::time);
    if (times.size() != 2 || !facts.has_shapes) continue;
    const bool first = facts.columns[times[0]].reference;
    if (first == facts.columns[times[1]].reference) continue;
    for (std::size_t n = 0; n < facts.table->rows.size(); ++n) {
      const Row& row = facts.table->rows[n];
      const auto reference = facts.figure(row, times[first ? 0 : 1]);
      const auto ours = facts.figure(row, times[first ? 1 : 0]);
      if (ours && reference && ours->value > 0 && reference->value > 0) {
        pairs.push_back({row.line, row.line, facts.shapes[n], *ours, *reference});
      }
    }
  }
  if (!pairs.empty()) return;
  for (const TableFacts& ours : tables) {
    if (ours.of(Role::time).size() != 1 || speaks_of_reference(*this, *ours.table)) continue;
    for (const TableFacts& reference : tables) {
      if (reference.of(Role::time).size() != 1 || !same_keys(ours, reference) ||
          !speaks_of_reference(*this, *reference.table)) {
        continue;
      }
      for (std::size_t n = 0; n < ours.shapes.size(); ++n) {
        const Row &row = ours.table->rows[n], &other = reference.table->rows[n];
        const auto time = ours.figure(row, ours.of(Role::time)[0]);
        const auto its = reference.figure(other, reference.of(Role::time)[0]);
        if (time && its && time->value > 0 && its->value > 0) {
          pairs.push_back({row.line, other.line, ours.shapes[n], *time, *its});
        }
      }
      if (!pairs.empty()) return;
    }
  }
}

void Facts::find_gpus() {
  for (const std::string_view word : k_gpu_words) {
    for (const Line& line : document.lines) {
      if (!has_word(line.plain, word)) continue;
      const bool known = std::any_of(gpus.begin(), gpus.end(), [&](const NamedGpu& gpu) {
        return lower_of(gpu.word) == lower_of(word);
      });
      if (known) break;
      NamedGpu gpu{std::string(word), line.number, {}};
      for (device::Device& device : device::known_gpus()) {
        std::string name = device.name;
        std::replace(name.begin(), name.end(), '-', ' ');
        if (has_word(lower_of(name), lower_of(word))) gpu.models.push_back(std::move(device));
      }
      if (!gpu.models.empty()) gpus.push_back(std::move(gpu));
      break;
    }
  }
}

std::optional<Labeled> label_of(std::string_view plain) {
  std::size_t begin = plain.find_first_not_of(" *_");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t colon = plain.find(':', begin);
  if (colon == std::string_view::npos || colon - begin > 60 || colon == begin) return std::nullopt;
  Labeled labeled{lower_of(trimmed(plain.substr(begin, colon - begin))), colon + 1};
  while (!labeled.label.empty() && (labeled.label.back() == '*' || labeled.label.back() == '_')) {
    labeled.label.pop_back();
  }
  return labeled;
}

}  // namespace wb::audit
