// SPDX-License-Identifier: MIT
#include "engine/export.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"
#include "core/unfinished_folder.hpp"
#include "engine/package_name.hpp"
#include "engine/recorded.hpp"
#include "engine/verb_table.hpp"

namespace wb::engine {
namespace {

using verbs::K;

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

Result<std::optional<variant::Configuration>> wanted_configuration(const Json& args) {
  if (!args.contains("configuration")) return std::optional<variant::Configuration>();
  return std::optional(configuration_of(args["configuration"]));
}

/// Every file of the package.
Result<std::map<std::string, std::string>> files_of(Context& context, const Proven& proven,
                                                    const std::string& kind,
                                                    const std::string& package) {
  std::map<std::string, std::string> files;
  for (const auto& [to, from] : parts_of(kind, package)) {
    WB_TRY_ASSIGN(files[to], read_part(context.services, from));
  }
  const Subject& subject = proven.subject;
  const std::string headers = kind == "c" ? "include/" : "csrc/";
  const auto abi =
      std::find_if(subject.variant.files.begin(), subject.variant.files.end(),
                   [](const auto& file) { return file.first.ends_with("common/sdpa_abi.h"); });
  if (abi == subject.variant.files.end()) {
    return Error{ErrorCode::invalid, "export", subject.label, "its sources lack sdpa_abi.h",
                 "include common/sdpa_abi.h and judge it again"};
  }
  files[headers + "sdpa_abi.h"] = abi->second;
  files[headers + "wb_proven.h"] = proven_header(proven, package);
  const std::string library = kind == "c" ? "lib/libsdpa_variant.so" : package + "/kernel.so";
  WB_TRY_ASSIGN(files[library],
                context.services.file_system.read(subject.artifact.path, k_library_max));
  for (const auto& [path, content] : subject.variant.files) files["kernel/" + path] = content;
  const Json facts = provenance(proven, package, kind, context.services.workbench_version);
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

}  // namespace

Result<Json> verb_proof(Context& context, const session::Session& session, const Json& args) {
  WB_TRY_ASSIGN(const auto configuration, wanted_configuration(args));
  WB_TRY_ASSIGN(const Proven proven,
                find_proven(context, session, args["variant"].get<std::string>(), configuration));
  const Subject& subject = proven.subject;
  Json takes = nullptr, reason = nullptr;
  std::string text = fmt::format("{}: {} passes, {}\n", subject.label, proven.passes.size(),
                                 subject.artifact.path.string());
  if (args.contains("problem")) {
    WB_TRY_ASSIGN(const problem::Problem problem,
                  problem::parse_problem(args["problem"].get<std::string>()));
    const auto outside = outside_of(proven, problem);
    takes = !outside.has_value();
    if (outside) reason = *outside;
    text += fmt::format("{}: {}\n", to_text(problem), outside ? *outside : "covered");
  }
  const variant::Manifest& manifest = subject.variant.manifest;
  return Json{{"variant", subject.label},
              {"name", manifest.name},
              {"variant_id", subject.variant.id},
              {"artifact_id", subject.artifact.id},
              {"library", fs::absolute(subject.artifact.path).string()},
              {"backend", to_string(manifest.backend)},
              {"target", subject.artifact.record.target},
              {"configuration", variant::to_json(subject.configuration)},
              {"session", proven.session},
              {"device", text_of(member_of(proven.environment, "device"), "name")},
              {"domain", domain_json(proven)},
              {"passes", proven.passes},
              {"takes", std::move(takes)},
              {"reason", std::move(reason)},
              {"text", std::move(text)}};
}

Result<Json> verb_export(Context& context, const session::Session& session, const Json& args) {
  const bool torch = args.value("torch", false), c = args.value("c", false);
  if (torch == c) {
    return Error{ErrorCode::usage, "export", args["variant"].get<std::string>(),
                 torch ? "both --torch and --c are asked for" : "it is not said as what",
                 "give one of --torch and --c"};
  }
  const std::string kind = torch ? "torch" : "c";
  std::string package = args.value("name", "");
  if (args.contains("name")) WB_TRY(check_package_name(context.services, package, kind));
  WB_TRY_ASSIGN(const auto configuration, wanted_configuration(args));
  WB_TRY_ASSIGN(const Proven proven,
                find_proven(context, session, args["variant"].get<std::string>(), configuration));
  const Subject& subject = proven.subject;
  if (!args.contains("name")) {
    package = subject.variant.manifest.name + "_op";
    WB_TRY(check_package_name(context.services, package, kind));
  }
  WB_TRY_ASSIGN(const auto files, files_of(context, proven, kind, package));
  const fs::path folder = args.value("output", package);
  FileSystem& file_system = context.services.file_system;
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

std::vector<VerbSpec> export_verb_specs() {
  const ArgumentSpec variant{.name = "variant",
                             .kind = K::id,
                             .doc =
                                 "a label of the session, or a kernel's name: then the last of "
                                 "it that passed",
                             .required = true,
                             .positional = true};
  ArgumentSpec configuration = verbs::k_configuration;
  configuration.doc = "which of several that passed: tunable parameters, NAME=VALUE";
  return {
      {.name = "proof",
       .doc = "the artifact of a variant that passed in a session, and which problems that covers",
       .session = SessionNeed::reads,
       .arguments = {variant,
                     configuration,
                     {.name = "problem",
                      .kind = K::string,
                      .doc = "whether the passes cover it, such as 'B=1 Hq=8 Sq=512 D=64 f16'"}},
       .result = {{"variant", "string: label"},
                  {"name", "string: kernel name"},
                  {"variant_id", "string: of its sources"},
                  {"artifact_id", "string: of what passed"},
                  {"library", "string: the file, in the cache"},
                  {"backend", "string: cpu or cuda"},
                  {"target", "string: what it was compiled for"},
                  {"configuration", "map: tunable parameters"},
                  {"session", "string: its folder"},
                  {"device", "string: what it passed on"},
                  {"domain",
                   "map: entries (per dtype and head dim: causal, masks, layouts, gqa, largest "
                   "sizes, events), restrictions, rows_without_keys"},
                  {"passes", "list: event, problem, worst_share"},
                  {"takes", "bool or null: the passes cover the problem"},
                  {"reason", "string or null: why not"},
                  {"text", "string: the same for people"}},
       .reads_only = true,
       .in_playbook = false},
      {.name = "export",
       .doc = "write a variant that passed as a package for PyTorch or C, with its provenance",
       .session = SessionNeed::reads,
       .arguments = {variant,
                     configuration,
                     {.name = "torch",
                      .kind = K::boolean,
                      .doc = "a Python package with an operator of PyTorch (docs/guide/export.md)"},
                     {.name = "c", .kind = K::boolean, .doc = "a header, the library and CMake"},
                     {.name = "output",
                      .kind = K::string,
                      .doc = "a new or empty folder (default: the package's name)",
                      .is_path = true},
                     {.name = "name",
                      .kind = K::string,
                      .doc = "of package and operator (default: the kernel's, then _op)"}},
       .result = {{"folder", "string: where it is"},
                  {"package", "string: its name"},
                  {"variant", "string: label"},
                  {"artifact_id", "string: of the library in it"},
                  {"files", "list: what was written"},
                  {"domain", "map: as proof gives it"},
                  {"text", "string: the same for people"}},
       .in_playbook = false}};
}

}  // namespace wb::engine
