// SPDX-License-Identifier: MIT
#include "session/session.hpp"
#include "core/json.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "core/hash.hpp"
#include "support/processes.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

struct SessionFixture {
  Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  fs::path folder = scratch / "s";
  Session make() { return must(Session::create(files, clock, folder, example_identity())); }
  Session reopen() { return must(Session::open_owner(files, clock, folder)); }
};

}  // namespace

TEST_CASE("a new session stands with log, identity and root commit", "[session][session]") {
  SessionFixture f;
  Session session = f.make();
  CHECK(session.folder() == f.folder);
  CHECK(session.log().size() == 1);
  const SessionView view = must(session.view(FoldDepth::full));
  CHECK(view.opened.payload == example_identity());
  CHECK(view.status == SessionStatus::open);
  const Repository repository = must(Repository::open_or_create(f.folder));
  const std::string root = must(repository.tip());
  CHECK(must(repository.file_at(root, "session.json")) == slurp(f.folder / "session.json"));
  const auto trailers = must(repository.trailers(root));
  CHECK(trailers.at(0) == std::pair<std::string, std::string>("Session", "s-example"));
  CHECK(trailers.at(1) == std::pair<std::string, std::string>("Log-Head", session.log().head()));
  for (const char* name : {"blobs", "kernels", "iterations", "reports"}) {
    CHECK(fs::is_directory(f.folder / name));
  }
}

TEST_CASE("an author is put in when none is given", "[session][session]") {
  SessionFixture f;
  Json identity = example_identity();
  identity.erase("author");
  const Session session = must(Session::create(f.files, f.clock, f.folder, identity));
  CHECK(must(session.view(FoldDepth::brief)).opened.payload["author"]["name"] == "sdpa-wb");
  const Scratch other;
  Json hostile = example_identity();
  hostile["author"] = {{"name", "<>\n"}, {"email", ""}};
  CHECK(Session::create(f.files, f.clock, other / "s", hostile).ok());
  CHECK(Session::create(f.files, f.clock, other / "t", Json::array()).error().code ==
        ErrorCode::invalid);
}

TEST_CASE("a folder is opened only for what it is", "[session][session]") {
  SessionFixture f;
  CHECK(Session::open_owner(f.files, f.clock, f.folder).error().code == ErrorCode::not_found);
  CHECK(Session::open_reader(f.files, f.folder).error().code == ErrorCode::not_found);
  fs::create_directories(f.folder);
  CHECK(Session::open_owner(f.files, f.clock, f.folder).error().code == ErrorCode::not_found);
  CHECK(fs::is_empty(f.folder));
  spill(f.folder / "mine.txt", "x");
  const auto refused = Session::create(f.files, f.clock, f.folder, example_identity());
  CHECK(refused.error().code == ErrorCode::invalid);
  fs::remove(f.folder / "mine.txt");
  { f.make(); }
  CHECK(Session::create(f.files, f.clock, f.folder, example_identity()).error().code ==
        ErrorCode::invalid);
  spill(f.folder / "events.jsonl", "");
  const auto empty = Session::open_owner(f.files, f.clock, f.folder);
  CHECK(empty.error().code == ErrorCode::damaged);
  CHECK(empty.error().message().find("remove the folder") != std::string::npos);
}

TEST_CASE("a session of a newer format is left alone", "[session][session]") {
  SessionFixture f;
  { f.make(); }
  Json identity = must(parse_json(slurp(f.folder / "session.json"), "session.json"));
  identity["format"] = 2;
  spill(f.folder / "session.json", identity.dump());
  const std::string before = slurp(f.folder / "events.jsonl");
  for (const Error& error : {Session::open_owner(f.files, f.clock, f.folder).error(),
                             Session::open_reader(f.files, f.folder).error()}) {
    CHECK(error.code == ErrorCode::too_new);
    CHECK(error.message().find("use the newer sdpa-wb") != std::string::npos);
  }
  CHECK(slurp(f.folder / "events.jsonl") == before);
}

TEST_CASE("a lost session.json is made again from the log", "[session][session]") {
  SessionFixture f;
  { f.make(); }
  const std::string before = slurp(f.folder / "session.json");
  fs::remove(f.folder / "session.json");
  CHECK(must(Session::open_reader(f.files, f.folder)).log().size() == 1);
  const Session session = f.reopen();
  CHECK(slurp(f.folder / "session.json") == before);
  CHECK(must(session.view(FoldDepth::brief)).recoveries.size() == 1);
}

TEST_CASE("a second owner is refused and told who holds the session", "[session][session]") {
  SessionFixture f;
  const BackgroundChild owner([&] {
    static auto held = Session::create(f.files, f.clock, f.folder, example_identity());
    return held.ok();
  });
  REQUIRE(owner.succeeded());
  const auto refused = Session::open_owner(f.files, f.clock, f.folder);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::locked);
  CHECK(refused.error().message().find(std::to_string(owner.pid())) != std::string::npos);
  CHECK(must(Session::open_reader(f.files, f.folder)).log().size() == 1);
}

TEST_CASE("the lock goes with its owner, however it ends", "[session][session]") {
  SessionFixture f;
  {
    const BackgroundChild owner([&] {
      static auto held = Session::create(f.files, f.clock, f.folder, example_identity());
      return held.ok();
    });
    REQUIRE(owner.succeeded());
  }  // SIGKILL
  CHECK(f.reopen().log().size() == 1);
}

TEST_CASE("of many who open one folder exactly one becomes the owner", "[session][session]") {
  SessionFixture f;
  { f.make(); }
  constexpr int k_rounds = 10;
  constexpr int k_processes = 8;
  for (int round = 0; round < k_rounds; ++round) {
    std::vector<std::unique_ptr<BackgroundChild>> children;
    int owners = 0;
    for (int i = 0; i < k_processes; ++i) {
      children.push_back(std::make_unique<BackgroundChild>([&] {
        static auto opened = Session::open_owner(f.files, f.clock, f.folder);
        return opened.ok();
      }));
      owners += children.back()->succeeded() ? 1 : 0;
    }
    REQUIRE(owners == 1);
  }
}

TEST_CASE("a reader writes nothing", "[session][session]") {
  SessionFixture f;
  { f.make(); }
  Session reader = must(Session::open_reader(f.files, f.folder));
  CHECK(reader.append("note", Json::object()).error().code == ErrorCode::read_only);
  CHECK(reader.put_blob("x").error().code == ErrorCode::read_only);
  CHECK(reader.store_variant("v", {}).error().code == ErrorCode::read_only);
  CHECK(reader.write_report("session.md", "x").error().code == ErrorCode::read_only);
  CHECK(reader.close(Json::object()).error().code == ErrorCode::read_only);
  CHECK(reader.close_iteration({}).error().code == ErrorCode::read_only);
  CHECK(reader.view(FoldDepth::full).ok());
}

TEST_CASE("a torn tail is cut, saved and told by a recovered event", "[session][session]") {
  SessionFixture f;
  { must(f.make().append("note", {{"text", "kept"}})); }
  const std::string whole = slurp(f.folder / "events.jsonl");
  spill(f.folder / "events.jsonl", whole + "{\"seq\":3,\"prev\":\"00");
  CHECK(must(Session::open_reader(f.files, f.folder)).log().size() == 2);
  {
    const Session session = f.reopen();
    const SessionView view = must(session.view(FoldDepth::brief));
    REQUIRE(view.recoveries.size() == 1);
    const Json& payload = view.recoveries[0].payload;
    CHECK(payload["cut_bytes"] == 19);
    CHECK(slurp(f.folder / payload["saved_as"].get<std::string>()) == "{\"seq\":3,\"prev\":\"00");
    CHECK_FALSE(payload["reason"].get<std::string>().empty());
  }
  CHECK(f.reopen().log().size() == 3);  // and only once

  // Killed after the cut and before the event: the next owner tells of it.
  spill(f.folder / "events.torn-000004-0a1b2c3d", "tail");
  const Session session = f.reopen();
  const SessionView view = must(session.view(FoldDepth::brief));
  REQUIRE(view.recoveries.size() == 2);
  CHECK(view.recoveries[1].payload["cut_bytes"] == 4);
}

TEST_CASE("a view follows the log without folding it again", "[session][session]") {
  SessionFixture f;
  Session session = f.make();
  CHECK(must(session.current(FoldDepth::full))->notes.empty());
  for (int i = 0; i < 5; ++i) {
    must(session.append("note", {{"text", std::to_string(i)}, {"iteration", nullptr}}));
    CHECK(must(session.current(FoldDepth::full))->notes.size() == static_cast<std::size_t>(i + 1));
  }
  CHECK(must(session.current(FoldDepth::full)) == must(session.current(FoldDepth::full)));
  CHECK(must(session.view(FoldDepth::brief)).notes.size() == 5);
  Session moved = std::move(session);
  CHECK(must(moved.view(FoldDepth::full)).log_head == moved.log().head());
}

TEST_CASE("a full disk keeps what was logged and lets the session go on", "[session][session]") {
  const Scratch scratch;
  // A file-size limit answers like a disk that fills up in the middle of a line.
  const int step = in_child([&] {
    RealFileSystem files;
    FakeClock clock;
    auto session = Session::create(files, clock, scratch / "s", example_identity());
    if (!session.ok()) return 1;
    for (int i = 0; i < 20; ++i) {
      if (!session->append("note", {{"text", std::string(1000, 'x')}}).ok()) return 2;
    }
    std::signal(SIGXFSZ, SIG_IGN);
    const std::uintmax_t size = fs::file_size(scratch / "s" / "events.jsonl");
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t before = limit.rlim_cur;
    for (const std::uintmax_t room : {1, 100, 500, 1100}) {
      limit.rlim_cur = size + room;
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const auto refused = session->append("note", {{"text", std::string(1000, 'y')}});
      if (refused.ok() || refused.error().code != ErrorCode::no_space) return 3;
      if (fs::file_size(scratch / "s" / "events.jsonl") != size) return 4;
    }
    limit.rlim_cur = before;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (!session->append("note", {{"text", "space again"}}).ok()) return 5;
    return session->log().size() == 22 ? 0 : 6;
  });
  REQUIRE(step == 0);
  RealFileSystem files;
  const Session reader = must(Session::open_reader(files, scratch / "s"));
  CHECK(reader.log().size() == 22);
  CHECK(reader.log().event(22)->payload["text"] == "space again");
}

TEST_CASE("a folder that may not be written is said to be read-only", "[session][session]") {
  if (::geteuid() != 0) {
    WARN("skipped: the test needs root to become a user without rights in the folder");
    return;
  }
  SessionFixture f;
  { must(f.make().append("note", {{"text", "one"}})); }
  fs::permissions(f.scratch.path(), fs::perms(0755));
  const int step = in_child([&] {
    constexpr uid_t k_nobody = 65534;
    if (::setgid(k_nobody) != 0 || ::setuid(k_nobody) != 0) return 1;
    const auto owner = Session::open_owner(f.files, f.clock, f.folder);
    if (owner.ok() || owner.error().code != ErrorCode::read_only) return 2;
    const auto created = Session::create(f.files, f.clock, f.scratch / "t", example_identity());
    if (created.ok() || created.error().code != ErrorCode::read_only) return 3;
    const auto reader = Session::open_reader(f.files, f.folder);
    return reader.ok() && reader->log().size() == 2 ? 0 : 4;
  });
  CHECK(step == 0);
}
