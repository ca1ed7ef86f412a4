// SPDX-License-Identifier: MIT
#include "catalogue/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/json.hpp"
#include "variant/restriction.hpp"

namespace wb::catalogue {

ProblemKind read_problem_kind(ObjectReader& reader) {
  ProblemKind kind;
  for (const std::string& word : reader.strings_or("dtypes", {})) {
    if (const auto dtype = parse_dtype(word)) {
      kind.dtypes.push_back(*dtype);
    } else {
      reader.fail("dtypes", "unknown word \"" + word + "\"");
    }
  }
  kind.when = reader.string_or("when", "");
  if (kind.when.empty()) return kind;
  const auto predicate = variant::Restriction::parse(kind.when);
  if (!predicate.ok()) {
    reader.fail("when", "\"" + kind.when + "\": " + predicate.error().cause);
    return kind;
  }
  for (const std::string& name : predicate->names()) {
    if (!variant::is_problem_name(name)) reader.fail("when", name + " is not a problem letter");
  }
  return kind;
}

bool is_of(const ProblemKind& kind, const problem::Problem& problem) {
  const auto& dtypes = kind.dtypes;
  if (!dtypes.empty() && std::find(dtypes.begin(), dtypes.end(), problem.dtype) == dtypes.end()) {
    return false;
  }
  if (kind.when.empty()) return true;
  const auto predicate = variant::Restriction::parse(kind.when);
  if (!predicate.ok()) return false;
  const auto holds = predicate->holds(variant::problem_values(problem));
  return holds.ok() && *holds;
}

std::string read_filled(ObjectReader& reader, std::string_view key) {
  std::string text = reader.string(key);
  if (text.empty()) reader.fail(key, "must not be empty");
  return text;
}

Error refused_list(std::string_view file, std::string cause) {
  return Error{ErrorCode::invalid, "read", std::string(file), std::move(cause), "correct the file"};
}

Result<Json> parse_entries(std::string_view text, std::string_view file, const ListFormat& format) {
  WB_TRY_ASSIGN(const Json root, parse_json(text, file, {k_list_max_bytes, format.max_depth}));
  ObjectReader reader(root, std::string(file));
  const std::int64_t version = reader.integer("version", 1, std::int64_t{1} << 31);
  reader.string_or("about", "");  // for readers of the file
  const Json* list = reader.member(format.key);
  WB_TRY(reader.finish(/*allow_unknown=*/version > k_list_version));
  if (version > k_list_version) {
    return Error{ErrorCode::too_new, "read", std::string(file),
                 fmt::format("it has version {}, this program knows {}", version, k_list_version),
                 "use a newer sdpa-wb"};
  }
  if (list == nullptr || !list->is_array()) {
    return refused_list(file, fmt::format("it has no list \"{}\"", format.key));
  }
  if (list->size() > format.most) {
    return refused_list(file, fmt::format("it has more than {} {}", format.most, format.key));
  }
  return *list;
}

Result<FoundList> find_list(const FileSystem& file_system, const variant::SearchPath& search_path,
                            const ListFormat& format) {
  const std::string name = fmt::format("{}.json", format.key);
  for (const fs::path& root : search_path.roots) {
    const fs::path path = root / "kernels" / name;
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    WB_TRY_ASSIGN(std::string text, file_system.read(path, k_list_max_bytes));
    return FoundList{std::move(text), path.string()};
  }
  return Error{ErrorCode::not_found, "find", "kernels/" + name,
               "no folder of the search path has it", "run in a checkout, or give --path DIR"};
}

}  // namespace wb::catalogue
