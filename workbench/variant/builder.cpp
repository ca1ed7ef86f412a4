// SPDX-License-Identifier: MIT
// Artifact ids and the content-addressed cache. An entry is a folder that is published by one
// rename and never changed afterwards; only a repair under the lock may replace it.
#include "variant/builder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "variant/cache.hpp"
#include "variant/compile_sandbox.hpp"
#include "variant/restriction.hpp"

namespace wb::variant {

namespace {

constexpr int k_entry_format = 1;
constexpr std::string_view k_library_file = "artifact.so";
constexpr std::string_view k_record_file = "build.json";
constexpr std::string_view k_python_folder = "files";
constexpr std::uint64_t k_library_max_bytes = 256ull << 20;
constexpr std::uint64_t k_record_max_bytes = 1u << 20;
/// Limit of leases per cache object, so that descriptors remain for the rest of the process.
constexpr int k_max_leases = 200;
constexpr int k_lease_attempts = 3;
/// By this age a new private folder has been locked by its maker.
constexpr auto k_lock_is_taken_after = std::chrono::seconds(10);

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

UniqueFd open_folder(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

/// A private folder below <root>/tmp, on the entries' file system so that a rename publishes it.
/// Removed with its content unless it was renamed away. Its maker holds a lock on it, which
/// distinguishes it from leftovers of killed processes.
class PrivateFolder {
 public:
  static Result<PrivateFolder> create(const fs::path& parent) {
    std::string name = (parent / "build-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      return errno_error("make a private build folder in", parent, errno);
    }
    return PrivateFolder(name);
  }
  PrivateFolder(PrivateFolder&& other) noexcept
      : m_path(std::exchange(other.m_path, {})), m_lock(std::move(other.m_lock)) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!m_path.empty()) fs::remove_all(m_path, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return m_path; }
  /// Call before publishing, since an entry is locked by its users.
  void unlock() { m_lock.reset(); }

 private:
  explicit PrivateFolder(fs::path path) : m_path(std::move(path)), m_lock(open_folder(m_path)) {
    // On a file system without locks only the age counts.
    if (m_lock.valid()) ::flock(m_lock.get(), LOCK_EX | LOCK_NB);
  }
  fs::path m_path;
  UniqueFd m_lock;
};

/// True when no process holds the folder's lock or is about to take it.
bool is_abandoned(const fs::path& path, std::chrono::nanoseconds age) {
  if (age > k_stale_after) return true;
  if (!(age > k_lock_is_taken_after)) return false;
  const UniqueFd fd = open_folder(path);
  return fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_stale_folders(const fs::path& parent) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const auto age = now - fs::last_write_time(it->path(), ignored);
    if (!ignored && is_abandoned(it->path(), age)) fs::remove_all(it->path(), ignored);
  }
}

/// One cache entry: its folder and the expected content of its record.
struct Entry {
  fs::path folder;
  std::string id;
  const Variant& variant;

  [[nodiscard]] bool is_python() const { return variant.manifest.backend == Backend::python; }
  [[nodiscard]] fs::path artifact_path(const fs::path& in) const {
    return in / (is_python() ? k_python_folder : k_library_file);
  }
  /// Path inside the entry -> content: a Python variant's own folder, with common/ in it.
  [[nodiscard]] std::map<std::string, std::string> python_files() const {
    std::map<std::string, std::string> files;
    const std::string own = variant.manifest.name + "/";
    for (const auto& [path, text] : variant.files) {
      files[path.starts_with(own) ? path.substr(own.size()) : path] = text;
    }
    return files;
  }
};

/// The entry as an artifact, or nothing when it is absent or its bytes differ from its record.
std::optional<Artifact> load_entry(const FileSystem& file_system, const Entry& entry) {
  const auto text = file_system.read(entry.folder / k_record_file, k_record_max_bytes);
  if (!text.ok()) return {};
  const auto json = parse_json(*text, (entry.folder / k_record_file).string());
  if (!json.ok()) return {};
  ObjectReader reader(*json, "build.json");
  Artifact artifact;
  const auto format = reader.integer("format", k_entry_format, k_entry_format);
  artifact.id = reader.string("artifact");
  artifact.content_sha256 = reader.string("content_sha256");
  artifact.record.compiler = reader.string("compiler");
  artifact.record.argv = reader.strings_or("argv", {});
  artifact.record.target = reader.string_or("target", "");
  artifact.record.log = reader.string("log");
  if (const Json* ptxas = reader.member("ptxas")) {
    auto record = ptxas_record_from_json(*ptxas);
    if (!record.ok()) return {};
    artifact.record.ptxas = *std::move(record);
  }
  // Entries from before reads were checked are built again, since their ids may cover too little.
  const bool covered = entry.is_python() || reader.boolean_or("reads_covered", false);
  if (!reader.finish(true).ok() || format != k_entry_format || artifact.id != entry.id) return {};
  if (!covered) return {};
  artifact.record.cached = true;
  artifact.path = entry.artifact_path(entry.folder);
  if (entry.is_python()) {
    for (const auto& [path, expected] : entry.python_files()) {
      const auto found = file_system.read(artifact.path / path, k_source_max_bytes);
      if (!found.ok() || *found != expected) return {};
    }
    return artifact;
  }
  const auto library = file_system.read(artifact.path, k_library_max_bytes);
  if (!library.ok() || sha256_hex(*library) != artifact.content_sha256) return {};
  return artifact;
}

Result<void> write_record(FileSystem& file_system, const Entry& entry, const fs::path& folder,
                          const Configuration& configuration, const BuildOptions& options,
                          const Artifact& artifact) {
  Json json = to_json(artifact.record);
  json.erase("cached");
  json["format"] = k_entry_format;
  json["reads_covered"] = true;  // run_compile() only returns covered records
  json["artifact"] = entry.id;
  json["variant"] = {{"name", entry.variant.manifest.name}, {"id", entry.variant.id}};
  json["configuration"] = to_json(configuration);
  json["target"] = options.target;
  WB_TRY_ASSIGN(const Grants grants, resolve_grants(entry.variant.manifest, options));
  json["grants"] = grants.digest;
  json["content_sha256"] = artifact.content_sha256;
  return file_system.write_atomic(folder / k_record_file,
                                  json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                                  Durability::none);
}

/// Renames `from` to the entry's folder. True: published; false: an entry is already there.
Result<bool> publish(const fs::path& from, const Entry& entry) {
  if (::rename(from.c_str(), entry.folder.c_str()) == 0) return true;
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  return errno_error("publish the built artifact as", entry.folder, errno);
}

using LeaseCount = std::shared_ptr<std::atomic<int>>;

/// A lease on the entry at `folder`; null when there is nothing to lock or too many are held.
std::shared_ptr<const UniqueFd> take_lease(const fs::path& folder, const LeaseCount& count) {
  UniqueFd held = hold_entry(folder);
  if (!held.valid()) return nullptr;
  if (count->fetch_add(1) >= k_max_leases) {
    count->fetch_sub(1);
    return nullptr;  // it is marked as used, so gc's grace period protects it
  }
  return {new UniqueFd(std::move(held)), [count](const UniqueFd* fd) {
            delete fd;
            count->fetch_sub(1);
          }};
}

/// load_entry() with a lease, so that gc cannot remove the entry.
std::optional<Artifact> load_held(const FileSystem& file_system, const Entry& entry,
                                  const LeaseCount& count) {
  for (int attempt = 0; attempt < k_lease_attempts; ++attempt) {
    // Locked before it is read: an entry that gc removes in between is a miss.
    auto lease = take_lease(entry.folder, count);
    auto artifact = load_entry(file_system, entry);
    if (!artifact) return artifact;
    if (lease && !is_held(*lease, entry.folder)) continue;  // replaced meanwhile
    artifact->lease = std::move(lease);
    return artifact;
  }
  return {};
}

/// Replaces a damaged entry, under the cache lock. It checks again under the lock, since another
/// process may have published an intact entry that is already in use.
Result<std::optional<Artifact>> repair(FileSystem& file_system, const fs::path& root,
                                       const fs::path& from, const Entry& entry,
                                       const LeaseCount& leases) {
  WB_TRY_ASSIGN(const UniqueFd lock, lock_cache(root));
  if (auto adopted = load_held(file_system, entry, leases)) return adopted;
  WB_TRY_ASSIGN(const PrivateFolder grave, PrivateFolder::create(root / "tmp"));
  if (::rename(entry.folder.c_str(), (grave.path() / "damaged").c_str()) != 0 && errno != ENOENT) {
    return errno_error("set aside the damaged entry", entry.folder, errno);
  }
  WB_TRY_ASSIGN(const bool published, publish(from, entry));
  return published ? std::optional<Artifact>() : load_held(file_system, entry, leases);
}

/// Fills `folder` with the artifact and its record.
Outcome<Artifact> make_entry(FileSystem& file_system, const Entry& entry, const fs::path& folder,
                             const Configuration& configuration, const BuildOptions& options,
                             const Toolchain* toolchain) {
  Artifact artifact;
  artifact.id = entry.id;
  const fs::path path = entry.artifact_path(folder);
  if (entry.is_python()) {
    for (const auto& [name, text] : entry.python_files()) {
      const auto made = file_system.make_directories((path / name).parent_path());
      if (!made.ok()) return failure(Invalidity::environment, made.error());
      const auto written = file_system.write_atomic(path / name, text, Durability::none);
      if (!written.ok()) return failure(Invalidity::environment, written.error());
    }
  } else {
    WB_TRY_ASSIGN(auto record,
                  toolchain->compile(entry.variant, configuration, options, entry.id, path));
    artifact.record = std::move(record);
    const auto library = file_system.read(path, k_library_max_bytes);
    if (!library.ok()) return failure(Invalidity::environment, library.error());
    artifact.content_sha256 = sha256_hex(*library);
  }
  const auto written = write_record(file_system, entry, folder, configuration, options, artifact);
  if (!written.ok()) return failure(Invalidity::environment, written.error());
  // mkdtemp gives 0700; a cache may be shared by users of one group.
  ::chmod(folder.c_str(), 0755);
  artifact.path = entry.artifact_path(entry.folder);
  return artifact;
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
    const Entry entry{m_root / id.substr(0, 2) / id, id, variant};
    if (auto hit = load_held(m_file_system, entry, m_leases)) return *std::move(hit);
  }
  no_compiler.cause += ", and the cache holds no artifact of " + variant.manifest.name + " for " +
                       options.target + " that was compiled elsewhere";
  return failure_of(no_compiler);
}

std::optional<Artifact> ArtifactCache::find(const std::string& id, const Variant& variant) {
  if (id.size() != 64 || !is_inside(id)) return {};
  return load_held(m_file_system, Entry{m_root / id.substr(0, 2) / id, id, variant}, m_leases);
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
  const Entry entry{m_root / id_of_build->substr(0, 2) / *id_of_build, *id_of_build, variant};
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
