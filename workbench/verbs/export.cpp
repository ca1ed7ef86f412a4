// SPDX-License-Identifier: MIT
// `export`: writes a variant that passed as a package with sources and provenance
// (export_files.hpp).
#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/writing.hpp"
#include "engine/services.hpp"
#include "engine/subject.hpp"
#include "session/session.hpp"
#include "verbs/arguments.hpp"
#include "verbs/export_files.hpp"
#include "verbs/package_name.hpp"
#include "verbs/proven.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Services;
using engine::Subject;

namespace {

constexpr std::uint64_t k_library_max = 1ull << 30, k_part_max = 1u << 20;

/// Path in the package -> where it comes from, below kernels/.
using Parts = std::vector<std::pair<std::string, std::string>>;

Parts parts_of(const std::string& kind, const std::string& package) {
  if (kind == "c") {
    return {{"CMakeLists.txt", "export/c/CMakeLists.txt"},
            {"smoke.c", "export/c/smoke.c"},
            {"include/wb_domain.h", "export/wb_domain.h"}};
  }
  return {{"pyproject.toml", "export/torch/pyproject.toml"},
          {"setup.py", "export/torch/setup.py"},
          {"test_op.py", "export/torch/test_op.py"},
          {package + "/__init__.py", "export/torch/__init__.py"},
          {"csrc/op.cpp", "export/torch/op.cpp"},
          {"csrc/variant.cpp", "export/torch/variant.cpp"},
          {"csrc/variant.hpp", "export/torch/variant.hpp"},
          {"csrc/fallback.hpp", "export/torch/fallback.hpp"},
          {"csrc/wb_domain.h", "export/wb_domain.h"}};
}

/// The first of the search path that has it.
Result<std::string> read_part(const Services& services, const std::string& part) {
  for (const fs::path& root : services.search_path.roots) {
    const fs::path path = root / "kernels" / part;
    std::error_code error;
    if (fs::exists(path, error)) return services.file_system.read(path, k_part_max);
  }
  return Error{ErrorCode::not_found, "find", "kernels/" + part,
               "no folder of the search path has it", "run in a checkout, or give --path DIR"};
}

/// A package, an operator's namespace and a C identifier at once, and nobody else's.
Result<void> check_package_name(const Services& services, const std::string& name,
                                const std::string& kind) {
  const auto refused = [&](std::string cause, std::string next) {
    return Error{ErrorCode::usage, "name the package", name, std::move(cause), std::move(next)};
  };
  if (!variant::is_kernel_name(name)) {
    return refused("a name is a lower-case letter, then letters, digits and '_', at most 64",
                   "give --name another");
  }
  const auto owner = owner_of_name(name, kind, services.hello.python);
  if (!owner) return {};
  return refused("it is " + *owner,
                 fmt::format("give --name another, such as {}_sdpa", name.substr(0, 50)));
}

/// Every file of the package.
Result<std::map<std::string, std::string>> files_of(const Services& services, const Proven& proven,
                                                    const std::string& kind,
                                                    const std::string& package) {
  std::map<std::string, std::string> files;
  for (const auto& [to, from] : parts_of(kind, package)) {
    WB_TRY_ASSIGN(files[to], read_part(services, from));
  }
  const Subject& subject = proven.subject;
  const std::string headers = kind == "c" ? "include/" : "csrc/";
  const auto abi =
      std::find_if(subject.variant.files.begin(), subject.variant.files.end(),
                   [](const auto& file) { return file.first.ends_with("/sdpa_abi.h"); });
  if (abi == subject.variant.files.end()) {
    return Error{ErrorCode::invalid, "export", subject.label, "its sources lack sdpa_abi.h",
                 "include common/sdpa_abi.h and judge it again"};
  }
  files[headers + "sdpa_abi.h"] = abi->second;
  files[headers + "wb_proven.h"] = proven_header(proven, package);
  const std::string library = kind == "c" ? "lib/libsdpa_variant.so" : package + "/kernel.so";
  WB_TRY_ASSIGN(files[library], services.file_system.read(subject.artifact.path, k_library_max));
  for (const auto& [path, content] : subject.variant.files) files["kernel/" + path] = content;
  const Json facts = provenance(proven, package, kind, services.workbench_version);
  files["PROVENANCE.json"] = facts.dump(1) + "\n";
  if (kind == "torch") files[package + "/PROVENANCE.json"] = files["PROVENANCE.json"];
  files["README.md"] = export_readme(proven, package, kind);
  return files;
}

/// An empty or new folder: nothing of the user's is overwritten.
Result<void> check_folder(const fs::path& folder) {
  std::error_code error;
  if (folder.empty()) {
    return Error{ErrorCode::usage, "write the package to", "--output", "it names no folder",
                 "name an empty or new folder"};
  }
  if (fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    return Error{ErrorCode::invalid, "write the package to", folder.string(),
                 "something lies there already", "name an empty or new folder"};
  }
  return {};
}

Result<Json> export_variant(const Call& call, const session::Session& session) {
  const Json& args = call.args;
  const bool torch = args.value("torch", false), c = args.value("c", false);
  if (torch == c) {
    return Error{ErrorCode::usage, "export", args["variant"].get<std::string>(),
                 torch ? "both --torch and --c are asked for" : "it is not said as what",
                 "give one of --torch and --c"};
  }
  const std::string kind = torch ? "torch" : "c";
  std::string package = args.value("name", "");
  if (args.contains("name")) WB_TRY(check_package_name(call.services, package, kind));
  WB_TRY_ASSIGN(const auto configuration, wanted_configuration(args));
  WB_TRY_ASSIGN(
      const Proven proven,
      find_proven(call.context, session, args["variant"].get<std::string>(), configuration));
  const Subject& subject = proven.subject;
  if (!args.contains("name")) {
    package = subject.variant.manifest.name + "_op";
    WB_TRY(check_package_name(call.services, package, kind));
  }
  WB_TRY_ASSIGN(const auto files, files_of(call.services, proven, kind, package));
  const fs::path folder = args.value("output", package);
  FileSystem& file_system = call.services.file_system;
  WB_TRY(check_folder(folder));
  UnfinishedFolder package_folder(folder);
  WB_TRY(file_system.make_directories(folder));
  Json written = Json::array();
  for (const auto& [path, content] : files) {
    WB_TRY(file_system.make_directories((folder / path).parent_path()));
    WB_TRY(file_system.write_atomic(folder / path, content, Durability::none));
    written.push_back(path);
  }
  package_folder.keep();
  return Json{{"folder", folder.string()},
              {"package", package},
              {"variant", subject.label},
              {"artifact_id", subject.artifact.id},
              {"files", std::move(written)},
              {"domain", domain_json(proven)},
              {"text", fmt::format("{}: {} of {}, {} files; README.md says how to use it\n",
                                   folder.string(), kind, subject.label, files.size())}};
}

Result<Json> export_body(const Call& call) {
  WB_TRY_ASSIGN(const session::Session* session, session_to_read(call));
  return export_variant(call, *session);
}

}  // namespace

const Verb& verb_export() {
  static const Verb verb{
      .spec = {.name = "export",
               .doc =
                   "write a variant that passed as a package for PyTorch or C, with its provenance",
               .session = SessionNeed::reads,
               .arguments =
                   {passed_variant_argument(), passed_configuration_argument(),
                    flag_argument(
                        "torch",
                        "a Python package with an operator of PyTorch (docs/guide/export.md)"),
                    flag_argument("c", "a header, the library and CMake"),
                    string_argument("output", "a new or empty folder (default: the package's name)")
                        .as_path(),
                    string_argument("name",
                                    "of package and operator (default: the kernel's, then _op)")},
               .result = {{"folder", "string: where it is"},
                          {"package", "string: its name"},
                          {"variant", "string: label"},
                          {"artifact_id", "string: of the library in it"},
                          {"files", "list: what was written"},
                          {"domain", "map: as proof gives it"},
                          {"text", "string: the same for people"}},
               .in_playbook = false},
      .body = export_body};
  return verb;
}

}  // namespace wb::verbs
