// SPDX-License-Identifier: MIT
#include "audit/import.hpp"

#include "audit/audit.hpp"
#include "audit/repair.hpp"
#include "core/json.hpp"

namespace wb::audit {

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
