// SPDX-License-Identifier: MIT
// `import report`: repairs a report and splits it into sections and tables.
#include <fmt/format.h>

#include "audit/audit.hpp"
#include "core/json.hpp"
#include "core/writing.hpp"
#include "verbs/arguments.hpp"
#include "verbs/named_files.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Services;

namespace {

Result<Json> import_report_body(const Services& services, const Json& args) {
  const fs::path path = args["report"].get<std::string>();
  WB_TRY_ASSIGN(const std::string bytes, read_report(services, path, "import"));
  WB_TRY_ASSIGN(audit::Imported imported, audit::import_report(path.filename().string(), bytes));
  std::string file;
  if (args.contains("output")) {
    file = args["output"].get<std::string>();
    std::error_code ignored;
    // The named output may be the report itself.
    if (fs::is_regular_file(file, ignored) && !is_standard_output(file)) {
      return Error{ErrorCode::invalid, "write the repaired report", file, "there is a file already",
                   "name another, or remove it"};
    }
    WB_TRY(write_named(services, file, imported.text, Durability::none));
    imported.text = fmt::format(
        "{}: {} lines, {} sections, {} tables\n{}\n", file, imported.lines,
        imported.sections.size(), imported.tables.size(),
        imported.repaired.empty() ? std::string("nothing had to be repaired") : imported.repaired);
    for (const Json& gap : imported.gaps) {
      imported.text += fmt::format("gap: {}\n", gap.get<std::string>());
    }
  }
  return Json{{"repaired", imported.repaired.empty() ? Json() : Json(imported.repaired)},
              {"lines", imported.lines},
              {"sections", std::move(imported.sections)},
              {"tables", std::move(imported.tables)},
              {"gaps", std::move(imported.gaps)},
              {"file", file.empty() ? Json() : Json(file)},
              {"text", std::move(imported.text)}};
}

}  // namespace

const Verb& verb_import_report() {
  static const Verb verb{
      .spec =
          {.name = "import_report",
           .doc = "repair the text of a foreign report and take it apart: sections and tables",
           .arguments = {string_argument("report", "Markdown or plain text of anyone")
                             .required()
                             .positional(),
                         string_argument("output", "a new file for the repaired text").as_path()},
           .result = {{"repaired", "string or null: what was mended"},
                      {"lines", "int: lines, which keep their numbers"},
                      {"sections", "list: line, level, title"},
                      {"tables", "list: line, section, complete, headers, rows {line, cells}"},
                      {"gaps", "list: what could not be read, in sentences"},
                      {"file", "string or null: where the text was written"},
                      {"text", "string: the repaired text; with output, what was done"}},
           .in_playbook = false},
      .body = [](const Call& call) { return import_report_body(call.services, call.args); }};
  return verb;
}

}  // namespace wb::verbs
