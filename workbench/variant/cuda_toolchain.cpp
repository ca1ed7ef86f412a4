// SPDX-License-Identifier: MIT
// nvcc for backend cuda: flags, ptxas' output, and the content of built libraries.
#include <array>

#include "core/process.hpp"
#include "variant/compile_run.hpp"
#include "variant/compiler.hpp"
#include "variant/cuda_target.hpp"

namespace wb::variant {

namespace {

/// Libraries contain the CUDA runtime and export none of its symbols, so that a subject needs only
/// the driver and two variants never share a runtime.
constexpr std::array<std::string_view, 7> k_cuda_fixed_flags = {
    "-shared",
    "-O3",
    "-std=c++20",
    "-cudart=static",
    "-Xcompiler=-fPIC,-fvisibility=hidden",
    "-Xlinker=--exclude-libs=ALL",
    "-Xptxas=-v"};

/// ptxas prints several lines per kernel, with names up to a thousand bytes; all are read, and the
/// record keeps less.
constexpr std::size_t k_cuda_capture_bytes = 8u << 20;
constexpr std::uint64_t k_listing_max_bytes = 64u << 20;
constexpr auto k_disassembly_deadline = std::chrono::seconds(120);

Failure cuda_failure(Invalidity invalidity, std::string message) {
  return Failure{invalidity, std::move(message), {}};
}

/// Everything but the output and the libraries. `forms`: the flags for the kind of output.
/// Failures: constraints.
Outcome<std::vector<std::string>> nvcc_words(const Toolkit& toolkit, const Variant& variant,
                                             const Configuration& configuration,
                                             const Grants& grants, std::string_view build_id,
                                             const std::vector<std::string>& forms) {
  const Manifest& manifest = variant.manifest;
  std::vector<std::string> argv = {toolkit.nvcc.string(), "-ccbin=" + toolkit.host.string()};
  argv.insert(argv.end(), forms.begin(), forms.end());
  for (const std::string& flag : manifest.compile_flags) {
    if (!is_allowed_cuda_flag(flag)) {
      return cuda_failure(Invalidity::constraints,
                          "the manifest of " + manifest.name + " asks for the nvcc flag \"" + flag +
                              "\", which is not on the allow-list (docs/guide/add_a_kernel.md)");
    }
    argv.push_back(flag);
  }
  const auto macros = macro_words(configuration, build_id);
  argv.insert(argv.end(), macros.begin(), macros.end());
  argv.insert(argv.end(), {"-I", manifest.name, "-I", "common"});
  for (const fs::path& folder : grants.include_folders) {
    argv.insert(argv.end(), {"-isystem", folder.string()});
  }
  argv.push_back(manifest.name + "/" + manifest.sources.front());
  return argv;
}

/// Only for linking, since nvcc makes PTX from a single input.
std::vector<std::string> library_words(const Grants& grants) {
  std::vector<std::string> words;
  for (const fs::path& library : grants.library_files) {
    const std::string folder = library.parent_path().string();
    words.insert(words.end(), {library.string(), "-Xlinker", "-rpath", "-Xlinker", folder});
  }
  return words;
}

/// Flags of every build for that target.
std::vector<std::string> library_forms(CudaTarget target) {
  std::vector<std::string> forms(k_cuda_fixed_flags.begin(), k_cuda_fixed_flags.end());
  forms.push_back("-gencode=" + gencode_of(target));
  return forms;
}

/// nvcc's messages about the machine, with a remedy.
std::string nvcc_remark(const Failure& failure, const CompilerIdentity& identity,
                        const std::string& target) {
  const auto says = [&](std::string_view words) {
    return failure.untrusted_output.find(words) != std::string::npos;
  };
  if (says("Unsupported gpu architecture")) {
    return identity.version + " does not compile for " + target +
           "; name the nvcc of another toolkit with --nvcc";
  }
  if (says("unsupported GNU version") || says("unsupported clang version")) {
    return identity.version +
           ": this nvcc does not take this host compiler; name another with "
           "--host-compiler";
  }
  return failure.message;
}

/// A complete command: identity, target and grants resolved, flags checked.
Outcome<CompileCommand> cuda_command(const CudaPlaces& places, const Variant& variant,
                                     const Configuration& configuration,
                                     const BuildOptions& options, std::string_view build_id,
                                     const std::vector<std::string>& forms) {
  const auto asked = ask_toolkit(places);
  if (!asked.ok()) return cuda_failure(Invalidity::environment, asked.error().message());
  const Toolkit& toolkit = asked->toolkit;
  auto grants = resolve_grants(variant.manifest, options);
  if (!grants.ok()) return cuda_failure(Invalidity::constraints, grants.error().message());
  WB_TRY_ASSIGN(auto argv, nvcc_words(toolkit, variant, configuration, *grants, build_id, forms));
  CompileCommand command;
  command.compiler = asked->answer.identity;
  command.kind = CompilerKind::nvcc;
  command.argv = std::move(argv);
  command.probe = {toolkit.nvcc.string(), "-ccbin=" + toolkit.host.string()};
  command.probe.insert(command.probe.end(), forms.begin(), forms.end());
  command.probe_name = "wb_probe.cu";
  command.mounted_as = "/wb-sources";
  command.programs = asked->answer.programs;
  command.grants = *std::move(grants);
  command.capture_bytes = k_cuda_capture_bytes;
  return command;
}

/// run_compile(), with a remedy for failures of the machine. The record's log is complete, a
/// failure's output is shortened.
Outcome<BuildRecord> run_nvcc(const Variant& variant, const BuildOptions& options,
                              const CompileCommand& command, const fs::path& output) {
  auto record = run_compile(variant, options, command, output);
  if (record.ok()) return record;
  Failure failure = std::move(record).error();
  if (failure.invalidity == Invalidity::environment) {
    failure.message = nvcc_remark(failure, command.compiler, options.target);
  }
  failure.untrusted_output = head_and_tail(failure.untrusted_output);
  return failure;
}

Outcome<CudaTarget> exact_target(const BuildOptions& options) {
  if (const auto target = parse_cuda_target(options.target)) return *target;
  return cuda_failure(Invalidity::constraints, "\"" + options.target +
                                                   "\" is not a CUDA target; give one such as "
                                                   "sm_90a with --target");
}

/// Beside nvcc, else in PATH, since reading a library that was compiled elsewhere needs no nvcc.
Outcome<fs::path> find_cuobjdump(const CudaPlaces& places, const fs::path& library) {
  const auto asked = ask_toolkit(places);
  if (asked.ok()) {
    const fs::path beside = asked->toolkit.nvcc.parent_path() / "cuobjdump";
    std::error_code error;
    if (fs::exists(beside, error)) return beside;
  }
  if (auto found = find_program("cuobjdump"); found.ok()) return *std::move(found);
  const std::string where =
      asked.ok() ? "cuobjdump is neither beside " + asked->toolkit.nvcc.string() + " nor in PATH"
                 : "there is no nvcc here to look beside, and cuobjdump is not in PATH";
  return cuda_failure(Invalidity::environment,
                      "cannot disassemble " + library.filename().string() + ": " + where +
                          "; install it (package cuda-cuobjdump, with cuda-nvdisasm)" +
                          (asked.ok() ? ", or read --ptx, which needs nvcc only" : ""));
}

Outcome<std::string> disassembly(const CudaPlaces& places, const fs::path& library) {
  WB_TRY_ASSIGN(const auto program, find_cuobjdump(places, library));
  ProcessSpec spec;
  spec.argv = {program.string(), "--dump-sass", fs::absolute(library).string()};
  spec.env = compiler_environment(program, "/tmp");
  spec.clear_env = true;
  spec.deadline = k_disassembly_deadline;
  spec.capture_bytes = k_listing_max_bytes;
  auto outcome = run_process(spec);
  if (!outcome.ok()) return cuda_failure(Invalidity::environment, outcome.error().message());
  if (outcome->success()) return std::move(outcome->out);
  Failure failure = cuda_failure(
      Invalidity::environment,
      outcome->timed_out ? "cuobjdump did not finish within 120 s" : "cuobjdump failed");
  failure.untrusted_output = head_and_tail(outcome->err);
  return failure;
}

}  // namespace

Result<CompilerIdentity> CudaToolchain::identity() const {
  WB_TRY_ASSIGN(const AskedToolkit asked, ask_toolkit(m_places));
  return asked.answer.identity;
}

Result<CompilerIdentity> CudaToolchain::remembered_identity(const fs::path& folder) const {
  WB_TRY_ASSIGN(const fs::path nvcc, find_nvcc(m_places));
  WB_TRY_ASSIGN(const fs::path host, find_host_compiler(m_places));
  return remember_identity(folder, nvcc.string() + "\n" + host.string(),
                           [&]() -> Result<AskedIdentity> {
                             WB_TRY_ASSIGN(const AskedToolkit asked, ask_toolkit(m_places));
                             return asked.answer;
                           });
}

bool CudaToolchain::is_installed() const {
  return !m_places.nvcc.empty() || !m_places.cudacxx.empty() || find_nvcc(m_places).ok();
}

std::string CudaToolchain::target_identity(const BuildOptions& options) const {
  std::string text = options.target;
  for (const std::string_view flag : k_cuda_fixed_flags) text += " " + std::string(flag);
  return text;
}

Outcome<BuildRecord> CudaToolchain::compile(const Variant& variant,
                                            const Configuration& configuration,
                                            const BuildOptions& options, std::string_view build_id,
                                            const fs::path& output) const {
  const auto target = exact_target(options);
  if (!target.ok()) return target.error();
  const auto forms = library_forms(*target);
  WB_TRY_ASSIGN(auto command,
                cuda_command(m_places, variant, configuration, options, build_id, forms));
  command.limits = m_limits;
  const auto libraries = library_words(command.grants);
  command.argv.insert(command.argv.end(), libraries.begin(), libraries.end());
  auto record = run_nvcc(variant, options, command, output);
  if (!record.ok()) return record;
  record->target = options.target;
  record->ptxas = parse_ptxas(record->log);
  record->log = head_and_tail(record->log);
  return record;
}

Outcome<std::string> CudaToolchain::listing(Listing kind, const Variant& variant,
                                            const Configuration& configuration,
                                            const BuildOptions& options,
                                            const fs::path& library) const {
  WB_TRY_ASSIGN(const auto target, exact_target(options));
  if (kind == Listing::sass) return disassembly(m_places, library);
  const std::vector<std::string> forms = {"--ptx", "-O3", "-std=c++20",
                                          "-arch=compute_" + to_text(target).substr(3)};
  WB_TRY_ASSIGN(auto command,
                cuda_command(m_places, variant, configuration, options, "ptx", forms));
  command.limits = m_limits;
  const auto folder = TempDirectory::create("wb-listing");
  if (!folder.ok()) return cuda_failure(Invalidity::environment, folder.error().message());
  const fs::path output = folder->path() / "listing.ptx";
  const auto record = run_nvcc(variant, options, command, output);
  if (!record.ok()) return record.error();
  auto text = RealFileSystem().read(output, k_listing_max_bytes);
  if (!text.ok()) return cuda_failure(Invalidity::environment, text.error().message());
  return *std::move(text);
}

}  // namespace wb::variant
