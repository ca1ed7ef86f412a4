// SPDX-License-Identifier: MIT
// A small session with every event type: baseline, one win, one abandoned iteration, closed. The
// fixture in tests/data/session_v1.tar.gz was written by it.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "core/json.hpp"
#include "session/session.hpp"
#include "support/fake_clock.hpp"
#include "support/torture.hpp"
#include "unit/session/scratch.hpp"

namespace wb::testing {

Json example_identity();
std::map<std::string, std::string> example_sources(const std::string& name);
std::string example_variant_id(const std::string& name);

/// Called after each acknowledged step with the size of the log.
using OnStep = std::function<void(std::int64_t)>;

/// Runs the whole session. Stops at the first error and returns it.
Result<void> run_example(FileSystem& file_system, FakeClock& clock, const fs::path& folder,
                         const OnStep& on_step = {});

/// One iteration with a variant and a page: opened, built, closed and committed.
Result<std::string> run_iteration(session::Session& session, FakeClock& clock, std::int64_t number,
                                  const std::string& name);

/// A repository of the user's, beside which sessions are opened: one commit on `trunk`, made by the
/// git command.
struct UsersRepository {
  Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  fs::path repo = scratch / "project";
  fs::path folder = scratch / "sessions" / "s-example";

  UsersRepository() {
    // What whoever runs this test has told git is nothing to him: neither git nor libgit2 reads it.
    ::setenv("HOME", scratch.path().c_str(), 1);
    ::setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    for (const char* name : {"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_DIR", "GIT_WORK_TREE",
                             "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TEMPLATE_DIR"}) {
      ::unsetenv(name);
    }
    fs::create_directories(repo);
    git("init -q -b trunk .");
    spill(repo / "mine.txt", "mine\n");
    git("add mine.txt");
    git("commit -q -m first");
  }
  /// What it prints, without the last line end. A command that fails fails the test.
  std::string git(const std::string& words) const {
    const fs::path out = scratch / "out";
    const std::string command =
        "cd '" + repo.string() +
        "' && git -c user.name=U -c user.email=u@example.org -c commit.gpgsign=false " + words +
        " > '" + out.string() + "' 2>&1";
    const int code = std::system(command.c_str());
    std::string text = slurp(out);
    if (code != 0) FAIL(command << ": " << text);
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  Json identity(const std::string& branch = "attention") const {
    Json made = example_identity();
    made["session"] = "s-example";
    made["repository"] = {{"path", "../../project"}, {"branch", branch}};
    return made;
  }
  Result<session::Session> make(const std::string& branch = "attention") {
    return session::Session::create(files, clock, folder, identity(branch));
  }
  ErrorCode refusal(const std::string& branch) {
    const auto made = make(branch);
    REQUIRE_FALSE(made.ok());
    INFO(made.error().message());
    CHECK_FALSE(made.error().next.empty());
    CHECK_FALSE(fs::exists(folder));
    return made.error().code;
  }
};

}  // namespace wb::testing
