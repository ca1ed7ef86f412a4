// SPDX-License-Identifier: MIT
// g++ and clang++ as child processes: an argument array, an empty environment, a private folder,
// limits, a deadline, and a second look before the machine is blamed for a failure.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "core/hash.hpp"
#include "core/process.hpp"
#include "variant/builder.hpp"
#include "variant/compile_failure.hpp"
#include "variant/compile_flags.hpp"
#include "variant/compile_sandbox.hpp"
#include "variant/grants.hpp"

namespace wb {

namespace {

/// What every build gets, before the manifest's own flags. Hidden visibility keeps two variants in
/// one process apart; -pthread is for the thread pool of kernels/common.
constexpr std::array<std::string_view, 6> k_fixed_flags = {
    "-shared", "-fPIC", "-O3", "-std=c++20", "-fvisibility=hidden", "-pthread"};

Failure failure(Invalidity invalidity, std::string message, std::string output = {}) {
  return Failure{invalidity, std::move(message), std::move(output)};
}

/// Beyond the deadline: ends a compiler whose workbench was killed and could not stop it.
constexpr std::uint64_t k_cpu_grace_s = 5;

bool is_clang(const CompilerIdentity& identity) {
  return identity.version.find("clang") != std::string::npos;
}

/// The compiler's words; both streams are capped by the capture, one of them is enough.
std::string words_of(const ProcessOutcome& outcome) {
  return outcome.err.empty() ? outcome.out : outcome.err;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Nothing of the caller's environment: CPATH, GCC_EXEC_PREFIX and the like would change what is
/// built without changing its id.
std::map<std::string, std::string> compiler_environment(const fs::path& compiler,
                                                        const fs::path& temporary) {
  return {{"PATH", compiler.parent_path().string() + ":/usr/local/bin:/usr/bin:/bin"},
          {"LC_ALL", "C"},
          {"TMPDIR", temporary.string()}};
}

Result<std::string> ask(const fs::path& compiler, std::string argument) {
  ProcessSpec spec;
  spec.argv = {compiler.string(), std::move(argument)};
  spec.env = compiler_environment(compiler, "/tmp");
  spec.clear_env = true;
  spec.deadline = std::chrono::seconds(20);
  WB_TRY_ASSIGN(const ProcessOutcome outcome, run_process(spec));
  if (!outcome.success() || outcome.out.empty()) {
    return Error{ErrorCode::environment, "ask the compiler for its version", compiler.string(),
                 "it failed: " + first_line(outcome.err), "install g++ or clang++"};
  }
  return first_line(outcome.out);
}

Result<fs::path> locate(const std::string& compiler) {
  auto path = find_program(compiler);
  if (path.ok()) return path;
  return Error{ErrorCode::environment, "find the compiler", compiler, path.error().cause,
               "install g++ or clang++, or name another with --compiler"};
}

/// Path, size and time of the binary behind any links: changes whenever the compiler does.
Result<std::string> binary_stamp(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno_error("look at the compiler", path, errno);
  return path.string() + " " + std::to_string(info.st_size) + " " +
         std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
}

Result<CompilerIdentity> ask_identity(const fs::path& path, const std::string& stamp) {
  CompilerIdentity identity;
  identity.path = path.string();
  WB_TRY_ASSIGN(identity.version, ask(path, "--version"));
  WB_TRY_ASSIGN(const std::string machine, ask(path, "-dumpmachine"));
  identity.signature = sha256_hex(identity.version + "\n" + machine + "\n" + stamp);
  return identity;
}

/// The lines of the first processor that say which instructions it has.
std::string cpu_facts() {
  std::ifstream file("/proc/cpuinfo");
  std::string facts, line;
  while (std::getline(file, line) && !line.empty()) {
    for (const std::string_view key : {"vendor_id", "cpu family", "model", "stepping", "flags",
                                       "Features", "CPU implementer", "CPU part", "isa"}) {
      if (line.starts_with(key)) {
        facts += line + "\n";
        break;
      }
    }
  }
  return facts;
}

Result<void> materialise(const Variant& variant, const fs::path& folder) {
  RealFileSystem file_system;
  for (const auto& [path, text] : variant.files) {
    const fs::path target = folder / path;
    WB_TRY(file_system.make_directories(target.parent_path()));
    WB_TRY(file_system.write_atomic(target, text, Durability::none));
  }
  return {};
}

/// True when this machine cannot compile an empty function either, or the disk is all but full:
/// then a failure that looks like the machine's is the machine's. A source can print any words.
bool machine_is_at_fault(const ProcessSpec& spec, const std::string& compiler,
                         const fs::path& source_folder, const fs::path& output,
                         const CompileLimits& limits) {
  for (const fs::path& folder : {source_folder, output.parent_path()}) {
    struct statvfs info {};
    if (::statvfs(folder.c_str(), &info) != 0) return true;
    if (static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize < limits.file_size_bytes) {
      return true;
    }
  }
  return !compiles_nothing(spec, {}, compiler, source_folder, output);
}

/// The folders that this command names; everything else of the machine is out of its sight.
SandboxFolders folders_of(const Grants& grants, const fs::path& private_folder,
                          const fs::path& sources, const fs::path& output) {
  SandboxFolders folders;
  folders.readable = grants.include_folders;
  for (const fs::path& library : grants.library_files) {
    folders.readable.push_back(library.parent_path());
  }
  folders.writable = {private_folder, fs::absolute(output).parent_path()};
  folders.working_directory = sources;
  return folders;
}

/// The whole command line but the output. Failures: constraints.
Outcome<std::vector<std::string>> command_line(const CompilerIdentity& identity,
                                               const Variant& variant,
                                               const Configuration& configuration,
                                               const BuildOptions& options,
                                               std::string_view build_id) {
  const Manifest& manifest = variant.manifest;
  std::vector<std::string> argv = {identity.path};
  argv.insert(argv.end(), k_fixed_flags.begin(), k_fixed_flags.end());
  argv.emplace_back(is_clang(identity) ? "-ferror-limit=20" : "-fmax-errors=20");
  if (!is_cpu_target(options.target)) {
    return failure(Invalidity::constraints, "\"" + options.target + "\" is not a CPU target");
  }
  if (options.target != "generic") argv.push_back("-march=" + options.target);
  for (const std::string& flag : manifest.compile_flags) {
    if (!is_allowed_cpu_flag(flag)) {
      return failure(Invalidity::constraints,
                     "the manifest of " + manifest.name + " asks for the compiler flag \"" + flag +
                         "\", which is not on the allow-list (docs/add_a_kernel.md)");
    }
    argv.push_back(flag);
  }
  argv.push_back("-DWB_BUILD_ID=\"" + std::string(build_id) + "\"");
  for (const auto& [name, value] : configuration) {
    argv.push_back("-D" + name + "=" + std::to_string(value));
  }
  argv.insert(argv.end(), {"-iquote", manifest.name, "-iquote", "common"});
  const auto grants = resolve_grants(manifest, options);
  if (!grants.ok()) return failure(Invalidity::constraints, grants.error().message());
  for (const fs::path& folder : grants->include_folders) {
    argv.insert(argv.end(), {"-isystem", folder.string()});
  }
  argv.push_back(manifest.name + "/" + manifest.sources.front());
  for (const fs::path& library : grants->library_files) {
    argv.push_back(library.string());
    argv.push_back("-Wl,-rpath," + library.parent_path().string());
  }
  return argv;
}

/// Half of the machine's memory: a compiler that was killed above it asked for too much.
std::uint64_t half_of_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) / 2;
}

}  // namespace

Result<CompilerIdentity> Toolchain::remembered_identity(const fs::path& /*folder*/) const {
  return identity();
}

std::string Toolchain::target_identity(const BuildOptions& options) const {
  return options.target;
}

Result<CompilerIdentity> CpuToolchain::identity() const {
  WB_TRY_ASSIGN(const fs::path path, locate(m_compiler));
  WB_TRY_ASSIGN(const std::string stamp, binary_stamp(path));
  return ask_identity(path, stamp);
}

Result<CompilerIdentity> CpuToolchain::remembered_identity(const fs::path& folder) const {
  WB_TRY_ASSIGN(const fs::path path, locate(m_compiler));
  WB_TRY_ASSIGN(const std::string stamp, binary_stamp(path));
  const fs::path file = folder / (sha256_hex(stamp) + ".json");
  RealFileSystem file_system;
  if (const auto text = file_system.read(file, 64u << 10); text.ok()) {
    if (const auto json = parse_json(*text, file.string()); json.ok()) {
      ObjectReader reader(*json, file.string());
      CompilerIdentity known{reader.string("path"), reader.string("version"),
                             reader.string("signature")};
      if (reader.finish().ok() && known.path == path.string()) return known;
    }
  }
  WB_TRY_ASSIGN(CompilerIdentity identity, ask_identity(path, stamp));
  const Json json = {
      {"path", identity.path}, {"version", identity.version}, {"signature", identity.signature}};
  // Remembering only saves time: a read-only cache is not a fault here.
  if (file_system.make_directories(folder).ok()) {
    static_cast<void>(file_system.write_atomic(file, json.dump(2) + "\n", Durability::none).ok());
  }
  return identity;
}

std::string CpuToolchain::target_identity(const BuildOptions& options) const {
  std::string text = options.target;
  for (const std::string_view flag : k_fixed_flags) text += " " + std::string(flag);
  if (options.target == "native") text += "\n" + cpu_facts();
  return text;
}

Outcome<BuildRecord> CpuToolchain::compile(const Variant& variant,
                                           const Configuration& configuration,
                                           const BuildOptions& options, std::string_view build_id,
                                           const fs::path& output) const {
  const auto compiler = identity();
  if (!compiler.ok()) return failure(Invalidity::environment, compiler.error().message());
  auto command = command_line(*compiler, variant, configuration, options, build_id);
  if (!command.ok()) return std::move(command).error();
  // Beside the output: what a killed process leaves there is removed by a later build.
  const auto private_folder =
      TempDirectory::create_in(fs::absolute(output).parent_path(), "wb-build");
  if (!private_folder.ok()) {
    return failure(Invalidity::environment, private_folder.error().message());
  }
  const fs::path sources = private_folder->path() / "src";
  const fs::path temporary = private_folder->path() / "tmp";
  RealFileSystem file_system;
  const auto made = file_system.make_directories(temporary);
  if (!made.ok()) return failure(Invalidity::environment, made.error().message());
  const auto written = materialise(variant, sources);
  if (!written.ok()) return failure(Invalidity::environment, written.error().message());

  ProcessSpec spec;
  spec.argv = *command;
  spec.argv.insert(spec.argv.end(), {"-o", fs::absolute(output).string()});
  spec.env = compiler_environment(compiler->path, temporary);
  spec.clear_env = true;
  spec.working_directory = sources;
  spec.limits.address_space_bytes = m_limits.address_space_bytes;
  spec.limits.file_size_bytes = m_limits.file_size_bytes;
  if (options.deadline.count() > 0) {
    spec.limits.cpu_s = static_cast<std::uint64_t>(options.deadline.count()) + k_cpu_grace_s;
  }
  spec.deadline = options.deadline;
  spec.die_with_parent = true;  // this thread waits for it
  const auto grants = resolve_grants(variant.manifest, options);
  if (!grants.ok()) return failure(Invalidity::constraints, grants.error().message());
  const auto outcome =
      run_compiler(spec, folders_of(*grants, private_folder->path(), sources, output), output);
  if (!outcome.ok()) return failure(Invalidity::environment, outcome.error().message());

  std::error_code ignored;
  if (outcome->success() && fs::is_regular_file(output, ignored)) {
    BuildRecord record;
    record.compiler = compiler->version;
    record.argv = *std::move(command);
    record.argv.insert(record.argv.end(), {"-o", output.filename().string()});
    record.wall_s = outcome->wall_s;
    record.cpu_s = outcome->cpu_s;
    record.log = words_of(*outcome);
    return record;
  }
  fs::remove(output, ignored);
  CompileFault fault = classify_compile_fault(*outcome);
  Invalidity invalidity =
      fault == CompileFault::timeout ? Invalidity::timeout : Invalidity::compile;
  if (fault == CompileFault::machine) {
    if (machine_is_at_fault(spec, compiler->path, sources, output, m_limits)) {
      invalidity = Invalidity::environment;
    } else {
      fault = CompileFault::source;  // the words came from the source
    }
  } else if (fault == CompileFault::killed && outcome->max_rss_bytes < half_of_memory_bytes()) {
    invalidity = Invalidity::environment;
  }
  return failure(invalidity, describe(fault, fs::path(compiler->path).filename().string(), spec),
                 words_of(*outcome));
}

}  // namespace wb
