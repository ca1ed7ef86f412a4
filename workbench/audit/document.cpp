// SPDX-License-Identifier: MIT
#include "audit/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "audit/repair.hpp"
#include "core/ascii.hpp"

namespace wb::audit {
namespace {

bool is_name(char c) {
  return ascii::is_alnum(c) || c == '_';
}

/// The text without tags that only format a cell: "<sub>1.2</sub>", "<b>3x</b>".
std::string without_tags(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '<' ? text.find('>', at) : std::string_view::npos;
    if (end == std::string_view::npos || end - at > 60) {
      made += text[at++];
      continue;
    }
    std::string_view tag = text.substr(at + 1, end - at - 1);
    if (tag.starts_with('/')) tag.remove_prefix(1);
    const std::string name = lower_of(tag.substr(0, tag.find_first_of(" /")));
    const bool look = name == "sub" || name == "b" || name == "i" || name == "em" ||
                      name == "strong" || name == "span" || name == "font" || name == "small" ||
                      name == "code" || name == "center" || name == "div" || name == "a";
    if (name == "br") {
      made += " ; ";
    } else if (name == "sup" && text[at + 1] != '/') {
      made += '^';
    } else if (!look && name != "sup") {
      made += text.substr(at, end + 1 - at);
    }
    at = end + 1;
  }
  return made;
}

std::string cell_text(const std::string& raw) {
  std::string text = trimmed(without_tags(raw));
  while (text.size() > 2 && (text.front() == '*' || text.front() == '_') &&
         text.front() == text.back()) {
    text = trimmed(std::string_view(text).substr(1, text.size() - 2));
  }
  return text;
}

std::vector<std::string> split_bars(std::string_view plain) {
  std::string text = trimmed(plain);
  std::string_view rest = text;
  if (rest.starts_with('|')) rest.remove_prefix(1);
  if (rest.ends_with('|') && !rest.ends_with("\\|")) rest.remove_suffix(1);
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t at = 0; at < rest.size(); ++at) {
    if (rest[at] == '\\' && at + 1 < rest.size() && rest[at + 1] == '|') {
      cell += '/';
      ++at;
    } else if (rest[at] == '|') {
      cells.push_back(cell_text(cell));
      cell.clear();
    } else {
      cell += rest[at];
    }
  }
  cells.push_back(cell_text(cell));
  return cells;
}

bool is_rule(std::string_view plain) {
  bool dash = false;
  for (const char c : plain) {
    if (c == '-' || c == '=')
      dash = true;
    else if (c != '|' && c != ':' && c != '+' && c != ' ')
      return false;
  }
  return dash;
}

std::size_t count_bars(std::string_view plain) {
  return static_cast<std::size_t>(std::count(plain.begin(), plain.end(), '|'));
}

/// Whether the line continues a table: a row or a rule of a box ("+---+").
bool goes_on(std::string_view plain) {
  return count_bars(plain) > 0 || (is_rule(plain) && plain.find('+') != std::string_view::npos);
}

/// The two halves of "a / b"; nothing unless there is exactly one " / ".
std::optional<std::pair<std::string, std::string>> halves(std::string_view text) {
  const std::size_t bar = text.find(" / ");
  if (bar == std::string_view::npos || text.find(" / ", bar + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return std::pair(trimmed(text.substr(0, bar)), trimmed(text.substr(bar + 3)));
}

/// The two figures of a cell that holds nothing else and one unit: "40.00 / 80.00 ms"; the unit may
/// be written once.
std::optional<std::pair<std::string, std::string>> two_figures(std::string_view cell) {
  auto parts = halves(cell);
  if (!parts) return std::nullopt;
  const auto first = figure_at(parts->first, 0), second = figure_at(parts->second, 0);
  if (!first || !second || first->end != parts->first.size() ||
      second->end != parts->second.size() || first->is_range || second->is_range) {
    return std::nullopt;
  }
  if (first->unit == Unit::none && second->unit != Unit::none) {
    std::size_t digits = second->end;
    while (digits > 0 && !ascii::is_digit(second->printed[digits - 1])) {
      --digits;
    }
    parts->first += second->printed.substr(digits);
  } else if (first->unit != second->unit) {
    return std::nullopt;
  }
  return parts;
}

/// Splits a column "ours / SDPA" whose every cell has two figures into two columns, and also
/// columns of the same table whose header names one quantity ("TFLOPS") for both.
void split_pairs(Table& table) {
  std::optional<std::pair<std::string, std::string>> named;
  std::string unit;
  for (const std::string& header : table.headers) {
    const std::size_t open = header.find('(');
    const auto parts = halves(trimmed(std::string_view(header).substr(0, open)));
    if (!parts || parts->first.empty() || parts->second.empty()) continue;
    if (named) return;  // with two such columns the sides are ambiguous
    named = parts;
    if (open != std::string::npos) unit = " " + header.substr(open);
  }
  if (!named || table.rows.empty()) return;
  for (std::size_t column = 0; column < table.headers.size(); ++column) {
    const bool every = std::all_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
      return two_figures(row.cells[column]).has_value();
    });
    if (!every || table.headers.size() == k_max_columns) continue;
    const std::string header = table.headers[column];
    const bool own = header.find(" / ") != std::string::npos;
    const auto place = static_cast<std::ptrdiff_t>(column);
    table.headers[column] = own ? named->first + unit : named->first + " " + header;
    table.headers.insert(table.headers.begin() + place + 1,
                         own ? named->second + unit : named->second + " " + header);
    for (Row& row : table.rows) {
      const auto parts = *two_figures(row.cells[column]);
      row.cells[column] = parts.first;
      row.cells.insert(row.cells.begin() + place + 1, parts.second);
    }
    ++column;
  }
}

/// Whether the line ends with a bar.
bool is_closed(std::string_view plain) {
  return trimmed(plain).ends_with('|');
}

class Reader {
 public:
  explicit Reader(Document& document) : m_document(document) {}

  void read_lines(std::string_view text) {
    m_document.sections.push_back({});
    int number = 0;
    std::size_t at = 0, cut = 0;
    bool fenced = false;
    while (at < text.size()) {
      if (m_document.lines.size() == k_max_lines) {
        m_document.gaps.push_back(fmt::format("only the first {} lines are read", k_max_lines));
        break;
      }
      std::size_t end = text.find('\n', at);
      if (end == std::string_view::npos) end = text.size();
      std::string_view raw = text.substr(at, end - at);
      at = end + 1;
      if (raw.size() > k_max_line_bytes) {
        ++cut;
        if (count_bars(raw) > k_max_columns) m_wide.push_back(number + 1);
        raw = raw.substr(0, k_max_line_bytes);
      }
      Line line;
      line.number = ++number;
      line.plain = plain_of(raw);
      const std::string body = trimmed(line.plain);
      const bool fence = trimmed(raw).starts_with("```") || trimmed(raw).starts_with("~~~");
      if (fence) fenced = !fenced;
      line.fenced = fenced || fence;
      if (!line.fenced) open_section(line, body);
      line.section = static_cast<int>(m_document.sections.size()) - 1;
      line.indent = line.plain.find_first_not_of(' ');
      if (line.indent == std::string::npos) line.indent = 0;
      const bool bullet =
          body.starts_with("- ") || body.starts_with("* ") || body.starts_with("+ ");
      line.item = bullet;
      if (bullet) {
        // The list mark is not a minus sign.
        line.plain = trimmed(body.substr(2));
      }
      line.lower = lower_of(line.plain);
      m_document.lines.push_back(std::move(line));
    }
    if (cut > 0) {
      m_document.gaps.push_back(fmt::format("{} line{} longer than {} bytes: the rest is not read",
                                            cut, cut == 1 ? " is" : "s are", k_max_line_bytes));
    }
  }

  void read_tables() {
    auto& lines = m_document.lines;
    for (std::size_t first = 0; first < lines.size();) {
      if (count_bars(lines[first].plain) == 0 || is_rule(lines[first].plain)) {
        ++first;
        continue;
      }
      std::size_t last = first;
      while (last + 1 < lines.size() && goes_on(lines[last + 1].plain) &&
             lines[last + 1].section == lines[first].section &&
             lines[last + 1].fenced == lines[first].fenced) {
        ++last;
      }
      if (last > first) take(first, last);
      first = last + 1;
    }
    if (m_ragged > 0) {
      m_document.gaps.push_back(fmt::format(
          "{} row{} other cells than its header (merged, or a bar in the text): left out", m_ragged,
          m_ragged == 1 ? " of a table has" : "s of tables have"));
    }
    if (m_cut_off > 0) {
      m_document.gaps.push_back(
          fmt::format("{} row{} without a last bar, unlike the header: left out", m_cut_off,
                      m_cut_off == 1 ? " of a table is" : "s of tables are"));
    }
    for (const int line : m_wide) {
      m_document.gaps.push_back(
          fmt::format("line {}: a table of more than {} columns is not read", line, k_max_columns));
    }
    if (m_rows_left_out > 0) {
      m_document.gaps.push_back(
          fmt::format("only the first {} rows of a table are read; {} more "
                      "are not",
                      k_max_rows, m_rows_left_out));
    }
    if (m_left_out > 0) {
      m_document.gaps.push_back(fmt::format("only the first {} tables are read; {} more are not",
                                            k_max_tables, m_left_out));
    }
  }

 private:
  void open_section(Line& line, const std::string& body) {
    std::size_t level = 0;
    while (level < body.size() && body[level] == '#') ++level;
    if (level == 0 || level > 6 || level >= body.size() || body[level] != ' ') return;
    Section section;
    section.line = line.number;
    section.level = static_cast<int>(level);
    section.title = lower_of(trimmed(body.substr(level)));
    section.shown = trimmed(body.substr(level));
    for (const std::string_view symbol : {"[ok]", "[no]", "[warn]"}) {
      if (const std::size_t at = section.shown.find(symbol); at != std::string::npos) {
        section.shown = trimmed(trimmed(section.shown.substr(0, at)) +
                                section.shown.substr(at + symbol.size()));
      }
    }
    while (!m_open.empty() &&
           m_document.sections[static_cast<std::size_t>(m_open.back())].level >= section.level) {
      m_open.pop_back();
    }
    if (!m_open.empty()) section.parent = m_open.back();
    m_open.push_back(static_cast<int>(m_document.sections.size()));
    m_document.sections.push_back(std::move(section));
  }

  void take(std::size_t first, std::size_t last) {
    auto& lines = m_document.lines;
    Table table;
    table.line = lines[first].number;
    table.section = lines[first].section;
    table.headers = split_bars(lines[first].plain);
    const bool ruled = is_rule(lines[first + 1].plain);
    // Without a rule it is a table only if the bars are in the same columns on every line.
    if (!ruled && (table.headers.size() < 3 || !lines[first].fenced)) return;
    if (table.headers.size() > k_max_columns) {
      m_wide.push_back(table.line);
      return;
    }
    if (m_document.tables.size() >= k_max_tables) {
      ++m_left_out;
      return;
    }
    for (std::size_t n = first; n <= last; ++n) lines[n].in_table = true;
    const bool closed = is_closed(lines[first].plain);
    for (std::size_t n = first + 1; n <= last; ++n) {
      if (is_rule(lines[n].plain)) continue;
      // An excerpt may end amid a row: "| C | $12 | $15 | **$6".
      if (closed && !is_closed(lines[n].plain)) {
        ++m_cut_off;
        table.complete = false;
        continue;
      }
      Row row{lines[n].number, split_bars(lines[n].plain)};
      if (row.cells.size() != table.headers.size()) {
        ++m_ragged;
        table.complete = false;
        continue;
      }
      if (table.rows.size() == k_max_rows) {
        ++m_rows_left_out;
        table.complete = false;
        continue;
      }
      table.rows.push_back(std::move(row));
    }
    for (std::size_t up = first; up-- > 0 && up + 4 > first;) {
      if (trimmed(lines[up].plain).empty() || lines[up].in_table) continue;
      if (!trimmed(lines[up].plain).starts_with('#')) table.caption = lines[up].lower;
      break;
    }
    split_pairs(table);
    m_document.tables.push_back(std::move(table));
  }

  Document& m_document;
  std::vector<int> m_wide;
  std::vector<int> m_open;  // sections around the current line, outermost first
  std::size_t m_ragged = 0, m_cut_off = 0, m_left_out = 0, m_rows_left_out = 0;
};

}  // namespace

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

std::string lower_of(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii::lower(c);
  return lower;
}

std::optional<std::size_t> find_word(std::string_view text, std::string_view word,
                                     std::size_t from) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_name(text[at - 1])) && (end >= text.size() || !is_name(text[end]))) {
      return at;
    }
  }
  return std::nullopt;
}

bool has_word(std::string_view text, std::string_view word) {
  return find_word(text, word).has_value();
}

const std::string& cell_of(const Row& row, std::size_t column) {
  static const std::string k_empty;
  return column < row.cells.size() ? row.cells[column] : k_empty;
}

std::string Document::path_of(int section) const {
  std::string path;
  for (int at = section; at > 0; at = sections[static_cast<std::size_t>(at)].parent) {
    const std::string& title = sections[static_cast<std::size_t>(at)].title;
    path = path.empty() ? title : title + " / " + path;
  }
  return path;
}

Document read_document(std::string name, std::string_view bytes) {
  Document document;
  document.name = std::move(name);
  const Repaired repaired = repair(bytes);
  if (repaired.restored + repaired.from_table + repaired.not_restored > 0) {
    document.repaired = fmt::format(
        "UTF-8 that had been read as CP1252: {} symbols restored without loss, {} from a table of "
        "what was left of them, {} not restored",
        repaired.restored, repaired.from_table, repaired.not_restored);
  }
  if (repaired.not_utf8 > 0) {
    document.gaps.push_back(
        fmt::format("{} bytes are not UTF-8 and were read as U+FFFD", repaired.not_utf8));
  }
  if (repaired.text.find_first_not_of(" \t\n") == std::string::npos) {
    document.gaps.push_back("the file has no text");
  }
  Reader reader(document);
  reader.read_lines(repaired.text);
  reader.read_tables();
  return document;
}

}  // namespace wb::audit
