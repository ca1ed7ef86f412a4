// SPDX-License-Identifier: MIT
// Sessions that commit to a branch of the user's repository: its existing content is unchanged.
#include "core/json.hpp"
#include "unit/session/example_session.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

TEST_CASE("a session's commits go to a new branch beside the user's files",
          "[session][users_branch]") {
  UsersRepository user;
  const std::string trunk = user.git("rev-parse trunk");
  std::string first, closing;
  {
    Session session = must(user.make());
    CHECK_FALSE(fs::exists(user.folder / ".git"));
    first = must(run_iteration(session, user.clock, 0, "cpu_tiled"));
    must(session.write_report("session.md", "# Report\n"));
    closing = must(session.close({{"reason", "finished"}, {"outcome", "no_gain"}}));
  }
  CHECK(user.git("rev-parse attention") == closing);
  CHECK(user.git("rev-parse attention~3") == trunk);
  CHECK(user.git("rev-parse attention~1") == first);
  CHECK(user.git("show attention:mine.txt") == "mine");
  CHECK(user.git("show attention:sessions/s-example/reports/session.md") == "# Report");
  CHECK(user.git("ls-tree --name-only attention") == "mine.txt\nsessions");
  CHECK(user.git("log -1 --format='%(trailers:key=Iteration,valueonly)' attention~1") == "0");
  // Branch, index and files of the user are as they were.
  CHECK(user.git("rev-parse trunk HEAD") == trunk + "\n" + trunk);
  CHECK(user.git("status --porcelain").empty());
  user.git("fsck --strict");
  // Opening again adds nothing.
  must(Session::open_owner(user.files, user.clock, user.folder));
  CHECK(user.git("rev-parse attention") == closing);
}

TEST_CASE("a session goes on at the tip of a branch that is there", "[session][users_branch]") {
  UsersRepository user;
  user.git("branch attention");
  Session session = must(user.make());
  CHECK(user.git("rev-parse attention~1") == user.git("rev-parse trunk"));
  // The user commits while an iteration waits: it goes on top, and the log says so.
  user.git("checkout -q attention");
  REQUIRE_FALSE(run_iteration(session, user.clock, 0, "cpu_tiled").ok());
  spill(user.repo / "more.txt", "more\n");
  user.git("add more.txt");
  user.git("commit -q -m more");
  const std::string more = user.git("rev-parse attention");
  user.git("checkout -q trunk");
  const std::string oid = must(run_iteration(session, user.clock, 1, "cpu_tiled"));
  CHECK(user.git("rev-parse attention attention~2") == oid + "\n" + more);
  CHECK(user.git("show attention:more.txt") == "more");
  const auto recoveries = must(session.view(FoldDepth::full)).recoveries;
  REQUIRE(recoveries.size() == 1);
  CHECK(recoveries[0].payload["reason"].get<std::string>().find("had moved") != std::string::npos);
}

TEST_CASE("what the user adds after the closing stays, and nothing is added to it",
          "[session][users_branch]") {
  UsersRepository user;
  {
    Session session = must(user.make());
    must(run_iteration(session, user.clock, 0, "cpu_tiled"));
    must(session.close({{"reason", "finished"}, {"outcome", "no_gain"}}));
  }
  user.git("checkout -q attention");
  user.git("commit -q --allow-empty -m later");
  user.git("checkout -q trunk");
  const std::string later = user.git("rev-parse attention");
  must(Session::open_owner(user.files, user.clock, user.folder));
  CHECK(user.git("rev-parse attention") == later);
}

TEST_CASE("an empty repository gets a root commit", "[session][users_branch]") {
  UsersRepository user;
  user.repo = user.scratch / "empty";
  fs::create_directories(user.repo);
  user.git("init -q -b trunk .");
  Json identity = user.identity();
  identity["repository"]["path"] = "../../empty";
  must(Session::create(user.files, user.clock, user.folder, identity));
  CHECK(user.git("rev-list --count attention") == "1");
  CHECK(user.git("ls-tree -r --name-only attention") == "sessions/s-example/session.json");
}

TEST_CASE("a bare repository has nothing checked out", "[session][users_branch]") {
  UsersRepository user;
  user.git("clone -q --bare . ../bare.git");
  Json identity = user.identity("trunk");
  identity["repository"]["path"] = "../../bare.git";
  must(Session::create(user.files, user.clock, user.folder, identity));
  user.repo = user.scratch / "bare.git";
  CHECK(user.git("rev-list --count trunk") == "2");
}

TEST_CASE("a branch that somebody stands on is refused, and nothing is made",
          "[session][users_branch]") {
  UsersRepository user;
  CHECK(user.refusal("trunk") == ErrorCode::locked);
  user.git("worktree add -q -b elsewhere ../elsewhere");
  CHECK(user.refusal("elsewhere") == ErrorCode::locked);
  // Through the other work tree the answer is the same, for either branch.
  Json identity = user.identity("trunk");
  identity["repository"]["path"] = "../../elsewhere";
  const auto through = Session::create(user.files, user.clock, user.folder, identity);
  REQUIRE_FALSE(through.ok());
  CHECK(through.error().code == ErrorCode::locked);
  user.git("symbolic-ref HEAD refs/heads/unborn");
  CHECK(user.refusal("unborn") == ErrorCode::locked);
}

TEST_CASE("a branch that is checked out meanwhile gets its commits afterwards",
          "[session][users_branch]") {
  UsersRepository user;
  Session session = must(user.make());
  const std::string root = user.git("rev-parse attention");
  user.git("checkout -q attention");
  const auto held = run_iteration(session, user.clock, 0, "cpu_tiled");
  REQUIRE_FALSE(held.ok());
  CHECK(held.error().code == ErrorCode::locked);
  CHECK(user.git("rev-parse attention") == root);
  CHECK(user.git("status --porcelain").empty());
  user.git("checkout -q trunk");
  const std::string oid = must(run_iteration(session, user.clock, 1, "cpu_tiled"));
  CHECK(user.git("rev-parse attention attention~2") == oid + "\n" + root);
}

TEST_CASE("names that are none, places that hold no repository, a session twice",
          "[session][users_branch]") {
  UsersRepository user;
  for (const char* name : {"", "-d", "HEAD", "a..b", "a b", "a/", "x.lock", "@{1}", "a\nb"}) {
    INFO(name);
    CHECK(user.refusal(name) == ErrorCode::usage);
  }
  CHECK(user.refusal(std::string(251, 'n')) == ErrorCode::usage);
  user.git("symbolic-ref refs/heads/alias refs/heads/trunk");
  CHECK(user.refusal("alias") == ErrorCode::usage);
  Json identity = user.identity();
  identity["repository"]["path"] = "../../nowhere";
  const auto nowhere = Session::create(user.files, user.clock, user.folder, identity);
  REQUIRE_FALSE(nowhere.ok());
  CHECK(nowhere.error().code == ErrorCode::not_found);
  must(user.make());
  user.folder = user.scratch / "others" / "s-example";
  CHECK(user.refusal("attention") == ErrorCode::invalid);
}

TEST_CASE("what is broken or locked in the user's repository is left alone",
          "[session][users_branch]") {
  UsersRepository user;
  Session session = must(user.make());
  const fs::path ref = user.repo / ".git" / "refs" / "heads" / "attention";
  const std::string root = slurp(ref);
  spill(fs::path(ref) += ".lock", "");
  const auto held = run_iteration(session, user.clock, 0, "cpu_tiled");
  REQUIRE_FALSE(held.ok());
  CHECK(held.error().code == ErrorCode::locked);
  CHECK(fs::exists(fs::path(ref) += ".lock"));
  fs::remove(fs::path(ref) += ".lock");
  spill(ref, std::string(40, '1') + "\n");
  const auto broken = run_iteration(session, user.clock, 1, "cpu_tiled");
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().message().find("git fsck") != std::string::npos);
  CHECK(slurp(ref) == std::string(40, '1') + "\n");
  spill(ref, root);
  must(run_iteration(session, user.clock, 2, "cpu_tiled"));
  CHECK(user.git("rev-list --count trunk..attention") == "3");
}

TEST_CASE("a commit that was cut off is made again with the same id", "[session][users_branch]") {
  UsersRepository user;
  std::string root, oid, text;
  {
    Session session = must(user.make());
    root = user.git("rev-parse attention");
    oid = must(run_iteration(session, user.clock, 0, "cpu_tiled"));
    text = session.log().text(session.log().size() - 1);
  }
  for (const bool keep_commit : {false, true}) {
    spill(user.folder / "events.jsonl", text);
    if (!keep_commit) user.git("branch -f attention " + root);
    Session session = must(Session::open_owner(user.files, user.clock, user.folder));
    CHECK(user.git("rev-parse attention") == oid);
    CHECK(must(session.view(FoldDepth::full)).recoveries.empty());
  }
  // A branch that the user removed is made again, whole.
  user.git("branch -D attention");
  must(Session::open_owner(user.files, user.clock, user.folder));
  CHECK(user.git("rev-parse attention") == oid);
}
