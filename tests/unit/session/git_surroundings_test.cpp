// SPDX-License-Identifier: MIT
// States of git repositories around a session: an unsuitable one is refused before anything is
// made, with the remedy for its cause; harmless ones are accepted.
#include "core/json.hpp"
#include "support/file_systems.hpp"
#include "unit/session/example_session.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

/// Opening fails, and neither the session nor any ref of the user's was made. Returns the message.
std::string refused(UsersRepository& user, ErrorCode code,
                    const std::string& branch = "attention") {
  const fs::path git = user.repo / ".git";
  const std::string packed = slurp(git / "packed-refs");
  const auto made = user.make(branch);
  REQUIRE_FALSE(made.ok());
  const std::string message = made.error().message();
  INFO(message);
  CHECK(made.error().code == code);
  CHECK_FALSE(made.error().next.empty());
  CHECK_FALSE(fs::exists(user.folder.parent_path()));
  CHECK_FALSE(fs::is_regular_file(git / "refs" / "heads" / branch));
  CHECK(slurp(git / "packed-refs") == packed);
  CHECK(message.find("fsck") == std::string::npos);
  return message;
}

bool has(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a branch that another one is in the way of is refused", "[session][git_surroundings]") {
  UsersRepository user;
  user.git("branch billing/part");
  user.git("branch flat");
  for (const bool packed : {false, true}) {
    if (packed) user.git("pack-refs --all");
    CHECK(has(refused(user, ErrorCode::usage, "billing"), "billing/part"));
    CHECK(has(refused(user, ErrorCode::usage, "flat/child"), "the branch flat"));
    CHECK(has(refused(user, ErrorCode::usage, "flat/child/of/it"), "the branch flat"));
  }
  // A name that merely begins alike is another one, and so is one whose branches are gone.
  must(user.make("flatter"));
  user.git("branch -D billing/part");
  user.folder = user.scratch / "sessions" / "second";
  must(user.make("billing"));
}

TEST_CASE("extensions that do not matter to commits are taken", "[session][git_surroundings]") {
  for (const char* words :
       {"worktreeConfig true", "partialClone origin", "preciousObjects true",
        "relativeWorktrees true", "objectFormat sha1", "refStorage files", "noop true"}) {
    INFO(words);
    UsersRepository user;
    user.git("config core.repositoryformatversion 1");
    spill(user.repo / ".git" / "config",
          slurp(user.repo / ".git" / "config") + "[extensions]\n\t" +
              std::string(words).replace(std::string(words).find(' '), 1, " = ") + "\n");
    Session session = must(user.make());
    must(run_iteration(session, user.clock, 0, "cpu_tiled"));
  }
}

TEST_CASE("a way of storing that is not known is refused by its name",
          "[session][git_surroundings]") {
  const std::pair<const char*, const char*> formats[] = {
      {"\tobjectFormat = sha256", "sha256"},
      {"\trefStorage = reftable", "reftable"},
      {"\tfancyThings = true", "fancythings"},
      {"\tcompatObjectFormat = sha256", "compatobjectformat"},
      {"[core]\n\trepositoryformatversion = 2", "version 2"}};
  for (const auto& [line, word] : formats) {
    UsersRepository user;
    user.git("config core.repositoryformatversion 1");
    spill(user.repo / ".git" / "config",
          slurp(user.repo / ".git" / "config") + "[extensions]\n" + line + "\n");
    const std::string message = refused(user, ErrorCode::too_new);
    INFO(message);
    CHECK(has(message, word));
    CHECK(has(message, "another repository"));
  }
}

TEST_CASE("a configuration that does not parse is named", "[session][git_surroundings]") {
  UsersRepository user;
  spill(user.repo / ".git" / "config", "[core\n");
  CHECK(has(refused(user, ErrorCode::invalid), "/config"));
}

TEST_CASE("what the branch holds can be in the way of the session's folder",
          "[session][git_surroundings]") {
  UsersRepository user;
  for (const char* name : {".git", ".GIT", "git~1"}) {
    INFO(name);
    Json identity = user.identity();
    identity["session"] = name;
    const auto made = Session::create(user.files, user.clock, user.folder, identity);
    // Some names are bad only where the repository protects other systems from them.
    if (made.ok()) {
      CHECK(std::string(name) != ".git");
      user.git("branch -D attention");
      fs::remove_all(user.folder);
      continue;
    }
    CHECK(made.error().code == ErrorCode::usage);
    CHECK(has(made.error().next, "--session"));
    CHECK_FALSE(fs::exists(user.folder));
  }
  fs::remove_all(user.folder.parent_path());
  spill(user.repo / "sessions", "notes\n");
  user.git("add sessions");
  user.git("commit -q -m file");
  CHECK(has(refused(user, ErrorCode::usage), "a file called sessions"));
}

TEST_CASE("a lock that stays is named, and no half-made session is left",
          "[session][git_surroundings]") {
  UsersRepository user;
  const fs::path lock = user.repo / ".git" / "refs" / "heads" / "attention.lock";
  spill(lock, "");
  CHECK(has(refused(user, ErrorCode::locked), lock.string()));
  fs::create_directories(user.folder);  // as `mkdir` made it: it stays, empty
  CHECK_FALSE(user.make().ok());
  CHECK(fs::is_empty(user.folder));
  fs::remove(lock);
  must(user.make());
}

TEST_CASE("hooks of the user's repository do not run", "[session][git_surroundings]") {
  UsersRepository user;
  const fs::path hooks = user.repo / ".git" / "hooks";
  fs::create_directories(hooks);
  for (const char* name : {"pre-commit", "commit-msg", "reference-transaction", "post-commit"}) {
    spill(hooks / name, "#!/bin/sh\ntouch '" + (user.scratch / "ran").string() + "'\nexit 1\n");
    fs::permissions(hooks / name, fs::perms::owner_all);
  }
  must(user.make());
  CHECK_FALSE(fs::exists(user.scratch / "ran"));
}

TEST_CASE("a bare repository is one by its work tree's configuration, too",
          "[session][git_surroundings]") {
  UsersRepository user;
  user.git("clone -q --bare . ../store.git");
  user.repo = user.scratch / "store.git";
  user.git("config core.repositoryformatversion 1");
  user.git("config extensions.worktreeConfig true");
  user.git("config --unset core.bare");
  spill(user.repo / "config.worktree", "[core]\n\tbare = true\n");
  Json identity = user.identity("trunk");
  identity["repository"]["path"] = "../../store.git";
  must(Session::create(user.files, user.clock, user.folder, identity));
}

TEST_CASE("a work tree that is linked by relative paths is seen", "[session][git_surroundings]") {
  UsersRepository user;
  user.git("worktree add -q -b elsewhere ../elsewhere");
  spill(user.repo / ".git" / "worktrees" / "elsewhere" / "gitdir", "../../../../elsewhere/.git\n");
  spill(user.scratch / "elsewhere" / ".git", "gitdir: ../project/.git/worktrees/elsewhere\n");
  CHECK(user.refusal("elsewhere") == ErrorCode::locked);
}

TEST_CASE("a session behind a link finds its repository", "[session][git_surroundings]") {
  UsersRepository user;
  fs::create_directories(user.scratch / "disk" / "deep" / "runs");
  fs::create_directory_symlink(user.scratch / "disk" / "deep" / "runs", user.scratch / "sessions");
  Json identity = user.identity();
  identity["repository"]["path"] = "../../../../project";
  { must(Session::create(user.files, user.clock, user.folder, identity)); }
  Session session = must(Session::open_owner(user.files, user.clock, user.folder));
  must(run_iteration(session, user.clock, 0, "cpu_tiled"));
  CHECK(user.git("rev-list --count trunk..attention") == "2");
  CHECK(must(session.warning()).empty());
}

TEST_CASE("the session's own repository with an extension goes on", "[session][git_surroundings]") {
  UsersRepository user;
  const fs::path folder = user.scratch / "own";
  { must(Session::create(user.files, user.clock, folder, example_identity())); }
  user.repo = folder / ".git";
  user.git("config core.repositoryformatversion 1");
  user.git("config extensions.preciousObjects true");
  { must(Session::open_owner(user.files, user.clock, folder)); }
  user.git("config extensions.fancyThings true");
  const auto refusal = Session::open_owner(user.files, user.clock, folder);
  REQUIRE_FALSE(refusal.ok());
  CHECK(has(refusal.error().message(), "fancythings"));
  CHECK(has(refusal.error().next, "made again from the log"));
  // As the message advises:
  fs::rename(folder / ".git", user.scratch / "away");
  must(Session::open_owner(user.files, user.clock, folder));
}

TEST_CASE("a session that cannot be made leaves nothing", "[session][git_surroundings]") {
  const Scratch scratch;
  RealFileSystem real;
  FakeClock clock;
  for (const FileCall call : {FileCall::make_directories, FileCall::open_append,
                              FileCall::write_atomic, FileCall::append}) {
    FaultFileSystem files(real);
    files.add({.call = call, .nth = 1});
    const fs::path folder = scratch / "new" / "deep" / "s";
    CHECK_FALSE(Session::create(files, clock, folder, example_identity()).ok());
    CHECK_FALSE(fs::exists(scratch / "new"));
    must(Session::create(files, clock, folder, example_identity()));  // the fault is over
    fs::remove_all(scratch / "new");
  }
  // Another process that was faster keeps what it made.
  const fs::path folder = scratch / "both";
  const Session first = must(Session::create(real, clock, folder, example_identity()));
  CHECK_FALSE(Session::create(real, clock, folder, example_identity()).ok());
  CHECK(first.check_place().ok());
  CHECK(fs::exists(folder / "session.json"));
}
