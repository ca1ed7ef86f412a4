// SPDX-License-Identifier: MIT
// Every call of the file system fails once, and permanently, at every point of a session's life:
// each time there is a typed error, nothing acknowledged is lost and the session can be continued.
#include "core/json.hpp"
#include "session/repository.hpp"
#include "support/file_systems.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

constexpr int k_more_than_enough = 500;

/// What must hold of a session folder whatever happened to its writer.
void check_whole(const fs::path& folder, std::int64_t acknowledged) {
  RealFileSystem files;
  FakeClock clock;
  Result<Session> opened = Session::open_owner(files, clock, folder);
  if (!opened.ok()) {
    // Only a session that was never handed out may be unusable, and it says so.
    INFO(opened.error().message());
    REQUIRE(acknowledged == 0);
    const ErrorCode code = opened.error().code;
    REQUIRE((code == ErrorCode::not_found || code == ErrorCode::damaged));
    return;
  }
  Session session = *std::move(opened);
  REQUIRE(session.log().size() >= acknowledged);
  const SessionView view = must(session.view(FoldDepth::full));
  const Repository repository = must(Repository::open_or_create(folder));
  for (const IterationView& iteration : view.iterations) {
    REQUIRE(iteration.is_closed() == iteration.committed.has_value());
    if (!iteration.committed) continue;
    // A page that could not be read at that moment is in the commit all the same.
    const auto oid = iteration.committed->payload["oid"].get<std::string>();
    for (const auto& [name, sha256] : iteration.closed->payload["pages"].items()) {
      REQUIRE(repository.file_at(oid, "iterations/" + name).ok());
    }
  }
  if (view.status == SessionStatus::closed) return;
  const std::int64_t number = view.iterations.empty() ? 0 : view.iterations.back().number + 1;
  clock.advance(std::chrono::hours(1));
  must(run_iteration(session, clock, number, "cpu_after"));
}

}  // namespace

TEST_CASE("every failing call of the file system is survived", "[session][faults]") {
  RealFileSystem real;
  int faults = 0;
  for (const FileCall call : {FileCall::read, FileCall::write_atomic, FileCall::make_directories,
                              FileCall::open_append, FileCall::append}) {
    for (const bool stays : {false, true}) {
      for (int nth = 1; nth < k_more_than_enough; ++nth) {
        const Scratch scratch;
        FaultFileSystem files(real);
        files.add({call, nth, nth % 2 == 0 ? ErrorCode::no_space : ErrorCode::io, stays});
        FakeClock clock;
        std::int64_t acknowledged = 0;
        const Result<void> done = run_example(files, clock, scratch / "s",
                                              [&](std::int64_t events) { acknowledged = events; });
        if (files.calls(call) < nth) {
          REQUIRE(done.ok());
          break;
        }
        ++faults;
        INFO("call " << static_cast<int>(call) << " nth " << nth << " stays " << stays);
        if (!done.ok()) {
          const ErrorCode code = done.error().code;
          REQUIRE((code == ErrorCode::no_space || code == ErrorCode::io));
          REQUIRE(done.error().message().find("planted") != std::string::npos);
        }
        check_whole(scratch / "s", acknowledged);
      }
    }
  }
  CHECK(faults > 150);
}

TEST_CASE("an append that is torn half-way is cut at the next opening", "[session][faults]") {
  RealFileSystem real;
  int torn = 0;
  for (int nth = 1; nth < k_more_than_enough; nth += 3) {
    const Scratch scratch;
    FaultFileSystem files(real);
    const std::size_t bytes = nth % 2 == 0 ? 1 : 150;
    files.add({FileCall::append, nth, ErrorCode::io, true, bytes});
    FakeClock clock;
    std::int64_t acknowledged = 0;
    const Result<void> done = run_example(files, clock, scratch / "s",
                                          [&](std::int64_t events) { acknowledged = events; });
    if (files.calls(FileCall::append) < nth) {
      REQUIRE(done.ok());
      break;
    }
    REQUIRE_FALSE(done.ok());
    ++torn;
    INFO("append " << nth);
    check_whole(scratch / "s", acknowledged);
    if (acknowledged == 0) continue;
    const Session reader = must(Session::open_reader(real, scratch / "s"));
    REQUIRE(must(reader.view(FoldDepth::brief)).recoveries.size() == 1);
  }
  CHECK(torn > 10);
}

TEST_CASE("a recovery with a fault of its own can be repeated", "[session][faults]") {
  RealFileSystem real;
  for (const FileCall call : {FileCall::read, FileCall::write_atomic, FileCall::open_append,
                              FileCall::append, FileCall::truncate}) {
    for (int nth = 1; nth < k_more_than_enough; ++nth) {
      const Scratch scratch;
      FakeClock clock;
      {
        Session session = must(Session::create(real, clock, scratch / "s", example_identity()));
        must(run_iteration(session, clock, 0, "cpu_tiled"));
        must(session.append("note", {{"text", "last"}, {"iteration", nullptr}}));
      }
      const std::string text = slurp(scratch / "s" / "events.jsonl");
      spill(scratch / "s" / "events.jsonl", text.substr(0, text.size() - 30));
      FaultFileSystem files(real);
      files.add({call, nth, ErrorCode::io});
      { const auto first = Session::open_owner(files, clock, scratch / "s"); }
      if (files.calls(call) < nth) break;
      INFO("call " << static_cast<int>(call) << " nth " << nth);
      check_whole(scratch / "s", 5);
      const Session reader = must(Session::open_reader(real, scratch / "s"));
      REQUIRE(must(reader.view(FoldDepth::brief)).recoveries.size() == 1);
    }
  }
}
