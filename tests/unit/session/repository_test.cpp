// SPDX-License-Identifier: MIT
#include "session/repository.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "support/processes.hpp"
#include "support/torture.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

CommitSpec spec(std::string parent, std::string subject = "Iteration 0001: win") {
  CommitSpec made;
  made.subject = std::move(subject);
  made.trailers = {{"Iteration", "1"}, {"Outcome", "win"}, {"Log-Head", std::string(64, 'a')}};
  made.files = {{"kernels/abc/cpu_tiled/kernel.cpp", "// tiled\n"},
                {"kernels/abc/common/sdpa_abi.h", "/* abi */\n"},
                {"iterations/0001.md", "# One\n"}};
  made.author = {"Ada Example", "ada@example.org"};
  made.committer = made.author;
  made.time_s = 1'767'323'045;
  made.expected_parent = std::move(parent);
  return made;
}

CommitSpec root_spec() {
  CommitSpec made = spec("", "Open s-example");
  made.trailers = {{"Session", "s-example"}};
  made.files = {{"session.json", "{}\n"}};
  return made;
}

Repository fresh(const fs::path& folder) {
  fs::create_directories(folder);
  return must(Repository::open_or_create(folder));
}

void set_age(const fs::path& path, int seconds) {
  const timespec times[2] = {{std::time(nullptr) - seconds, 0}, {std::time(nullptr) - seconds, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("a commit holds files and trailers and keeps what came before", "[session][repository]") {
  const Scratch scratch;
  Repository repository = fresh(scratch / "s");
  CHECK(must(repository.tip()).empty());
  CHECK(repository.mended().empty());
  const auto root = must(repository.commit(root_spec()));
  CHECK_FALSE(root.moved);
  CHECK(must(repository.tip()) == root.oid);
  const auto first = must(repository.commit(spec(root.oid)));
  CHECK(must(repository.tip()) == first.oid);
  CHECK(must(repository.trailers(first.oid)) == spec("").trailers);
  CHECK(must(repository.file_at(first.oid, "session.json")) == "{}\n");
  CHECK(must(repository.file_at(first.oid, "kernels/abc/cpu_tiled/kernel.cpp")) == "// tiled\n");
  CHECK(repository.file_at(root.oid, "iterations/0001.md").error().code == ErrorCode::not_found);
  CHECK(repository.trailers("no oid").error().code == ErrorCode::invalid);
  CHECK_FALSE(repository.trailers(std::string(40, '1')).ok());
  CHECK_FALSE(fs::exists(scratch / "s" / ".git" / "index"));
}

TEST_CASE("the same commit on the same parent has the same id", "[session][repository]") {
  const Scratch scratch;
  std::string ids[2][2];
  for (int i = 0; i < 2; ++i) {
    Repository repository = fresh(scratch / std::to_string(i));
    ids[i][0] = must(repository.commit(root_spec())).oid;
    ids[i][1] = must(repository.commit(spec(ids[i][0]))).oid;
  }
  CHECK(ids[0][0] == ids[1][0]);
  CHECK(ids[0][1] == ids[1][1]);
  // Frozen: a session made by this format must give this id with every later version.
  CHECK(ids[0][1] == "0bde630b88942e6ad887b04f0269d6cdfb6112c1");
  Repository repository = fresh(scratch / "other");
  must(repository.commit(root_spec()));
  CommitSpec later = spec(ids[0][0]);
  later.time_s += 1;
  CHECK(must(repository.commit(later)).oid != ids[0][1]);
}

TEST_CASE("a commit that is there already is not made again", "[session][repository]") {
  const Scratch scratch;
  Repository repository = fresh(scratch / "s");
  const std::string root = must(repository.commit(root_spec())).oid;
  const std::string first = must(repository.commit(spec(root))).oid;
  const auto again = must(repository.commit(spec(root)));
  CHECK(again.oid == first);
  CHECK_FALSE(again.moved);
  CHECK(must(repository.tip()) == first);
  // Also when somebody committed on top of it meanwhile.
  const std::string second = must(repository.commit(spec(first, "by hand"))).oid;
  CHECK(must(repository.commit(spec(root))).oid == first);
  CHECK(must(repository.commit(root_spec())).oid == root);
  CHECK(must(repository.tip()) == second);
}

TEST_CASE("when the branch moved the commit goes on the new tip and says so",
          "[session][repository]") {
  const Scratch scratch;
  Repository repository = fresh(scratch / "s");
  const std::string root = must(repository.commit(root_spec())).oid;
  CommitSpec foreign = spec(root, "by hand");
  foreign.files = {{"notes.txt", "mine\n"}};
  const std::string by_hand = must(repository.commit(foreign)).oid;
  const auto moved = must(repository.commit(spec(root)));
  CHECK(moved.moved);
  CHECK(must(repository.tip()) == moved.oid);
  CHECK(must(repository.file_at(moved.oid, "notes.txt")) == "mine\n");
  // A parent that never existed here is a moved branch, too.
  const auto lost = must(repository.commit(spec(std::string(40, '1'), "another")));
  CHECK(lost.moved);
  CHECK(must(repository.file_at(lost.oid, "notes.txt")) == "mine\n");
}

TEST_CASE("text from outside cannot add lines to a commit message", "[session][repository]") {
  const Scratch scratch;
  Repository repository = fresh(scratch / "s");
  CommitSpec hostile = root_spec();
  hostile.subject = "subject\n\nOutcome: win";
  hostile.trailers = {{"Outcome", "no_gain\nOutcome: win"}, {"Iteration", "3"}};
  const std::string oid = must(repository.commit(hostile)).oid;
  const auto trailers = must(repository.trailers(oid));
  REQUIRE(trailers.size() == 2);
  CHECK(trailers[0].second == "no_gain\\nOutcome: win");
  CHECK(trailers[1] == std::pair<std::string, std::string>("Iteration", "3"));
}

TEST_CASE("a path that leads out of the tree is refused", "[session][repository]") {
  const Scratch scratch;
  Repository repository = fresh(scratch / "s");
  for (const char* path : {"../x", ".git/config", "a//b", "a/../b", ""}) {
    CommitSpec hostile = root_spec();
    hostile.files = {{path, "x"}};
    INFO(path);
    CHECK_FALSE(repository.commit(hostile).ok());
  }
  CHECK(must(repository.tip()).empty());
}

TEST_CASE("a stale lock of the branch is removed, a fresh foreign one is waited for",
          "[session][repository]") {
  const Scratch scratch;
  Repository repository = fresh(scratch / "s");
  const std::string root = must(repository.commit(root_spec())).oid;
  const fs::path lock = scratch / "s" / ".git" / "refs" / "heads" / "main.lock";

  spill(lock, std::string(40, '1') + "\n");
  const FakeClock clock;
  const auto before = clock.steady_now();
  const auto refused = repository.commit(spec(root), clock);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::locked);
  // So long that an empty lock would have come of age meanwhile.
  CHECK(clock.steady_now() - before > std::chrono::seconds(1));
  CHECK(fs::exists(lock));
  CHECK(must(repository.tip()) == root);

  set_age(lock, 61);
  const auto made = must(repository.commit(spec(root)));
  CHECK(made.removed_stale_lock);
  CHECK_FALSE(made.moved);
  CHECK_FALSE(fs::exists(lock));

  // An empty one was left between two steps of a process that is gone.
  spill(lock, "");
  set_age(lock, 2);
  const auto forgotten = must(repository.commit(spec(made.oid, "forgotten")));
  CHECK(forgotten.removed_stale_lock);
  CHECK(must(repository.tip()) == forgotten.oid);

  // One that holds what the branch has was not unlinked after the branch was made.
  spill(lock, forgotten.oid + "\n");
  const auto finished = must(repository.commit(spec(forgotten.oid, "finished")));
  CHECK(finished.removed_stale_lock);
  CHECK_FALSE(finished.moved);
  CHECK_FALSE(fs::exists(lock));

  // A lock that holds the very commit about to be made is what a killed owner left behind.
  const CommitSpec next = spec(finished.oid, "next");
  const Scratch other;
  fs::copy(scratch / "s", other / "s", fs::copy_options::recursive);
  const std::string oid = must(must(Repository::open_or_create(other / "s")).commit(next)).oid;
  spill(lock, oid + "\n");
  const auto after_kill = must(repository.commit(next));
  CHECK(after_kill.oid == oid);
  CHECK(after_kill.removed_stale_lock);
}

TEST_CASE("a broken branch is mended", "[session][repository]") {
  const Scratch scratch;
  std::string root, first;
  const fs::path folder = scratch / "s";
  const fs::path ref = folder / ".git" / "refs" / "heads" / "main";
  {
    Repository repository = fresh(folder);
    root = must(repository.commit(root_spec())).oid;
    first = must(repository.commit(spec(root))).oid;
  }
  for (const std::string& content : {std::string(), std::string("garbage\n"),
                                     std::string(40, '1') + "\n", std::string(10, '\0')}) {
    spill(ref, content);
    const Repository known = must(Repository::open_or_create(folder, first));
    INFO(content);
    CHECK(must(known.tip()) == first);
    CHECK(known.mended().find(first) != std::string::npos);
  }
  // Nothing known, or what is known is lost as well: the branch begins anew and gives the same ids.
  for (const std::string& tip : {std::string(), std::string(40, '1')}) {
    spill(ref, "");
    Repository unknown = must(Repository::open_or_create(folder, tip));
    CHECK(must(unknown.tip()).empty());
    CHECK_FALSE(unknown.mended().empty());
    CHECK(must(unknown.commit(root_spec())).oid == root);
    CHECK(must(unknown.commit(spec(root))).oid == first);
  }
  spill(folder / ".git" / "HEAD", "");
  CHECK(must(must(Repository::open_or_create(folder)).tip()) == first);
}

TEST_CASE("a repository whose objects are lost says what to do", "[session][repository]") {
  const Scratch scratch;
  const fs::path folder = scratch / "s";
  std::string root;
  {
    Repository repository = fresh(folder);
    root = must(repository.commit(root_spec())).oid;
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder / ".git" / "objects")) {
    if (!entry.is_regular_file()) continue;
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
    spill(entry.path(), "");
  }
  Repository repository = must(Repository::open_or_create(folder, root));
  const auto made = repository.commit(root_spec());
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().message().find("made again from the log") != std::string::npos);
}

TEST_CASE("a .git that leads elsewhere is refused", "[session][repository]") {
  const Scratch scratch;
  fresh(scratch / "real");
  fs::create_directories(scratch / "s");
  fs::create_directory_symlink(scratch / "real" / ".git", scratch / "s" / ".git");
  CHECK(Repository::open_or_create(scratch / "s").error().code == ErrorCode::invalid);
  fs::remove(scratch / "s" / ".git");
  spill(scratch / "s" / ".git", "gitdir: " + (scratch / "real" / ".git").string() + "\n");
  CHECK(Repository::open_or_create(scratch / "s").error().code == ErrorCode::invalid);
}

TEST_CASE("a session inside another repository has its own", "[session][repository]") {
  const Scratch scratch;
  Repository outer = fresh(scratch.path());
  const std::string before = must(outer.commit(root_spec())).oid;
  Repository inner = fresh(scratch / "s");
  CHECK(must(inner.tip()).empty());
  must(inner.commit(root_spec()));
  CHECK(must(outer.tip()) == before);
}

TEST_CASE("another user's repository is explained in one sentence", "[session][repository]") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can give a repository to another user");
    return;
  }
  const Scratch scratch;
  { must(fresh(scratch / "s").commit(root_spec())); }
  constexpr uid_t k_other = 54321;
  for (const auto& entry : fs::recursive_directory_iterator(scratch / "s")) {
    REQUIRE(::lchown(entry.path().c_str(), k_other, k_other) == 0);
  }
  const auto opened = Repository::open_or_create(scratch / "s");
  REQUIRE_FALSE(opened.ok());
  INFO(opened.error().message());
  CHECK(opened.error().code == ErrorCode::invalid);
  CHECK(opened.error().message().find("another user") != std::string::npos);
}

TEST_CASE("two writers lose nothing", "[session][repository]") {
  Points points("B3");
  const Scratch scratch;
  { must(fresh(scratch / "s").commit(root_spec())); }
  const int commits = points_of(200, 20);
  const auto write = [&](const std::string& name) {
    auto repository = Repository::open_or_create(scratch / "s");
    if (!repository.ok()) return 1;
    for (int i = 0; i < commits; ++i) {
      const auto tip = repository->tip();
      if (!tip.ok()) return 2;
      CommitSpec mine = spec(*tip, name + std::to_string(i));
      mine.files = {{name + "/" + std::to_string(i), "x"}};
      Result<Repository::Committed> made = repository->commit(mine);
      for (int attempt = 0; !made.ok() && attempt < 20; ++attempt) made = repository->commit(mine);
      if (!made.ok()) return 3;
    }
    return 0;
  };
  const pid_t other = ::fork();
  if (other == 0) ::_exit(write("child"));
  CHECK(write("parent") == 0);
  int status = 0;
  REQUIRE(::waitpid(other, &status, 0) == other);
  CHECK(status == 0);
  const Repository repository = must(Repository::open_or_create(scratch / "s"));
  const std::string tip = must(repository.tip());
  for (int i = 0; i < commits; ++i) {
    for (const char* name : {"child/", "parent/"}) {
      points.begin();
      REQUIRE(must(repository.file_at(tip, name + std::to_string(i))) == "x");
      points.pass();
    }
  }
  const std::string git_folder = (scratch / "s" / ".git").string();
  if (std::system("git --version >/dev/null 2>&1") != 0) {
    WARN("skipped: no git command to check the repository with");
    return;
  }
  CHECK(std::system(("git --git-dir " + git_folder + " fsck --strict --no-progress").c_str()) == 0);
}
