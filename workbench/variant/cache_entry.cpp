// SPDX-License-Identifier: MIT
#include "variant/cache_entry.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "variant/cache.hpp"
#include "variant/compile_sandbox.hpp"

namespace wb::variant {

namespace {

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

UniqueFd open_folder(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

/// True when no process holds the folder's lock or is about to take it.
bool is_abandoned(const fs::path& path, std::chrono::nanoseconds age) {
  if (age > k_stale_after) return true;
  if (!(age > k_lock_is_taken_after)) return false;
  const UniqueFd fd = open_folder(path);
  return fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

/// Path inside the entry -> content: a Python variant's own folder, with common/ in it.
std::map<std::string, std::string> python_files(const Variant& variant) {
  std::map<std::string, std::string> files;
  const std::string own = variant.manifest.name + "/";
  for (const auto& [path, text] : variant.files) {
    files[path.starts_with(own) ? path.substr(own.size()) : path] = text;
  }
  return files;
}

/// The entry as an artifact, or nothing when it is absent or its bytes differ from its record.
std::optional<Artifact> load_entry(const FileSystem& file_system, const EntryPlace& entry) {
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
    for (const auto& [path, expected] : python_files(entry.variant)) {
      const auto found = file_system.read(artifact.path / path, k_source_max_bytes);
      if (!found.ok() || *found != expected) return {};
    }
    return artifact;
  }
  const auto library = file_system.read(artifact.path, k_library_max_bytes);
  if (!library.ok() || sha256_hex(*library) != artifact.content_sha256) return {};
  return artifact;
}

Result<void> write_record(FileSystem& file_system, const EntryPlace& entry, const fs::path& folder,
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

Failure of_machine(const Error& error) {
  return Failure{Invalidity::environment, error.message(), {}};
}

}  // namespace

Result<PrivateFolder> PrivateFolder::create(const fs::path& parent) {
  std::string name = (parent / "build-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return errno_error("make a private build folder in", parent, errno);
  }
  return PrivateFolder(name);
}

PrivateFolder::PrivateFolder(fs::path path) : m_path(std::move(path)), m_lock(open_folder(m_path)) {
  // On a file system without locks only the age counts.
  if (m_lock.valid()) ::flock(m_lock.get(), LOCK_EX | LOCK_NB);
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!m_path.empty()) fs::remove_all(m_path, ignored);
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

fs::path EntryPlace::artifact_path(const fs::path& in) const {
  return in / (is_python() ? k_python_folder : k_library_file);
}

Outcome<Artifact> make_entry(FileSystem& file_system, const EntryPlace& entry,
                             const fs::path& folder, const Configuration& configuration,
                             const BuildOptions& options, const Toolchain* toolchain) {
  Artifact artifact;
  artifact.id = entry.id;
  const fs::path path = entry.artifact_path(folder);
  if (entry.is_python()) {
    for (const auto& [name, text] : python_files(entry.variant)) {
      const auto made = file_system.make_directories((path / name).parent_path());
      if (!made.ok()) return of_machine(made.error());
      const auto written = file_system.write_atomic(path / name, text, Durability::none);
      if (!written.ok()) return of_machine(written.error());
    }
  } else {
    WB_TRY_ASSIGN(auto record,
                  toolchain->compile(entry.variant, configuration, options, entry.id, path));
    artifact.record = std::move(record);
    const auto library = file_system.read(path, k_library_max_bytes);
    if (!library.ok()) return of_machine(library.error());
    artifact.content_sha256 = sha256_hex(*library);
  }
  const auto written = write_record(file_system, entry, folder, configuration, options, artifact);
  if (!written.ok()) return of_machine(written.error());
  // mkdtemp gives 0700; a cache may be shared by users of one group.
  ::chmod(folder.c_str(), 0755);
  artifact.path = entry.artifact_path(entry.folder);
  return artifact;
}

Result<bool> publish(const fs::path& from, const EntryPlace& entry) {
  if (::rename(from.c_str(), entry.folder.c_str()) == 0) return true;
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  return errno_error("publish the built artifact as", entry.folder, errno);
}

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

std::optional<Artifact> load_held(const FileSystem& file_system, const EntryPlace& entry,
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

Result<std::optional<Artifact>> repair(FileSystem& file_system, const fs::path& root,
                                       const fs::path& from, const EntryPlace& entry,
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

}  // namespace wb::variant
