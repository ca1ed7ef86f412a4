// SPDX-License-Identifier: MIT
#include "audit/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "audit/checks.hpp"
#include "audit/ratios.hpp"
#include "audit/repair.hpp"
#include "audit/sums.hpp"
#include "core/json.hpp"

namespace wb::audit {
namespace {

/// The lines of findings and of figures that were found right.
std::vector<int> judged_lines(const Notes& notes) {
  std::vector<int> lines;
  for (const Finding& one : notes.m_findings) {
    lines.push_back(one.line);
    lines.insert(lines.end(), one.also.begin(), one.also.end());
  }
  for (const HeldFigure& one : notes.m_held) lines.push_back(one.line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

bool has_figure(const TableFacts& table, const Row& row) {
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    if (table.figure(row, column)) return true;
  }
  return false;
}

std::string lines_of(const std::vector<int>& lines) {
  constexpr std::size_t k_shown = 5;
  const std::size_t shown = std::min(k_shown, lines.size());
  return fmt::format("line{} {}{}", lines.size() == 1 ? "" : "s",
                     fmt::join(lines.begin(), lines.begin() + static_cast<long>(shown), ", "),
                     shown < lines.size() ? ", …" : "");
}

/// Totals, means and ratios of tables that no check judged, in sentences; empty if there are none.
std::vector<std::string> unjudged_figures(const Facts& facts, const Notes& notes) {
  const std::vector<int> judged = judged_lines(notes);
  const auto is_judged = [&](int line) {
    return std::binary_search(judged.begin(), judged.end(), line);
  };
  std::vector<int> rows, columns;
  for (const TableFacts& table : facts.tables) {
    // Omitted rows are already reported.
    if (!table.table->complete) continue;
    bool any = is_judged(table.table->line);
    for (const Row& row : table.table->rows) {
      any = any || is_judged(row.line);
      const bool aggregate =
          !row.cells.empty() && (is_total(row.cells.front()) || is_aggregate(row));
      if (aggregate && has_figure(table, row) && !is_judged(row.line)) rows.push_back(row.line);
    }
    if (!any && !ratio_columns(table).empty()) columns.push_back(table.table->line);
  }
  std::vector<std::string> sentences;
  if (!rows.empty()) {
    sentences.push_back(
        fmt::format("{} row{} called total, mean or the like ({}): what {} made of was not "
                    "read whole, or is nothing that adds up: not judged",
                    rows.size(), rows.size() == 1 ? "" : "s", lines_of(rows),
                    rows.size() == 1 ? "it is" : "they are"));
  }
  if (!columns.empty()) {
    sentences.push_back(
        fmt::format("{} table{} with ratios ({}): no times or rates that they divide were "
                    "found: not judged",
                    columns.size(), columns.size() == 1 ? "" : "s", lines_of(columns)));
  }
  return sentences;
}

}  // namespace

Result<void> check_text(const std::string& name, std::string_view bytes) {
  if (bytes.size() > k_max_document_bytes) {
    return Error{ErrorCode::limit, "audit", name,
                 fmt::format("it is larger than {} MiB", k_max_document_bytes >> 20),
                 "give the report itself, not data or logs"};
  }
  if (bytes.find('\0') != std::string_view::npos) {
    return Error{ErrorCode::parse, "audit", name, "it holds NUL bytes: no text",
                 "give a Markdown or plain text report in UTF-8"};
  }
  const auto controls = std::count_if(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\x1b';
  });
  if (static_cast<std::size_t>(controls) > bytes.size() / 50) {
    return Error{ErrorCode::parse, "audit", name, "it is mostly control characters: no text",
                 "give a Markdown or plain text report in UTF-8"};
  }
  return {};
}

std::size_t Audited::count(Severity severity) const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return finding.severity == severity; }));
}

Result<Audited> audit_document(const std::string& name, std::string_view bytes,
                               const std::vector<Source>& sources, ReportField subject) {
  WB_TRY(check_text(name, bytes));
  const Document document = read_document(name, bytes);
  const Facts facts(document, sources);
  Notes notes;
  const bool about_kernels = subject == ReportField::kernels || is_about_kernels(document);
  for (const Check& check : all_checks()) {
    const std::size_t findings = notes.m_findings.size(), held = notes.m_held.size();
    check.run(facts, notes);
    for (std::size_t n = findings; n < notes.m_findings.size(); ++n) {
      notes.m_findings[n].check = check.name;
    }
    hold_to_basis(check, about_kernels, std::span(notes.m_findings).subspan(findings));
    for (std::size_t n = held; n < notes.m_held.size(); ++n) notes.m_held[n].check = check.name;
  }
  Audited audited;
  audited.name = name;
  audited.lines = document.lines.size();
  audited.tables = document.tables.size();
  for (const auto& line : facts.figures) audited.figures += line.size();
  audited.repaired = document.repaired;
  audited.gaps = document.gaps;
  audited.gaps.insert(audited.gaps.end(), facts.unread.begin(), facts.unread.end());
  const auto commas = std::count_if(document.lines.begin(), document.lines.end(),
                                    [](const Line& line) { return has_decimal_comma(line.plain); });
  if (commas > 0) {
    audited.gaps.push_back(
        fmt::format("{} line{} with a decimal comma (1,5) or a list: such figures are not read",
                    commas, commas == 1 ? " has a figure" : "s have figures"));
  }
  const std::vector<std::string> unjudged = unjudged_figures(facts, notes);
  audited.gaps.insert(audited.gaps.end(), unjudged.begin(), unjudged.end());
  audited.findings = std::move(notes.m_findings);
  audited.held = std::move(notes.m_held);
  const auto by_line = [](const auto& a, const auto& b) { return a.line < b.line; };
  std::stable_sort(audited.findings.begin(), audited.findings.end(), by_line);
  std::stable_sort(audited.held.begin(), audited.held.end(), by_line);
  for (Finding& finding : audited.findings) {
    auto& also = finding.also;
    std::sort(also.begin(), also.end());
    also.erase(std::unique(also.begin(), also.end()), also.end());
    also.erase(std::remove(also.begin(), also.end(), finding.line), also.end());
    const int section = document.at(finding.line).section;
    audited.section.push_back(document.sections[static_cast<std::size_t>(section)].shown);
  }
  return audited;
}

Json to_json(const Audited& document) {
  Json findings = Json::array(), held = Json::array();
  for (std::size_t n = 0; n < document.findings.size(); ++n) {
    const Finding& finding = document.findings[n];
    findings.push_back({{"severity", to_string(finding.severity)},
                        {"check", finding.check},
                        {"line", finding.line},
                        {"also", finding.also},
                        {"section", document.section[n]},
                        {"printed", finding.printed},
                        {"computed", finding.computed},
                        {"meaning", finding.meaning},
                        {"tolerance", finding.tolerance}});
  }
  for (const HeldFigure& one : document.held) {
    held.push_back({{"check", one.check}, {"line", one.line}, {"what", one.what}});
  }
  return {{"name", document.name},
          {"lines", document.lines},
          {"tables", document.tables},
          {"figures", document.figures},
          {"repaired", document.repaired.empty() ? Json() : Json(document.repaired)},
          {"gaps", document.gaps},
          {"contradictions", document.count(Severity::contradiction)},
          {"doubtful", document.count(Severity::doubtful)},
          {"unknown", document.count(Severity::unknown)},
          {"findings", std::move(findings)},
          {"held", std::move(held)}};
}

Result<Imported> import_report(const std::string& name, std::string_view bytes) {
  WB_TRY(check_text(name, bytes));
  const Document document = read_document(name, bytes);
  Imported imported;
  imported.text = repair(bytes).text;
  imported.repaired = document.repaired;
  imported.lines = document.lines.size();
  for (const Section& section : document.sections) {
    if (section.level == 0) continue;  // text before the first heading
    imported.sections.push_back(
        {{"line", section.line}, {"level", section.level}, {"title", section.shown}});
  }
  for (const Table& table : document.tables) {
    Json rows = Json::array();
    for (const Row& row : table.rows) rows.push_back({{"line", row.line}, {"cells", row.cells}});
    imported.tables.push_back(
        {{"line", table.line},
         {"section", document.sections[static_cast<std::size_t>(table.section)].shown},
         {"complete", table.complete},
         {"headers", table.headers},
         {"rows", std::move(rows)}});
  }
  imported.gaps = document.gaps;
  return imported;
}

}  // namespace wb::audit
