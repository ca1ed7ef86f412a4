// SPDX-License-Identifier: MIT
#include "audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "core/json.hpp"

namespace wb::test {
namespace {

class Auditor {
 public:
  explicit Auditor(const EventLookup& events) : m_events(events) {}
  Audit result;

  void add_line(const std::string& line, std::size_t offset) {
    if (line.rfind("|", 0) == 0) {
      add_row(line, offset);
      return;
    }
    m_header.clear();
    m_table_events.clear();
    m_rows = 0;
    const std::vector<Citations> runs = citations_in(line);
    for (const Figure& figure : figures_in(without_code(line), std::nullopt)) {
      // The citation that follows is meant; where none does, what the line cites.
      std::vector<std::int64_t> cited;
      for (const Citations& run : runs) {
        if (cited.empty() && run.at > figure.at) cited = run.events;
      }
      if (cited.empty()) cited = all_of(runs);
      check(figure, cited, line, offset);
    }
  }

 private:
  static std::string without_code(std::string text) {
    bool inside = false;
    for (char& c : text) {
      if (c == '`')
        inside = !inside;
      else if (inside)
        c = '_';
    }
    return text;
  }

  static std::vector<std::int64_t> all_of(const std::vector<Citations>& runs) {
    std::vector<std::int64_t> result;
    for (const Citations& run : runs) {
      result.insert(result.end(), run.events.begin(), run.events.end());
    }
    return result;
  }

  static std::optional<Unit> unit_of(const std::string& header) {
    if (header.ends_with(" us")) return Unit::microseconds;
    if (header == "compiler CPU s") return Unit::compiler_s;
    if (header == "device s") return Unit::device_s;
    if (header == "agent tokens") return Unit::tokens;
    return std::nullopt;
  }

  void add_row(const std::string& line, std::size_t offset) {
    std::vector<std::pair<std::string, std::size_t>> cells;
    for (std::size_t at = 1; at < line.size();) {
      std::size_t end = line.find('|', at);
      while (end != std::string::npos && line[end - 1] == '\\') end = line.find('|', end + 1);
      if (end == std::string::npos) break;
      cells.emplace_back(line.substr(at, end - at), at);
      at = end + 1;
    }
    if (line.rfind("|-", 0) == 0) return;
    if (m_header.empty()) {
      for (const auto& [text, at] : cells) {
        const auto first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
        m_header.push_back(first == std::string::npos ? "" : text.substr(first, last - first + 1));
      }
      return;
    }
    const std::vector<std::int64_t> row_events = all_of(citations_in(line));
    ++m_rows;
    m_table_events.insert(m_table_events.end(), row_events.begin(), row_events.end());
    // A closing row of sums or products cites nothing of its own: it stands for the rows above.
    const bool closes = line.find("**total**") != std::string::npos ||
                        line.find("**product**") != std::string::npos;
    for (std::size_t i = 0; i < cells.size() && i < m_header.size(); ++i) {
      const auto& [text, at] = cells[i];
      const std::vector<Citations> own = citations_in(text);
      for (const Figure& figure : figures_in(without_code(text), unit_of(m_header[i]))) {
        std::vector<std::int64_t> cited;
        for (const Citations& run : own) {
          if (cited.empty() && run.at > figure.at) cited = run.events;
        }
        if (cited.empty()) cited = closes && row_events.empty() ? m_table_events : row_events;
        check(figure, cited, line, offset + at, closes ? m_rows : 1);
      }
    }
  }

  void check(const Figure& figure, const std::vector<std::int64_t>& cited, const std::string& line,
             std::size_t offset, int parts = 1) {
    // Money on the first screen and of an item cites no debits; cost_test holds those sums.
    if (figure.unit == Unit::usd && debits(cited) == 0) return;
    ++result.figures;
    result.offsets.push_back(offset + figure.at + figure.digits.size() - 1);
    if (!is_found(figure, cited, parts)) {
      result.faults.push_back(
          fmt::format("{} is in none of {} cited events: {}", figure.digits, cited.size(), line));
    }
  }

  /// A sum of rounded parts is off by half a unit for each of them at most.
  static bool is_printed_as(double value, const Figure& figure, int parts = 1) {
    const auto point = figure.digits.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : figure.digits.size() - point - 1;
    const double half = 0.5 * std::pow(10.0, -static_cast<double>(decimals));
    return std::abs(value - std::stod(figure.digits)) <= half * parts * (1 + 1e-6);
  }

  static bool holds(const Json& json, const Figure& figure, const std::string& key) {
    if (json.is_structured()) {
      for (const auto& [name, member] : json.items()) {
        if (holds(member, figure, json.is_object() ? name : key)) return true;
      }
      return false;
    }
    if (json.is_string()) {  // words that a page repeats
      const std::string words = json.get<std::string>();
      for (auto at = words.find(figure.digits); at != std::string::npos;
           at = words.find(figure.digits, at + 1)) {
        const std::size_t end = at + figure.digits.size();
        const bool starts = at == 0 || !is_part_of_word(words[at - 1]);
        if (starts &&
            (end == words.size() || std::isdigit(static_cast<unsigned char>(words[end])) == 0)) {
          return true;
        }
      }
      return false;
    }
    if (!json.is_number()) return false;
    const double value = json.get<double>();
    switch (figure.unit) {
      case Unit::percent:
        return key.ends_with("_frac") || key == "share" ? is_printed_as(value * 100, figure)
                                                        : false;
      case Unit::ratio:
        // The room under a roofline is the inverse of the share.
        if (key == "share_frac") return value > 0 && is_printed_as(1 / value, figure);
        return (key == "speedup" || key.ends_with("_speedup")) && is_printed_as(value, figure);
      case Unit::low:
        return key == "low" && is_printed_as(value, figure);
      case Unit::high:
        return key == "high" && is_printed_as(value, figure);
      case Unit::rate:
        return key.find("_usd_per_") != std::string::npos && is_printed_as(value, figure);
      case Unit::microseconds:
        return key.ends_with("_us") && is_printed_as(value, figure);
      default:
        return false;
    }
  }

  /// `parts`: how many rounded figures a sum was made of.
  bool is_found(const Figure& figure, const std::vector<std::int64_t>& cited, int parts) const {
    switch (figure.unit) {
      case Unit::compiler_s:
        return is_printed_as(debited(cited, "compile_cpu", "quantity"), figure, parts);
      case Unit::device_s:
        return is_printed_as(debited(cited, "device", "quantity"), figure, parts);
      case Unit::tokens:
        return is_printed_as(debited(cited, "tokens", "quantity"), figure, parts);
      case Unit::usd:  // an item's each
        return is_printed_as(debited(cited, "", "usd"), figure, 3 * parts);
      default:
        break;
    }
    for (const std::int64_t seq : cited) {
      const auto* event = m_events(seq);
      if (event != nullptr && holds(event->second, figure, "")) return true;
    }
    return cited.size() > 1 && (is_product(figure, cited) || is_mean(figure, cited));
  }

  /// The geometric mean of problems of equal weight.
  bool is_mean(const Figure& figure, const std::vector<std::int64_t>& cited) const {
    double value = 0, low = 0, high = 0;
    for (const std::int64_t seq : cited) {
      const auto* event = m_events(seq);
      if (event == nullptr || !event->second.contains("speedup")) return false;
      value += std::log(event->second["speedup"].get<double>());
      low += std::log(event->second["interval"]["low"].get<double>());
      high += std::log(event->second["interval"]["high"].get<double>());
    }
    const double sum = figure.unit == Unit::low ? low : figure.unit == Unit::high ? high : value;
    return is_printed_as(std::exp(sum / static_cast<double>(cited.size())), figure);
  }

  /// Steps are rounded to three decimals before they are multiplied.
  bool is_product(const Figure& figure, const std::vector<std::int64_t>& cited) const {
    double value = 1, low = 1, high = 1;
    const auto rounded = [](double step) { return std::round(step * 1000) / 1000; };
    for (const std::int64_t seq : cited) {
      const auto* event = m_events(seq);
      if (event == nullptr || !event->second.contains("speedup")) return false;
      value *= rounded(event->second["speedup"].get<double>());
      low *= rounded(event->second["interval"]["low"].get<double>());
      high *= rounded(event->second["interval"]["high"].get<double>());
    }
    return is_printed_as(figure.unit == Unit::low    ? low
                         : figure.unit == Unit::high ? high
                                                     : value,
                         figure);
  }

  double debited(const std::vector<std::int64_t>& cited, const std::string& item,
                 const char* member) const {
    double sum = 0;
    for (const std::int64_t seq : cited) {
      const auto* event = m_events(seq);
      if (event == nullptr || event->first != "cost_debited") continue;
      if (!item.empty() && event->second["item"] != item) continue;
      if (event->second[member].is_number()) sum += event->second[member].get<double>();
    }
    return sum;
  }

  [[nodiscard]] int debits(const std::vector<std::int64_t>& cited) const {
    return static_cast<int>(std::count_if(cited.begin(), cited.end(), [&](std::int64_t seq) {
      const auto* event = m_events(seq);
      return event != nullptr && event->first == "cost_debited";
    }));
  }

  const EventLookup& m_events;
  std::vector<std::string> m_header;
  std::vector<std::int64_t> m_table_events;
  int m_rows = 0;  ///< of the table so far
};

}  // namespace

Audit audit_page(const std::string& page, const EventLookup& events) {
  Auditor auditor(events);
  std::istringstream lines(page);
  std::size_t offset = 0;
  bool is_fenced = false;
  for (std::string line; std::getline(lines, line); offset += line.size() + 1) {
    if (line.rfind("```", 0) == 0) is_fenced = !is_fenced;
    if (!is_fenced) auditor.add_line(line, offset);
  }
  return std::move(auditor.result);
}

}  // namespace wb::test
