// SPDX-License-Identifier: MIT
#include "cli/mcp.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "core/process.hpp"
#include "verbs/answer_forms.hpp"

namespace wb::cli {
namespace {

/// Both packages must be importable, and the workbench's C++ module must match this interpreter.
constexpr const char* k_probe =
    "import importlib.util as u, sys\n"
    "import sdpa_workbench._core\n"
    "sys.exit(0 if u.find_spec('mcp') and u.find_spec('mcp.server') else 'no module mcp')\n";

/// The interpreter of --python only; else the candidates for Python subjects.
std::vector<std::string> interpreters(const std::vector<std::string>& words,
                                      const Environment& environment, const fs::path& programs) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--python" && i + 1 < words.size()) return {words[i + 1]};
    if (words[i].starts_with("--python=")) return {words[i].substr(9)};
  }
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::path& folder :
       {environment.virtual_env.empty() ? fs::path() : fs::path(environment.virtual_env) / "bin",
        fs::path(".venv") / "bin", programs}) {
    if (folder.empty()) continue;
    const fs::path python = fs::absolute(folder, error) / "python3";
    if (fs::exists(python, error)) found.push_back(python.string());
  }
  found.emplace_back("python3");
  return found;
}

/// Nothing when it is suitable, else the last line of its error.
std::optional<std::string> why_not(const std::string& python) {
  ProcessSpec spec;
  spec.argv = {python, "-P", "-c", k_probe};
  spec.deadline = std::chrono::seconds(60);
  const auto done = run_process(spec);
  if (!done) return done.error().message();
  if (done->success()) return {};
  std::string words = done->err;
  // A failing interpreter prints the reason above its trace.
  if (const auto fatal = words.find("Fatal Python error"); fatal != std::string::npos) {
    const char* const home = std::getenv("PYTHONHOME");
    return words.substr(fatal, words.find('\n', fatal) - fatal) +
           (home == nullptr ? std::string()
                            : fmt::format("; the variable PYTHONHOME is \"{}\": unset it", home));
  }
  while (!words.empty() && words.back() == '\n') words.pop_back();
  const auto line = words.rfind('\n');
  return line == std::string::npos ? words : words.substr(line + 1);
}

}  // namespace

int mcp_main(const std::vector<std::string>& words, const Environment& environment) {
  struct stat input {};
  if (::fstat(STDIN_FILENO, &input) == 0 && S_ISDIR(input.st_mode)) {
    std::fputs("sdpa-wb mcp: cannot read requests: standard input is a folder\n", stderr);
    return static_cast<int>(verbs::ExitCode::usage);
  }
  // PYTHONINSPECT would open a prompt after the server, which would read the client's requests.
  unsetenv("PYTHONINSPECT");
  const fs::path programs = executable_folder();
  std::error_code error;
  // A build folder has the package beside the programs.
  if (fs::exists(programs / "python" / "sdpa_workbench", error)) {
    const char* before = std::getenv("PYTHONPATH");
    std::string path = (programs / "python").string();
    if (before != nullptr && *before != '\0') path = std::string(before) + ":" + path;
    setenv("PYTHONPATH", path.c_str(), 1);
  }
  std::string tried;
  for (const std::string& python : interpreters(words, environment, programs)) {
    if (const auto why = why_not(python)) {
      tried += "\n  " + python + ": " + *why;
      continue;
    }
    std::vector<std::string> argv = {python, "-P", "-m", "sdpa_workbench.mcp_server"};
    argv.insert(argv.end(), words.begin(), words.end());
    std::vector<char*> pointers;
    for (std::string& word : argv) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execvp(pointers[0], pointers.data());
    tried += "\n  " + python + ": " + std::strerror(errno);
  }
  std::fputs(("sdpa-wb mcp: no Python here can start the MCP server:" + tried +
              "\nInstall the package with its extra, in a checkout: pip install '.[mcp]'; or name "
              "an interpreter that has it: --python PROGRAM (docs/guide/agents.md)\n")
                 .c_str(),
             stderr);
  return static_cast<int>(verbs::ExitCode::usage);
}

}  // namespace wb::cli
