// SPDX-License-Identifier: MIT
#include "variant/compile_run.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>

#include "core/process.hpp"
#include "variant/compile_sandbox.hpp"
#include "variant/compiler.hpp"

namespace wb::variant {

namespace {

bool holds_one_of(std::string_view text, std::initializer_list<std::string_view> phrases) {
  for (const std::string_view phrase : phrases) {
    if (text.find(phrase) != std::string_view::npos) return true;
  }
  return false;
}

std::string mib(std::uint64_t bytes) {
  return fmt::to_string(bytes >> 20) + " MiB";
}

}  // namespace

CompileFault classify_compile_fault(const ProcessOutcome& outcome) {
  if (outcome.timed_out) return CompileFault::timeout;
  const std::string text = outcome.err + outcome.out;
  // The compiler driver reports its children's deaths as text; the texts of all compilers are
  // listed.
  if (outcome.signal == SIGXFSZ ||
      holds_one_of(text, {"File size limit exceeded", "File too large", "died due to signal 25"})) {
    return CompileFault::file_limit;
  }
  if (holds_one_of(text, {"out of memory allocating", "virtual memory exhausted",
                          "Cannot allocate memory", "LLVM ERROR: out of memory", "std::bad_alloc",
                          "memory exhausted", "Memory allocation failure"})) {
    return CompileFault::memory_limit;
  }
  if (holds_one_of(text, {"No space left on device", "Disk quota exceeded", "cannot execute",
                          "cannot find 'ld'", "posix_spawn failed",
                          "unable to execute command: Exec", "Read-only file system", "nvcc fatal",
                          "unsupported GNU version", "unsupported clang version", "cicc: not found",
                          "ptxas: not found", "cudafe++: not found"})) {
    return CompileFault::machine;
  }
  if (outcome.signal == SIGKILL ||
      holds_one_of(text, {"Killed signal terminated program", "unable to execute command: Killed",
                          "died due to signal 9"})) {
    return CompileFault::killed;
  }
  if (outcome.signal ||
      holds_one_of(
          text, {"internal compiler error", "Internal compiler error", "Internal Compiler Error",
                 "died due to signal", "PLEASE submit a bug report", "frontend command failed"})) {
    return CompileFault::crashed;
  }
  return CompileFault::source;
}

std::string describe(CompileFault fault, std::string_view compiler, const ProcessSpec& spec) {
  const std::string name(compiler);
  switch (fault) {
    case CompileFault::source:
      return name + " refused the source";
    case CompileFault::timeout:
      return name + " was stopped at the deadline of " +
             fmt::to_string(spec.deadline.count() / 1000) + " s";
    case CompileFault::memory_limit:
      return name + " reached the workbench's memory limit of " +
             mib(spec.limits.address_space_bytes.value_or(0)) + "; the source needs too much";
    case CompileFault::file_limit:
      return name + " reached the workbench's limit of " +
             mib(spec.limits.file_size_bytes.value_or(0)) +
             " for one file; the source makes too "
             "large a library";
    case CompileFault::machine:
      return name + " could not work on this machine";
    case CompileFault::killed:
      return name + " was killed, most likely for lack of memory";
    case CompileFault::crashed:
      return name + " crashed on this source (a fault of the compiler)";
  }
  return name + " failed";
}

namespace {

/// Time after the deadline that ends a compiler whose workbench was killed.
constexpr std::uint64_t k_cpu_grace_s = 5;
constexpr std::chrono::seconds k_preprocess_deadline{20};

Failure machine_failure(const Error& error) {
  return Failure{Invalidity::environment, error.message(), {}};
}

/// The compiler's output.
std::string words_of(const ProcessOutcome& outcome) {
  if (outcome.err.empty()) return outcome.out;
  if (outcome.out.empty()) return outcome.err;
  return outcome.out + (outcome.out.ends_with('\n') ? "" : "\n") + outcome.err;
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

/// True when this machine cannot compile an empty function either, or the disk is almost full. Only
/// then is a failure that looks like the machine's its fault, since a source can print any text.
bool machine_is_at_fault(const ProcessSpec& spec, const CompileProbe& probe,
                         const CompileLimits& limits) {
  for (const fs::path& folder : {probe.folder, probe.output.parent_path()}) {
    struct statvfs info {};
    if (::statvfs(folder.c_str(), &info) != 0) return true;
    if (static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize < limits.file_size_bytes) {
      return true;
    }
  }
  return !compiles_empty_source(spec, {}, probe);
}

/// The folders that this command needs; everything else is hidden from it.
SandboxFolders folders_of(const CompileCommand& command, const fs::path& private_folder,
                          const fs::path& sources, const fs::path& output) {
  SandboxFolders folders;
  folders.programs = command.programs;
  folders.readable = command.grants.include_folders;
  for (const fs::path& library : command.grants.library_files) {
    folders.readable.push_back(library.parent_path());
  }
  folders.writable = {private_folder, output.parent_path()};
  folders.working_directory = sources;
  folders.mounted_as = command.mounted_as;
  return folders;
}

/// Half of the machine's memory: a compiler killed above it used too much.
std::uint64_t half_of_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) / 2;
}

ProcessSpec spec_of(const CompileCommand& command, const BuildOptions& options,
                    const fs::path& sources, const fs::path& temporary, const fs::path& output) {
  ProcessSpec spec;
  spec.argv = command.argv;
  const auto lists = read_list_words({command.kind, sources, temporary});
  spec.argv.insert(spec.argv.end(), lists.begin(), lists.end());
  spec.argv.insert(spec.argv.end(), {"-o", output.string()});
  spec.env = compiler_environment(command.compiler.path, temporary);
  spec.clear_env = true;
  spec.working_directory = sources;
  spec.limits.address_space_bytes = command.limits.address_space_bytes;
  spec.limits.file_size_bytes = command.limits.file_size_bytes;
  if (options.deadline.count() > 0) {
    spec.limits.cpu_s = static_cast<std::uint64_t>(options.deadline.count()) + k_cpu_grace_s;
  }
  spec.deadline = options.deadline;
  spec.capture_bytes = command.capture_bytes;
  spec.die_with_parent = true;  // this thread waits for it
  return spec;
}

/// Whose fault the failure was.
Failure failure_of_run(const CompileCommand& command, const ProcessSpec& spec,
                       const ProcessOutcome& outcome, const CompileProbe& probe) {
  CompileFault fault = classify_compile_fault(outcome);
  Invalidity invalidity =
      fault == CompileFault::timeout ? Invalidity::timeout : Invalidity::compile;
  if (fault == CompileFault::machine) {
    if (machine_is_at_fault(spec, probe, command.limits)) {
      invalidity = Invalidity::environment;
    } else {
      fault = CompileFault::source;  // the text came from the source
    }
  } else if (fault == CompileFault::killed && outcome.max_rss_bytes < half_of_memory_bytes()) {
    invalidity = Invalidity::environment;
  }
  const std::string name = fs::path(command.compiler.path).filename().string();
  std::string words = describe(fault, name, spec);
  if (invalidity == Invalidity::environment &&
      outcome.err.find(std::strerror(EAGAIN)) != std::string::npos) {
    words += fmt::format(": it was refused a process; {}", k_more_processes);
  }
  return Failure{invalidity, std::move(words), words_of(outcome)};
}

Failure uncovered_failure(const Variant& variant, const std::string& file) {
  return Failure{Invalidity::constraints,
                 "the sources of " + variant.manifest.name + " make the compiler read " +
                     printable(file, 200) +
                     ", which neither they nor a granted folder hold, so that the artifact's id "
                     "does not cover it",
                 {}};
}

std::vector<fs::path> headers_of(const CompileCommand& command) {
  std::vector<fs::path> programs = command.programs;
  programs.emplace_back(command.compiler.path.substr(0, command.compiler.path.find(' ')));
  programs.emplace_back(command.argv.front());
  return header_folders_of(programs);
}

/// For a failed compile, whose output may quote a file that it should not have read: the
/// preprocessor alone lists the files.
std::optional<Failure> closure_failure(const Variant& variant, const CompileCommand& command,
                                       const ProcessSpec& spec, const SandboxFolders& folders,
                                       const CompileProbe& probe, const ProcessOutcome& failed) {
  const std::string words = words_of(failed);
  if (uses_date_macro(words)) {
    return Failure{Invalidity::constraints,
                   "the sources of " + variant.manifest.name +
                       " use __DATE__, __TIME__ or __TIMESTAMP__, which no artifact id covers",
                   {}};
  }
  ProcessSpec preprocess = spec;
  preprocess.argv = command.argv;
  const auto compiles = [](const std::string& word) { return word == "-shared"; };
  std::erase_if(preprocess.argv, compiles);
  const bool nvcc = command.kind == CompilerKind::nvcc;
  preprocess.argv.insert(preprocess.argv.end(), {"-E", nvcc ? "-Xcompiler=-H" : "-H", "-o",
                                                 (fs::path("/dev") / "null").string()});
  preprocess.capture_bytes = 4u << 20;
  preprocess.deadline = std::min<std::chrono::milliseconds>(spec.deadline, k_preprocess_deadline);
  const auto printed = run_compiler(preprocess, folders, probe);
  if (!printed.ok()) return std::nullopt;
  const ReadLists lists{command.kind, spec.working_directory, {}, command.mounted_as};
  const auto file = uncovered_header(printed->err, lists, variant, command.grants.include_folders,
                                     headers_of(command));
  if (!file) return std::nullopt;
  return uncovered_failure(variant, *file);
}

}  // namespace

std::vector<std::string> macro_words(const Configuration& configuration,
                                     std::string_view build_id) {
  std::vector<std::string> words = {"-DWB_BUILD_ID=\"" + std::string(build_id) + "\""};
  for (const auto& [name, value] : configuration) {
    words.push_back("-D" + name + "=" + fmt::to_string(value));
  }
  return words;
}

std::string head_and_tail(std::string_view words) {
  constexpr std::size_t k_log_max_bytes = 64u << 10;
  return cut_in_the_middle(words, k_log_max_bytes, "\n[… cut …]\n");
}

Outcome<BuildRecord> run_compile(const Variant& variant, const BuildOptions& options,
                                 const CompileCommand& command, const fs::path& given_output) {
  const fs::path output = fs::absolute(given_output);
  // Beside the output, where later builds remove leftovers of killed processes.
  const auto private_folder = TempDirectory::create_in(output.parent_path(), "wb-build");
  if (!private_folder.ok()) return machine_failure(private_folder.error());
  const fs::path sources = private_folder->path() / "src";
  const fs::path temporary = private_folder->path() / "tmp";
  RealFileSystem file_system;
  const auto made = file_system.make_directories(temporary);
  if (!made.ok()) return machine_failure(made.error());
  const auto written = materialise(variant, sources);
  if (!written.ok()) return machine_failure(written.error());

  const ProcessSpec spec = spec_of(command, options, sources, temporary, output);
  const CompileProbe probe{command.probe, command.probe_name, sources, output};
  const SandboxFolders folders = folders_of(command, private_folder->path(), sources, output);
  const auto outcome = run_compiler(spec, folders, probe);
  if (!outcome.ok()) return machine_failure(outcome.error());
  const auto with_cost = [&](Failure failure) {
    failure.compile_cpu_s = outcome->cpu_s;
    return failure;
  };

  std::error_code ignored;
  if (outcome->success() && fs::is_regular_file(output, ignored)) {
    BuildRecord record;
    record.compiler = command.compiler.version;
    record.argv = command.argv;
    record.argv.insert(record.argv.end(), {"-o", output.filename().string()});
    record.wall_s = outcome->wall_s;
    record.cpu_s = outcome->cpu_s;
    record.log = words_of(*outcome);
    const auto uncovered =
        uncovered_read({command.kind, sources, temporary, command.mounted_as}, variant,
                       command.grants.include_folders, headers_of(command));
    if (uncovered.ok() && !uncovered->has_value()) return record;
    fs::remove(output, ignored);
    if (!uncovered.ok()) return with_cost(machine_failure(uncovered.error()));
    return with_cost(uncovered_failure(variant, **uncovered));
  }
  fs::remove(output, ignored);
  if (!outcome->timed_out && !outcome->signal) {
    if (auto failure = closure_failure(variant, command, spec, folders, probe, *outcome)) {
      return with_cost(*std::move(failure));
    }
  }
  return with_cost(failure_of_run(command, spec, *outcome, probe));
}

}  // namespace wb::variant
