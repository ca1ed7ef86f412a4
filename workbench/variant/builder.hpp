// SPDX-License-Identifier: MIT
// From a variant and a configuration to an artifact: the toolchain seam, and the content-addressed
// artifact cache (published atomically; safe with concurrent builders). Who calls: engine, worker.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/invalidity.hpp"
#include "variant/ptxas_record.hpp"
#include "variant/variant.hpp"

namespace wb::variant {

/// Which compiler, exactly. `signature` goes into the artifact id.
struct CompilerIdentity {
  std::string path, version;  ///< "/usr/bin/g++", its --version first line
  std::string signature;      ///< hash over version, target, size and time of the programs
  std::string linker = {};    ///< a faster one that it finds: "/usr/bin/ld.gold"; empty: its own
};

struct BuildOptions {
  /// "native", "generic", "x86-64-v3"; of cuda exactly one architecture such as "sm_90a", which
  /// choose_cuda_target() gives.
  std::string target = "native";
  std::vector<fs::path> allowed_includes = {};  ///< --allow-include DIR
  std::chrono::seconds deadline{120};
};

/// What a build cost and said. `log` is untrusted text, capped at 64 KiB (head and tail).
struct BuildRecord {
  bool cached = false;            ///< then wall_s and cpu_s are 0: this build cost nothing
  std::string compiler;           ///< version line
  std::string target;             ///< of BuildOptions
  std::vector<std::string> argv;  ///< without temporary paths
  double wall_s = 0, cpu_s = 0;
  std::string log;
  PtxasRecord ptxas;  ///< empty but for cuda
};
/// `ptxas` stands there only when it says something.
Json to_json(const BuildRecord& record);

struct Artifact {
  std::string id;              ///< 64 hex: variant, configuration, flags, compiler, target
  std::string content_sha256;  ///< of the file; empty for python
  fs::path path;               ///< the shared library; for python the folder with its files
  BuildRecord record;
  /// While one copy of it lives, gc leaves the files at `path` alone. Null where the file system
  /// has no locks, or one process holds very many.
  std::shared_ptr<const UniqueFd> lease;
};

/// What is inside a compiled variant, for people to read.
enum class Listing { ptx, sass };
std::string_view to_string(Listing value);

/// The toolchain seam. compile() turns a materialised folder into one shared library.
class Toolchain {
 public:
  virtual ~Toolchain() = default;
  virtual Result<CompilerIdentity> identity() const = 0;
  /// identity(), remembered in `folder` by the binary's path, size and time, so that a cache hit
  /// starts no process. The default remembers nothing.
  virtual Result<CompilerIdentity> remembered_identity(const fs::path& folder) const;
  /// False where there is no compiler and the user named none. Then what was compiled elsewhere for
  /// exactly that target serves, if the cache has it.
  virtual bool is_installed() const { return true; }
  /// What options.target means here (for "native" the CPU of this machine) and the flags that every
  /// build gets: the rest of what the artifact id must cover. The default is the target's word.
  virtual std::string target_identity(const BuildOptions& options) const;
  /// Writes the shared library to `output`, in an existing private folder. Errors inside the
  /// Outcome: compile (the compiler's words), timeout, constraints (a flag not on the allow-list,
  /// an include not granted), environment (no compiler, disk full).
  virtual Outcome<BuildRecord> compile(const Variant& variant, const Configuration& configuration,
                                       const BuildOptions& options, std::string_view build_id,
                                       const fs::path& output) const = 0;
  /// What `library`, which compile() made of the same arguments, holds as text. Failures:
  /// constraints (the backend has no such form, which is the default), environment (a program is
  /// missing), those of compile().
  virtual Outcome<std::string> listing(Listing kind, const Variant& variant,
                                       const Configuration& configuration,
                                       const BuildOptions& options, const fs::path& library) const;
};

/// What one compiler process may use. A source that needs more is refused, not the machine blamed.
struct CompileLimits {
  std::uint64_t address_space_bytes = 8ull << 30;
  std::uint64_t file_size_bytes = 256ull << 20;
};

class IdentityMemory;

/// g++ or clang++ for backend cpu. `compiler` is a program name or path. Who it is is asked once,
/// and again when one of its programs changed: a compile starts no process for that.
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

/// Where the user says that nvcc is; empty members say nothing. The command line fills them, three
/// from the environment.
struct CudaPlaces {
  std::string nvcc = {};                ///< --nvcc: a program name or path
  std::string cudacxx = {};             ///< CUDACXX: the same
  std::string home = {}, toolkit = {};  ///< CUDA_HOME, CUDA_PATH: folders with bin/nvcc
  std::string host_compiler = {};       ///< for the code around the kernels; empty: g++
};
/// The first of --nvcc, CUDACXX, CUDA_HOME, CUDA_PATH, PATH and /usr/local/cuda. A program that is
/// named must be there; a folder without nvcc is passed over. Errors: environment (with the
/// places).
Result<fs::path> find_nvcc(const CudaPlaces& places);

/// nvcc for backend cuda: code of exactly one architecture, the CUDA runtime inside the library.
/// Needs no GPU. The identity covers nvcc, ptxas and the host compiler.
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
  /// PTX needs nvcc, SASS cuobjdump beside it or in PATH.
  Outcome<std::string> listing(Listing kind, const Variant& variant,
                               const Configuration& configuration, const BuildOptions& options,
                               const fs::path& library) const override;

 private:
  CudaPlaces m_places;
  CompileLimits m_limits;
};

/// The artifact id that build() would give. Asks the compiler who it is; ArtifactCache::id()
/// remembers that. Errors: those of complete_configuration and of the toolchain's identity, invalid
/// (an include or library that is not granted).
Result<std::string> artifact_id(const Variant& variant, const Configuration& configuration,
                                const BuildOptions& options, const Toolchain* toolchain);

/// Layout: <root>/<2 hex>/<artifact id>/{artifact.so | files/, build.json}, <root>/compilers/,
/// <root>/tmp/ (private folders of builds under way). Any number of processes may share one root.
class ArtifactCache {
 public:
  ArtifactCache(FileSystem& file_system, fs::path root);
  /// From the cache, else compiled and published by renaming a whole folder: whoever comes second
  /// adopts the winner's. An entry whose bytes differ from its record is built again. toolchain may
  /// be null for backend python only. Where a CUDA toolchain is not installed: the newest entry of
  /// this variant, configuration, target and grants, whoever compiled it. Failures: those of
  /// compile(); constraints also for a configuration that the manifest does not allow; environment
  /// for an unwritable cache.
  Outcome<Artifact> build(const Variant& variant, const Configuration& configuration,
                          const BuildOptions& options, const Toolchain* toolchain);
  /// artifact_id() without starting a process once the compiler is known. Errors: the same.
  Result<std::string> id(const Variant& variant, const Configuration& configuration,
                         const BuildOptions& options, const Toolchain* toolchain);
  /// The sound entry of that id, whoever built it, when it is one of `variant`; else nothing.
  std::optional<Artifact> find(const std::string& id, const Variant& variant);
  [[nodiscard]] const fs::path& root() const { return m_root; }

 private:
  Outcome<Artifact> made_elsewhere(const Variant& variant, const Configuration& complete,
                                   const BuildOptions& options, Error no_compiler);

  FileSystem& m_file_system;
  fs::path m_root;
  /// How many leases live: each is an open descriptor.
  std::shared_ptr<std::atomic<int>> m_leases = std::make_shared<std::atomic<int>>(0);
};

}  // namespace wb::variant
