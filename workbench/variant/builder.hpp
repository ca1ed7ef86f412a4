// SPDX-License-Identifier: MIT
// From a variant and a configuration to an artifact: the toolchain seam, and the content-addressed
// artifact cache (published atomically; safe with concurrent builders). Used by engine and worker.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "variant/ptxas_record.hpp"
#include "variant/variant.hpp"

namespace wb::variant {

/// Identifies the compiler exactly. `signature` goes into the artifact id.
struct CompilerIdentity {
  std::string path, version;  ///< "/usr/bin/g++", its --version first line
  std::string signature;      ///< hash over version, target, size and time of the programs
  std::string linker = {};    ///< a faster one that it can use: "/usr/bin/ld.gold"; empty: its own
};

struct BuildOptions {
  /// "native", "generic", "x86-64-v3"; for cuda exactly one architecture such as "sm_90a", from
  /// choose_cuda_target().
  std::string target = "native";
  std::vector<fs::path> allowed_includes = {};  ///< --allow-include DIR
  std::chrono::seconds deadline{120};
};

/// Cost and output of a build. `log` is untrusted text, capped at 64 KiB (head and tail).
struct BuildRecord {
  bool cached = false;            ///< true: wall_s and cpu_s are 0, since nothing was compiled
  std::string compiler;           ///< version line
  std::string target;             ///< BuildOptions::target
  std::vector<std::string> argv;  ///< without temporary paths
  double wall_s = 0, cpu_s = 0;
  std::string log;
  PtxasRecord ptxas;  ///< for cuda only
};
/// `ptxas` is present only when it is not empty.
Json to_json(const BuildRecord& record);

struct Artifact {
  std::string id;  ///< 64 hex digits over variant, configuration, flags, compiler, target
  std::string content_sha256;  ///< of the file; empty for python
  fs::path path;               ///< the shared library; for python the folder with its files
  BuildRecord record;
  /// While a copy of it lives, gc keeps the files at `path`. Null when the file system has no locks
  /// or one process holds too many.
  std::shared_ptr<const UniqueFd> lease;
};

/// Readable forms of a compiled variant.
enum class Listing { ptx, sass };
std::string_view to_string(Listing value);

/// The toolchain seam. compile() turns a materialized folder into one shared library.
class Toolchain {
 public:
  virtual ~Toolchain() = default;
  virtual Result<CompilerIdentity> identity() const = 0;
  /// identity(), cached in `folder` by the binary's path, size and time, so that a cache hit starts
  /// no process. The default does not cache.
  virtual Result<CompilerIdentity> remembered_identity(const fs::path& folder) const;
  /// False when there is no compiler and the user named none. Then only cached artifacts for
  /// exactly that target, compiled elsewhere, are usable.
  virtual bool is_installed() const { return true; }
  /// The meaning of options.target on this machine (for "native" its CPU) and the flags of every
  /// build: the rest of what the artifact id must cover. The default is the target's word.
  virtual std::string target_identity(const BuildOptions& options) const;
  /// Writes the shared library to `output`, in an existing private folder. Errors inside the
  /// Outcome: compile (the compiler's output), timeout, constraints (a flag not on the allow-list,
  /// an include not granted), environment (no compiler, disk full).
  virtual Outcome<BuildRecord> compile(const Variant& variant, const Configuration& configuration,
                                       const BuildOptions& options, std::string_view build_id,
                                       const fs::path& output) const = 0;
  /// The code in `library`, which compile() made from the same arguments, as text. Failures:
  /// constraints (the backend has no such form; the default), environment (a program is missing),
  /// those of compile().
  virtual Outcome<std::string> listing(Listing kind, const Variant& variant,
                                       const Configuration& configuration,
                                       const BuildOptions& options, const fs::path& library) const;
};

/// Limits of one compiler process. A source that exceeds them fails as `compile`, not as
/// `environment`.
struct CompileLimits {
  std::uint64_t address_space_bytes = 8ull << 30;
  std::uint64_t file_size_bytes = 256ull << 20;
};

class IdentityMemory;

/// g++ or clang++ for backend cpu. `compiler` is a program name or path. Its identity is asked
/// once, and again when one of its programs changed, so that a compile starts no process for it.
class CpuToolchain final : public Toolchain {
 public:
  explicit CpuToolchain(std::string compiler, CompileLimits limits = {});
  Result<CompilerIdentity> identity() const override;
  Result<CompilerIdentity> remembered_identity(const fs::path& folder) const override;
  std::string target_identity(const BuildOptions& options) const override;
  Outcome<BuildRecord> compile(const Variant& variant, const Configuration& configuration,
                               const BuildOptions& options, std::string_view build_id,
                               const fs::path& output) const override;

 private:
  std::string m_compiler;
  CompileLimits m_limits;
  std::shared_ptr<IdentityMemory> m_memory;
};

/// The user's settings for the place of nvcc; empty means unset. The command line fills them, three
/// from the environment.
struct CudaPlaces {
  std::string nvcc = {};                ///< --nvcc: a program name or path
  std::string cudacxx = {};             ///< CUDACXX: a program name or path
  std::string home = {}, toolkit = {};  ///< CUDA_HOME, CUDA_PATH: folders with bin/nvcc
  std::string host_compiler = {};       ///< for host code; empty: g++
};
/// The first of --nvcc, CUDACXX, CUDA_HOME, CUDA_PATH, PATH and /usr/local/cuda. A named program
/// must exist; a folder without nvcc is skipped. Errors: environment (with the places).
Result<fs::path> find_nvcc(const CudaPlaces& places);

/// nvcc for backend cuda: code for exactly one architecture, with the CUDA runtime inside the
/// library. Needs no GPU. The identity covers nvcc, ptxas and the host compiler.
class CudaToolchain final : public Toolchain {
 public:
  explicit CudaToolchain(CudaPlaces places, CompileLimits limits = {})
      : m_places(std::move(places)), m_limits(limits) {}
  Result<CompilerIdentity> identity() const override;
  Result<CompilerIdentity> remembered_identity(const fs::path& folder) const override;
  bool is_installed() const override;
  std::string target_identity(const BuildOptions& options) const override;
  Outcome<BuildRecord> compile(const Variant& variant, const Configuration& configuration,
                               const BuildOptions& options, std::string_view build_id,
                               const fs::path& output) const override;
  /// PTX needs nvcc; SASS needs cuobjdump beside it or in PATH.
  Outcome<std::string> listing(Listing kind, const Variant& variant,
                               const Configuration& configuration, const BuildOptions& options,
                               const fs::path& library) const override;

 private:
  CudaPlaces m_places;
  CompileLimits m_limits;
};

/// The artifact id that build() would give. Asks the compiler for its identity; ArtifactCache::id()
/// caches that. Errors: those of complete_configuration and of the toolchain's identity, invalid
/// (an include or library that is not granted).
Result<std::string> artifact_id(const Variant& variant, const Configuration& configuration,
                                const BuildOptions& options, const Toolchain* toolchain);

/// Layout: <root>/<2 hex>/<artifact id>/{artifact.so | files/, build.json}, <root>/compilers/,
/// <root>/tmp/ (private folders of running builds). Any number of processes may share one root.
class ArtifactCache {
 public:
  ArtifactCache(FileSystem& file_system, fs::path root);
  /// Returns the cached artifact, or compiles and publishes it by renaming a whole folder; a
  /// builder that comes second uses the first one's. An entry whose bytes differ from its record is
  /// built again. toolchain may be null for backend python only. Without an installed CUDA
  /// toolchain: the newest entry of this variant, configuration, target and grants, by any
  /// compiler. Failures: those of compile(); constraints also for a configuration that the manifest
  /// does not allow; environment for an unwritable cache.
  Outcome<Artifact> build(const Variant& variant, const Configuration& configuration,
                          const BuildOptions& options, const Toolchain* toolchain);
  /// artifact_id() without starting a process once the compiler is known. Errors: the same.
  Result<std::string> id(const Variant& variant, const Configuration& configuration,
                         const BuildOptions& options, const Toolchain* toolchain);
  /// The intact entry with that id, by any builder, if it is one of `variant`; else nothing.
  std::optional<Artifact> find(const std::string& id, const Variant& variant);
  [[nodiscard]] const fs::path& root() const { return m_root; }

 private:
  Outcome<Artifact> find_without_compiler(const Variant& variant, const Configuration& complete,
                                          const BuildOptions& options, Error no_compiler);

  FileSystem& m_file_system;
  fs::path m_root;
  /// Number of living leases; each is an open descriptor.
  std::shared_ptr<std::atomic<int>> m_leases = std::make_shared<std::atomic<int>>(0);
};

}  // namespace wb::variant
