// SPDX-License-Identifier: MIT
// Artifact ids, and the way from a configuration to an entry of the cache.
#include "variant/builder.hpp"

#include <utility>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "variant/cache.hpp"
#include "variant/cache_entry.hpp"
#include "variant/compile_sandbox.hpp"
#include "variant/restriction.hpp"

namespace wb::variant {

namespace {

Failure failure(Invalidity invalidity, const Error& error) {
  return Failure{invalidity, error.message(), {}};
}

/// The error for a cache that cannot be written.
Error no_cache(Error error) {
  if (error.code != ErrorCode::no_space) {
    error.next =
        "keep built artifacts in another folder: --cache DIR, or the variable "
        "XDG_CACHE_HOME";
  }
  return error;
}

/// Whether an error of the cache or of an id is the variant's fault (a configuration or a grant) or
/// the machine's.
Failure failure_of(const Error& error) {
  const bool own = error.code == ErrorCode::invalid || error.code == ErrorCode::not_found ||
                   error.code == ErrorCode::limit;
  return failure(own ? Invalidity::constraints : Invalidity::environment, error);
}

Result<std::string> make_id(const Variant& variant, const Configuration& complete,
                            const BuildOptions& options, const Toolchain* toolchain,
                            const CompilerIdentity& compiler) {
  Json key = {{"format", k_entry_format},
              {"variant", variant.id},
              {"configuration", to_json(complete)},
              {"compiler", compiler.signature}};
  if (toolchain != nullptr) key["target"] = toolchain->target_identity(options);
  WB_TRY_ASSIGN(const Grants grants, resolve_grants(variant.manifest, options));
  key["grants"] = grants.digest;
  return sha256_hex(key.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Error no_toolchain(const Variant& variant) {
  return Error{
      ErrorCode::environment, "build", variant.manifest.name,
      "there is no toolchain for backend " + std::string(to_string(variant.manifest.backend)),
      "see `sdpa-wb doctor`"};
}

}  // namespace

Json to_json(const BuildRecord& record) {
  Json json{{"cached", record.cached}, {"compiler", record.compiler}, {"target", record.target},
            {"argv", record.argv},     {"wall_s", record.wall_s},     {"cpu_s", record.cpu_s},
            {"log", record.log}};
  if (!record.ptxas.empty()) json["ptxas"] = to_json(record.ptxas);
  return json;
}

Result<std::string> artifact_id(const Variant& variant, const Configuration& configuration,
                                const BuildOptions& options, const Toolchain* toolchain) {
  WB_TRY_ASSIGN(const Configuration complete,
                complete_configuration(variant.manifest, configuration));
  CompilerIdentity compiler;
  if (variant.manifest.backend == Backend::python) toolchain = nullptr;
  if (toolchain != nullptr) {
    WB_TRY_ASSIGN(compiler, toolchain->identity());
  } else if (variant.manifest.backend != Backend::python) {
    return no_toolchain(variant);
  }
  return make_id(variant, complete, options, toolchain, compiler);
}

ArtifactCache::ArtifactCache(FileSystem& file_system, fs::path root)
    : m_file_system(file_system), m_root(std::move(root)) {}

Result<std::string> ArtifactCache::id(const Variant& variant, const Configuration& configuration,
                                      const BuildOptions& options, const Toolchain* toolchain) {
  WB_TRY_ASSIGN(const Configuration complete,
                complete_configuration(variant.manifest, configuration));
  CompilerIdentity compiler;
  if (variant.manifest.backend == Backend::python) toolchain = nullptr;
  if (toolchain != nullptr) {
    WB_TRY_ASSIGN(compiler, toolchain->remembered_identity(m_root / "compilers"));
  } else if (variant.manifest.backend != Backend::python) {
    return no_toolchain(variant);
  }
  return make_id(variant, complete, options, toolchain, compiler);
}

Outcome<Artifact> ArtifactCache::find_without_compiler(const Variant& variant,
                                                       const Configuration& complete,
                                                       const BuildOptions& options,
                                                       Error no_compiler) {
  const auto grants = resolve_grants(variant.manifest, options);
  if (!grants.ok()) return failure_of(grants.error());
  for (const std::string& id : find_entries(m_file_system, m_root,
                                            {.variant_id = variant.id,
                                            .configuration = to_json(complete),
                                            .target = options.target,
                                            .grants = grants->digest})) {
    const EntryPlace entry{m_root / id.substr(0, 2) / id, id, variant};
    if (auto hit = load_held(m_file_system, entry, m_leases)) return *std::move(hit);
  }
  no_compiler.cause += ", and the cache holds no artifact of " + variant.manifest.name + " for " +
                       options.target + " that was compiled elsewhere";
  return failure_of(no_compiler);
}

std::optional<Artifact> ArtifactCache::find(const std::string& id, const Variant& variant) {
  if (id.size() != 64 || !is_inside(id)) return {};
  return load_held(m_file_system, EntryPlace{m_root / id.substr(0, 2) / id, id, variant}, m_leases);
}

Outcome<Artifact> ArtifactCache::build(const Variant& variant, const Configuration& configuration,
                                       const BuildOptions& options, const Toolchain* toolchain) {
  const auto complete = complete_configuration(variant.manifest, configuration);
  if (!complete.ok()) return failure_of(complete.error());
  const auto violated = violated_restriction(variant.manifest, *complete, nullptr);
  if (!violated.ok()) return failure_of(violated.error());
  if (*violated) {
    return Failure{Invalidity::constraints,
                   "the configuration " + to_text(*complete) + " of " + variant.manifest.name +
                       " breaks the restriction \"" + **violated + "\"",
                   {}};
  }
  const auto id_of_build = id(variant, *complete, options, toolchain);
  if (!id_of_build.ok()) {
    // Only a CUDA target names the same code on every machine; "native" of a CPU varies.
    const bool is_exact = variant.manifest.backend == Backend::cuda && toolchain != nullptr;
    if (!is_exact || toolchain->is_installed()) return failure_of(id_of_build.error());
    return find_without_compiler(variant, *complete, options, id_of_build.error());
  }
  const EntryPlace entry{m_root / id_of_build->substr(0, 2) / *id_of_build, *id_of_build, variant};
  if (auto hit = load_held(m_file_system, entry, m_leases)) return *std::move(hit);

  if (m_root.string().find_first_of("\n\r") != std::string::npos) {
    return failure(
        Invalidity::environment,
        no_cache({ErrorCode::environment, "keep built artifacts in", m_root.string(),
                  "its name holds a line end, which compilers' lists of files cannot tell", ""}));
  }
  const fs::path temporary = m_root / "tmp";
  for (const fs::path& folder : {temporary, entry.folder.parent_path()}) {
    const auto made = m_file_system.make_directories(folder);
    if (!made.ok()) return failure(Invalidity::environment, no_cache(made.error()));
  }
  remove_stale_folders(temporary);
  auto folder = PrivateFolder::create(temporary);
  if (!folder.ok()) return failure(Invalidity::environment, no_cache(folder.error()));
  auto built = make_entry(m_file_system, entry, folder->path(), *complete, options, toolchain);
  if (!built.ok()) return built;
  folder->unlock();
  const auto published = publish(folder->path(), entry);
  if (!published.ok()) return failure(Invalidity::environment, published.error());
  if (*published) {
    built->lease = take_lease(entry.folder, m_leases);
    return built;
  }
  // Another process published first. Its entry is used, so that all processes load the same bytes;
  // the record keeps the cost of our compile.
  auto adopted = load_held(m_file_system, entry, m_leases);
  if (!adopted) {
    auto repaired = repair(m_file_system, m_root, folder->path(), entry, m_leases);
    if (!repaired.ok()) return failure(Invalidity::environment, repaired.error());
    if (!repaired->has_value()) {
      built->lease = take_lease(entry.folder, m_leases);
      return built;
    }
    adopted = **std::move(repaired);
  }
  adopted->record = built->record;
  return *std::move(adopted);
}

}  // namespace wb::variant
