// SPDX-License-Identifier: MIT
// Closing iterations and sessions: what the commits hold, and that they can be made again.
#include "core/json.hpp"
#include "session/commits.hpp"

#include "core/hash.hpp"
#include "session/session.hpp"
#include "support/file_systems.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

using Trailer = std::pair<std::string, std::string>;

struct CommitFixture {
  Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  fs::path folder = scratch / "s";
  Session make() { return must(Session::create(files, clock, folder, example_identity())); }
  Session reopen() { return must(Session::open_owner(files, clock, folder)); }
  std::string tip() { return must(must(Repository::open_or_create(folder)).tip()); }
  /// A session with one closed iteration whose commit and iteration_committed are gone again, as
  /// after a kill in between. Returns the oid that it had.
  std::string cut_after_closing(bool keep_commit) {
    std::string oid;
    std::string root;
    std::string text;
    {
      Session session = make();
      root = tip();
      oid = must(run_iteration(session, clock, 0, "cpu_tiled"));
      text = session.log().text(session.log().size() - 1);
    }
    spill(folder / "events.jsonl", text);
    if (!keep_commit) spill(folder / ".git" / "refs" / "heads" / "main", root + "\n");
    return oid;
  }
};

}  // namespace

TEST_CASE("times are read as they are written", "[session][commits]") {
  CHECK(seconds_of_iso8601("1970-01-01T00:00:00.000Z") == 0);
  CHECK(seconds_of_iso8601("2026-01-02T03:04:05.678Z") == 1'767'323'045);
  CHECK(seconds_of_iso8601("2026-01-02T03:04:05Z") == 1'767'323'045);
  CHECK(seconds_of_iso8601("2024-02-29T23:59:59.999Z") == 1'709'251'199);
  const FakeClock clock;
  CHECK(seconds_of_iso8601(to_iso8601(clock.now())) == 1'767'323'045);
  for (const char* bad : {"", "2026", "2026-13-02T03:04:05.678Z", "2023-02-29T00:00:00.000Z",
                          "2026-01-02 03:04:05.678Z", "2026-01-02T03:04:05.678+",
                          "yyyy-01-02T03:04:05Z", "2026-01-02T-3:04:05.678Z"}) {
    INFO(bad);
    CHECK_FALSE(seconds_of_iso8601(bad));
  }
}

TEST_CASE("a closed iteration is a commit of its sources and pages", "[session][commits]") {
  CommitFixture f;
  Session session = f.make();
  const std::string root = f.tip();
  const std::string oid = must(run_iteration(session, f.clock, 0, "cpu_tiled"));
  const Repository repository = must(Repository::open_or_create(f.folder));
  CHECK(must(repository.tip()) == oid);
  const std::string prefix = "kernels/" + example_variant_id("cpu_tiled") + "/";
  for (const auto& [path, content] : example_sources("cpu_tiled")) {
    CHECK(must(repository.file_at(oid, prefix + path)) == content);
  }
  CHECK(must(repository.file_at(oid, "iterations/0000.md")) ==
        slurp(f.folder / "iterations" / "0000.md"));
  CHECK(must(repository.file_at(oid, "session.json")) == slurp(f.folder / "session.json"));
  CHECK_FALSE(repository.file_at(oid, "events.jsonl").ok());

  const SessionView view = must(session.view(FoldDepth::full));
  const IterationView& iteration = *view.find(0);
  REQUIRE(iteration.closed);
  REQUIRE(iteration.committed);
  CHECK(iteration.committed->payload["oid"] == oid);
  const Json& closed = iteration.closed->payload;
  CHECK(closed["pages"]["0000.md"] == sha256_hex(slurp(f.folder / "iterations" / "0000.md")));
  CHECK(closed["parent_oid"] == root);
  CHECK(closed["author"] == example_identity()["author"]);
  CHECK(closed["committer"] == example_identity()["author"]);
  CHECK(closed["time"] == to_iso8601(f.clock.now()));

  const std::vector<Trailer> trailers = must(repository.trailers(oid));
  const std::vector<Trailer> expected{
      {"Iteration", "0"},
      {"Variant", "cpu_tiled@" + short_hash(example_variant_id("cpu_tiled"))},
      {"Outcome", "baseline"},
      {"Cost", "rate not given"},
      {"Log-Head", session.log().line_hash(iteration.closed->seq)}};
  CHECK(trailers == expected);
}

TEST_CASE("two sessions with the same events and times have the same commits",
          "[session][commits]") {
  const Scratch scratch;
  RealFileSystem files;
  std::string tips[2];
  for (int i = 0; i < 2; ++i) {
    FakeClock clock;
    const fs::path folder = scratch / std::to_string(i);
    must(run_example(files, clock, folder));
    tips[i] = must(must(Repository::open_or_create(folder)).tip());
  }
  CHECK(tips[0] == tips[1]);
}

TEST_CASE("closed but not committed is committed again to the same id", "[session][commits]") {
  for (const bool keep_commit : {false, true}) {
    CommitFixture f;
    const std::string oid = f.cut_after_closing(keep_commit);
    f.clock.advance(std::chrono::hours(5));  // the commit keeps its own time
    const Session session = f.reopen();
    CHECK(f.tip() == oid);
    const SessionView view = must(session.view(FoldDepth::brief));
    REQUIRE(view.find(0)->committed);
    CHECK(view.find(0)->committed->payload["oid"] == oid);
    CHECK(view.recoveries.empty());
  }
}

TEST_CASE("when the branch moved meanwhile the commit goes on the new tip and is logged",
          "[session][commits]") {
  CommitFixture f;
  const std::string oid = f.cut_after_closing(false);
  {
    Repository repository = must(Repository::open_or_create(f.folder));
    CommitSpec by_hand;
    by_hand.subject = "by hand";
    by_hand.files = {{"NOTES.md", "mine\n"}};
    by_hand.author = by_hand.committer = {"Bob", "bob@example.org"};
    by_hand.expected_parent = f.tip();
    must(repository.commit(by_hand));
  }
  const Session session = f.reopen();
  CHECK(f.tip() != oid);
  const SessionView view = must(session.view(FoldDepth::brief));
  CHECK(view.find(0)->committed->payload["oid"] == f.tip());
  REQUIRE(view.recoveries.size() == 1);
  CHECK(view.recoveries[0].payload["reason"].get<std::string>().find("moved") != std::string::npos);
  const Repository repository = must(Repository::open_or_create(f.folder));
  CHECK(must(repository.file_at(f.tip(), "NOTES.md")) == "mine\n");
}

TEST_CASE("a lost history is made again from the log, commit for commit", "[session][commits]") {
  CommitFixture f;
  must(run_example(f.files, f.clock, f.folder));
  const std::string tip = f.tip();
  const auto lose = [&](const char* what) {
    if (what == std::string("repository")) fs::remove_all(f.folder / ".git");
    if (what == std::string("branch")) fs::remove(f.folder / ".git" / "refs" / "heads" / "main");
    if (what == std::string("content")) spill(f.folder / ".git" / "refs" / "heads" / "main", "");
  };
  for (const char* what : {"repository", "branch"}) {
    INFO(what);
    const std::int64_t events = must(Session::open_reader(f.files, f.folder)).log().size();
    lose(what);
    CHECK(f.reopen().log().size() == events);
    CHECK(f.tip() == tip);
  }
  lose("content");
  const Session session = f.reopen();
  CHECK(f.tip() == tip);
  CHECK(must(session.view(FoldDepth::brief)).recoveries.size() == 1);
}

TEST_CASE("a page or source that was changed is not committed under the log's name",
          "[session][commits]") {
  CommitFixture f;
  f.cut_after_closing(false);
  spill(f.folder / "iterations" / "0000.md", "# Improved by hand\n");
  fs::remove_all(f.folder / "kernels" / example_variant_id("cpu_tiled"));
  const Session session = f.reopen();
  const SessionView view = must(session.view(FoldDepth::brief));
  REQUIRE(view.recoveries.size() == 1);
  const auto reason = view.recoveries[0].payload["reason"].get<std::string>();
  CHECK(reason.find("0000.md") != std::string::npos);
  CHECK(reason.find("sources") != std::string::npos);
  const Repository repository = must(Repository::open_or_create(f.folder));
  CHECK_FALSE(repository.file_at(f.tip(), "iterations/0000.md").ok());
  CHECK(repository.file_at(f.tip(), "iterations/0000.json").ok());
}

TEST_CASE("a branch that somebody holds delays the commit, not the session", "[session][commits]") {
  CommitFixture f;
  const fs::path lock = f.folder / ".git" / "refs" / "heads" / "main.lock";
  {
    Session session = f.make();
    spill(lock, std::string(40, '1') + "\n");
    const auto refused = run_iteration(session, f.clock, 0, "cpu_tiled");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::locked);
    CHECK(must(session.current(FoldDepth::brief))->find(0)->is_closed());
  }
  Session session = f.reopen();
  CHECK_FALSE(must(session.current(FoldDepth::brief))->find(0)->committed);
  fs::remove(lock);
  must(run_iteration(session, f.clock, 1, "cpu_next"));
  const SessionView view = must(session.view(FoldDepth::brief));
  REQUIRE(view.find(0)->committed);
  REQUIRE(view.find(1)->committed);
  CHECK(view.find(0)->committed->seq < view.find(1)->closed->seq);
  CHECK(view.recoveries.empty());
}

TEST_CASE("closing refuses what does not fit and logs nothing then", "[session][commits]") {
  CommitFixture f;
  Session session = f.make();
  must(session.append("iteration_opened", {{"iteration", 0}, {"variant", "v@0"}}));
  const std::int64_t events = session.log().size();
  const Json closed{{"outcome", "baseline"}};
  const auto refused = [&](Session::Closing closing, ErrorCode code) {
    const auto result = session.close_iteration(closing);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == code);
    CHECK(session.log().size() == events);
  };
  refused({7, closed, {}, "", "x", {}}, ErrorCode::invalid);
  refused({0, Json::array(), {}, "", "x", {}}, ErrorCode::invalid);
  refused({0, closed, {{"../0000.md", "x"}}, "", "x", {}}, ErrorCode::invalid);
  refused({0, closed, {{"0001.md", "x"}}, "", "x", {}}, ErrorCode::invalid);
  refused({0, closed, {}, "never-stored", "x", {}}, ErrorCode::not_found);
  refused({0, closed, {}, "../../etc", "x", {}}, ErrorCode::invalid);
  refused({0, {{"outcome", std::string(70'000, 'x')}}, {}, "", "x", {}}, ErrorCode::limit);
  must(session.close_iteration({0, closed, {}, "", "x", {}}));
  CHECK(session.close_iteration({0, closed, {}, "", "x", {}}).error().code == ErrorCode::invalid);
}

TEST_CASE("the last commit holds log and reports", "[session][commits]") {
  CommitFixture f;
  must(run_example(f.files, f.clock, f.folder));
  const std::string tip = f.tip();
  {
    const Repository repository = must(Repository::open_or_create(f.folder));
    CHECK(must(repository.file_at(tip, "events.jsonl")) == slurp(f.folder / "events.jsonl"));
    CHECK(must(repository.file_at(tip, "reports/session.md")) == "# The last report\n");
    const auto trailers = must(repository.trailers(tip));
    CHECK(trailers.at(1) == Trailer("Outcome", "win"));
  }
  // Opening a closed session again adds nothing, even when its report was rendered anew.
  Session session = f.reopen();
  must(session.write_report("session.md", "# Rendered by a later version\n"));
  CHECK(session.close(Json::object()).error().code == ErrorCode::invalid);
  session = must(Session::open_reader(f.files, f.folder));
  CHECK(f.reopen().log().size() == session.log().size());
  CHECK(f.tip() == tip);
}

TEST_CASE("a closing whose commit was cut off is committed when the session is opened",
          "[session][commits]") {
  CommitFixture f;
  std::string before;
  {
    Session session = f.make();
    must(run_iteration(session, f.clock, 0, "cpu_tiled"));
    must(session.write_report("session.md", "# Report\n"));
    before = f.tip();
    const auto stopped =
        session.close({{"reason", "budget"}, {"outcome", "no_gain"}}, [](Session&) -> Result<void> {
          return Error{ErrorCode::io, "stop", "here", "a test", ""};
        });
    REQUIRE_FALSE(stopped.ok());
    CHECK(f.tip() == before);
  }
  const Session session = f.reopen();
  CHECK(f.tip() != before);
  const Repository repository = must(Repository::open_or_create(f.folder));
  CHECK(must(repository.file_at(f.tip(), "events.jsonl")) == slurp(f.folder / "events.jsonl"));
  CHECK(must(repository.file_at(f.tip(), "reports/session.md")) == "# Report\n");
}
