// SPDX-License-Identifier: MIT
#include "variant/compile_sandbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include "core/hash.hpp"
#include "core/process.hpp"

namespace wb::variant {

namespace {

constexpr std::size_t k_granted_max_files = 50'000;

std::string stamp(const fs::path& path, const fs::path& root) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  const auto time = fs::last_write_time(path, error).time_since_epoch().count();
  return path.lexically_relative(root).generic_string() + " " + fmt::to_string(size) + " " +
         fmt::to_string(time) + "\n";
}

/// Names, sizes and times, not contents, since a header library has hundreds of files and this runs
/// before every cache look-up.
Result<std::string> folder_listing(const fs::path& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    lines.push_back(stamp(it->path(), folder));
    if (lines.size() > k_granted_max_files) {
      return Error{ErrorCode::limit, "list the granted include folder", folder.string(),
                   "it holds more than 50,000 files", "grant a narrower folder"};
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

Error not_granted(const Manifest& manifest, const std::string& kind, const std::string& name) {
  return Error{ErrorCode::invalid, "build", manifest.name,
               "its manifest asks for the " + kind + " \"" + name + "\", which is not granted",
               "pass --allow-include DIR with the folder that holds it"};
}

}  // namespace

Result<Grants> resolve_grants(const Manifest& manifest, const BuildOptions& options) {
  Grants grants;
  if (manifest.includes.empty() && manifest.libraries.empty()) return grants;
  std::vector<fs::path> allowed;
  for (const fs::path& folder : options.allowed_includes) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (!error) allowed.push_back(real);
  }
  Sha256 digest;
  for (const std::string& name : manifest.includes) {
    const auto folder = std::find_if(allowed.begin(), allowed.end(), [&](const fs::path& dir) {
      std::error_code error;
      return fs::is_directory(dir / name, error);
    });
    if (folder == allowed.end()) return not_granted(manifest, "include", name);
    if (std::find(grants.include_folders.begin(), grants.include_folders.end(), *folder) ==
        grants.include_folders.end()) {
      grants.include_folders.push_back(*folder);
    }
    WB_TRY_ASSIGN(const std::string listing, folder_listing(*folder / name));
    digest.update("include " + (*folder / name).string() + "\n" + listing);
  }
  for (const std::string& name : manifest.libraries) {
    fs::path found;
    for (const fs::path& dir : allowed) {
      for (const fs::path& file :
           {dir / ("lib" + name + ".so"), dir / ("lib" + name + ".a"),
            dir / "lib" / ("lib" + name + ".so"), dir / "lib" / ("lib" + name + ".a")}) {
        std::error_code error;
        if (found.empty() && fs::is_regular_file(file, error)) found = file;
      }
    }
    if (found.empty()) return not_granted(manifest, "library", name);
    digest.update("library " + found.string() + "\n" + stamp(found, found.parent_path()));
    grants.library_files.push_back(std::move(found));
  }
  grants.digest = digest.hex();
  return grants;
}

namespace {

using Words = std::vector<std::string>;

/// A driver and one of its steps; bubblewrap outside and within its namespaces.
constexpr int k_compiler_processes = 2, k_sandbox_processes = 2;

void add(Words& words, std::string_view option, const fs::path& path) {
  words.insert(words.end(), {std::string(option), path.string(), path.string()});
}

/// The compiler's installation: the folder above bin/, or its own.
fs::path prefix_of(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return folder.filename() == "bin" ? folder.parent_path() : folder;
}

/// Installations of these programs, links resolved, without those that are visible anyway.
std::set<fs::path> prefixes_of(const fs::path& compiler, std::vector<fs::path> programs) {
  programs.push_back(compiler);
  std::set<fs::path> prefixes;
  for (const fs::path& named : programs) {
    std::error_code error;
    const fs::path real = fs::canonical(named, error);
    for (const fs::path& program : {named, error ? named : real}) {
      const fs::path prefix = prefix_of(program);
      const bool visible = prefix == "/usr" || prefix == "/" || !prefix.is_absolute();
      if (!visible) prefixes.insert(prefix);
    }
  }
  return prefixes;
}

}  // namespace

std::string compile_sandbox_word() {
  const auto program = find_program("bwrap");
  if (!program.ok()) return "none: bubblewrap is not installed";
  ProcessSpec spec;
  spec.argv = {program->string()};
  for (const char* folder : {"/usr", "/bin", "/lib", "/lib64"}) {
    spec.argv.insert(spec.argv.end(), {"--ro-bind-try", folder, folder});
  }
  spec.argv.insert(spec.argv.end(),
                   {"--proc", "/proc", "--unshare-user", "--unshare-pid", "--unshare-net",
                    "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL", "/bin/true"});
  spec.deadline = std::chrono::seconds(10);
  const auto tried = run_process(spec);
  if (tried.ok() && tried->success()) return "bubblewrap";
  const std::string why =
      tried.ok() ? tried->err.substr(0, tried->err.find('\n')) : tried.error().message();
  return "none: bubblewrap does not start here: " + printable(why, 200);
}

std::vector<std::string> compile_sandbox(const fs::path& compiler, const SandboxFolders& folders) {
  const auto bubblewrap = find_program("bwrap");
  if (!bubblewrap.ok()) return {};
  Words words = {bubblewrap->string()};
  for (const char* folder :
       {"/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"}) {
    add(words, "--ro-bind-try", folder);
  }
  // /proc for -march=native on some machines. Of /dev only files whose reading cannot fill memory.
  words.insert(words.end(), {"--proc", "/proc", "--tmpfs", "/dev"});
  add(words, "--dev-bind", "/dev/null");
  for (const fs::path& prefix : prefixes_of(compiler, folders.programs)) {
    add(words, "--ro-bind-try", prefix);
  }
  for (const fs::path& folder : folders.readable) add(words, "--ro-bind", folder);
  for (const fs::path& folder : folders.writable) add(words, "--bind", folder);
  const fs::path work = folders.mounted_as.empty() ? folders.working_directory : folders.mounted_as;
  if (!folders.mounted_as.empty()) {
    words.insert(words.end(), {"--bind", folders.working_directory.string(), work.string()});
  }
  // As process 1 the compiler is reaped by bubblewrap itself, so its CPU time is counted, and when
  // it ends the kernel ends all its children.
  words.insert(words.end(), {"--unshare-user", "--unshare-pid", "--as-pid-1", "--unshare-net",
                             "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL",
                             "--die-with-parent", "--chdir", work.string()});
  return words;
}

bool compiles_empty_source(ProcessSpec spec, std::vector<std::string> before,
                           const CompileProbe& probe) {
  RealFileSystem file_system;
  const fs::path source = probe.folder / probe.name;
  const fs::path library = probe.output.parent_path() / "wb_probe.so";
  if (!file_system.write_atomic(source, "int wb_probe() { return 0; }\n", Durability::none).ok()) {
    return false;
  }
  spec.argv = std::move(before);
  spec.argv.insert(spec.argv.end(), probe.argv.begin(), probe.argv.end());
  spec.argv.insert(spec.argv.end(), {source.string(), "-o", library.string()});
  const auto outcome = run_process(spec);
  std::error_code ignored;
  fs::remove(library, ignored);
  return outcome.ok() && outcome->success();
}

Result<ProcessOutcome> run_compiler(const ProcessSpec& spec, const SandboxFolders& folders,
                                    const CompileProbe& probe) {
  const auto before = compile_sandbox(spec.argv.front(), folders);
  // Before it starts: GCC's driver goes on trying for 15 s to start a step that it is refused.
  const int needed = k_compiler_processes + (before.empty() ? 0 : k_sandbox_processes);
  if (startable_threads(needed) < needed) {
    return process_refused("start the processes of", spec.argv.front(), EAGAIN);
  }
  if (before.empty()) return run_process(spec);
  ProcessSpec confined = spec;
  confined.argv = before;
  confined.argv.insert(confined.argv.end(), spec.argv.begin(), spec.argv.end());
  auto outcome = run_process(confined);
  const bool failed = !outcome.ok() || (!outcome->success() && !outcome->timed_out);
  if (!failed || compiles_empty_source(confined, before, probe)) return outcome;
  return run_process(spec);
}

}  // namespace wb::variant
