// SPDX-License-Identifier: MIT
// g++ and clang++ for backend cpu: flags, target, compiler identity.
#include <array>
#include <fstream>

#include "core/ascii.hpp"
#include "core/hash.hpp"
#include "core/process.hpp"
#include "variant/compile_run.hpp"
#include "variant/compiler.hpp"

namespace wb::variant {

namespace {

/// Flags of every build, before the manifest's own. Hidden visibility separates two variants in one
/// process; -pthread is for the thread pool of kernels/common.
constexpr std::array<std::string_view, 6> k_fixed_flags = {
    "-shared", "-fPIC", "-O3", "-std=c++20", "-fvisibility=hidden", "-pthread"};

Failure failure(Invalidity invalidity, std::string message) {
  return Failure{invalidity, std::move(message), {}};
}

bool is_clang(const CompilerIdentity& identity) {
  return identity.version.find("clang") != std::string::npos;
}

Result<fs::path> locate(const std::string& compiler) {
  auto path = find_program(compiler);
  if (path.ok()) return path;
  return Error{ErrorCode::environment, "find the compiler", compiler, path.error().cause,
               "install g++ or clang++, or name another with --compiler"};
}

constexpr const char* k_gold = "ld.gold";

/// Where the compiler finds gold: for a program that it lacks, g++ prints the bare name and its
/// linking step searches PATH.
fs::path place_of_gold(const fs::path& compiler) {
  const auto named = ask_compiler(compiler, {std::string("-print-prog-name=") + k_gold}, "");
  if (!named.ok()) return {};
  const fs::path place = first_line_of(*named);
  if (place.is_absolute() || place != k_gold) return place;
  const std::string folders = compiler_environment(compiler, "/tmp").at("PATH");
  for (const std::string_view folder : ascii::parts(folders, ':')) {
    std::error_code error;
    if (fs::exists(fs::path(folder) / k_gold, error)) return fs::path(folder) / k_gold;
  }
  return {};
}

/// gold links our libraries in a third of the usual linker's time, which is mostly spent on symbols
/// of the C++ library. Empty without a working gold.
fs::path find_faster_linker(const fs::path& compiler) {
  fs::path linker = place_of_gold(compiler);
  std::error_code error;
  if (!linker.is_absolute() || !fs::is_regular_file(linker, error)) return {};
  const auto version = ask_compiler(linker, {"--version"}, "");
  return version.ok() && version->find("gold") != std::string::npos ? linker : fs::path();
}

std::vector<std::string> linker_words(const CompilerIdentity& identity) {
  if (identity.linker.empty()) return {};
  return {"-fuse-ld=gold"};
}

Result<AskedIdentity> ask_identity(const fs::path& path) {
  constexpr const char* k_remedy = "install g++ or clang++";
  AskedIdentity asked;
  asked.identity.path = path.string();
  asked.programs = {path};
  WB_TRY_ASSIGN(const std::string stamp, binary_stamp(path));
  WB_TRY_ASSIGN(const std::string version, ask_compiler(path, {"--version"}, k_remedy));
  WB_TRY_ASSIGN(const std::string machine, ask_compiler(path, {"-dumpmachine"}, k_remedy));
  asked.identity.version = first_line_of(version);
  std::string facts = asked.identity.version + "\n" + first_line_of(machine) + "\n" + stamp;
  const fs::path linker = find_faster_linker(path);
  if (!linker.empty()) {
    WB_TRY_ASSIGN(const std::string linker_stamp, binary_stamp(linker));
    facts += "\n" + linker_stamp;
    asked.identity.linker = linker.string();
    asked.programs.push_back(linker);
  }
  asked.identity.signature = sha256_hex(facts);
  return asked;
}

/// The lines about the first processor's instruction sets.
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

/// The whole command line except the output. Failures: constraints.
Outcome<std::vector<std::string>> command_line(const CompilerIdentity& identity,
                                               const Variant& variant,
                                               const Configuration& configuration,
                                               const BuildOptions& options, const Grants& grants,
                                               std::string_view build_id) {
  const Manifest& manifest = variant.manifest;
  std::vector<std::string> argv = {identity.path};
  argv.insert(argv.end(), k_fixed_flags.begin(), k_fixed_flags.end());
  argv.emplace_back(is_clang(identity) ? "-ferror-limit=20" : "-fmax-errors=20");
  if (!is_cpu_target(options.target)) {
    return failure(Invalidity::constraints, "\"" + options.target + "\" is not a CPU target");
  }
  const auto linker = linker_words(identity);
  argv.insert(argv.end(), linker.begin(), linker.end());
  if (options.target != "generic") argv.push_back("-march=" + options.target);
  for (const std::string& flag : manifest.compile_flags) {
    if (!is_allowed_cpu_flag(flag)) {
      return failure(Invalidity::constraints,
                     "the manifest of " + manifest.name + " asks for the compiler flag \"" + flag +
                         "\", which is not on the allow-list (docs/guide/add_a_kernel.md)");
    }
    argv.push_back(flag);
  }
  const auto macros = macro_words(configuration, build_id);
  argv.insert(argv.end(), macros.begin(), macros.end());
  argv.insert(argv.end(), {"-iquote", manifest.name, "-iquote", "common"});
  for (const fs::path& folder : grants.include_folders) {
    argv.insert(argv.end(), {"-isystem", folder.string()});
  }
  argv.push_back(manifest.name + "/" + manifest.sources.front());
  for (const fs::path& library : grants.library_files) {
    argv.push_back(library.string());
    argv.push_back("-Wl,-rpath," + library.parent_path().string());
  }
  return argv;
}

}  // namespace

Result<CompilerIdentity> Toolchain::remembered_identity(const fs::path& /*folder*/) const {
  return identity();
}

std::string Toolchain::target_identity(const BuildOptions& options) const {
  return options.target;
}

Outcome<std::string> Toolchain::listing(Listing kind, const Variant& variant, const Configuration&,
                                        const BuildOptions&, const fs::path&) const {
  return failure(Invalidity::constraints,
                 variant.manifest.name + " has backend " +
                     std::string(to_string(variant.manifest.backend)) + ", and only cuda has " +
                     std::string(to_string(kind)) + "; --source shows any variant");
}

std::string_view to_string(Listing value) {
  return value == Listing::ptx ? "ptx" : "sass";
}

CpuToolchain::CpuToolchain(std::string compiler, CompileLimits limits)
    : m_compiler(std::move(compiler)),
      m_limits(limits),
      m_memory(std::make_shared<IdentityMemory>()) {}

Result<CompilerIdentity> CpuToolchain::identity() const {
  WB_TRY_ASSIGN(const fs::path path, locate(m_compiler));
  return m_memory->identity(path, [&] { return ask_identity(path); });
}

Result<CompilerIdentity> CpuToolchain::remembered_identity(const fs::path& folder) const {
  WB_TRY_ASSIGN(const fs::path path, locate(m_compiler));
  return remember_identity(folder, path.string(), [&] { return ask_identity(path); });
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
  auto grants = resolve_grants(variant.manifest, options);
  if (!grants.ok()) return failure(Invalidity::constraints, grants.error().message());
  WB_TRY_ASSIGN(auto argv,
                command_line(*compiler, variant, configuration, options, *grants, build_id));
  CompileCommand command;
  command.compiler = *compiler;
  command.kind = is_clang(*compiler) ? CompilerKind::clang : CompilerKind::gcc;
  command.argv = std::move(argv);
  command.probe = {compiler->path, "-shared", "-fPIC"};
  const auto linker = linker_words(*compiler);
  command.probe.insert(command.probe.end(), linker.begin(), linker.end());
  if (!compiler->linker.empty()) command.programs = {compiler->linker};
  command.probe_name = "wb_probe.cpp";
  command.grants = *std::move(grants);
  command.limits = m_limits;
  auto record = run_compile(variant, options, command, output);
  if (!record.ok()) {
    Failure refused = std::move(record).error();
    refused.untrusted_output = head_and_tail(refused.untrusted_output);
    return refused;
  }
  record->target = options.target;
  record->log = head_and_tail(record->log);
  return record;
}

}  // namespace wb::variant
