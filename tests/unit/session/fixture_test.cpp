// SPDX-License-Identifier: MIT
// Released formats stay readable: tests/data/session_v1 was written by the first version and is
// never changed. A later format gets another fixture beside it.
#include "core/hash.hpp"
#include "support/places.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

const fs::path k_fixture = source_dir() / "tests" / "data" / "session_v1";

}  // namespace

TEST_CASE("a session of format 1 is read", "[session][fixture]") {
  RealFileSystem files;
  const Session session = must(Session::open_reader(files, k_fixture));
  const SessionView view = must(session.view(FoldDepth::full));
  CHECK(view.not_understood == 0);
  CHECK(view.iterations.size() == 3);
  CHECK(view.status == SessionStatus::closed);
  CHECK(view.incumbent.starts_with("cpu_tiled@"));
  CHECK(view.ledger.items.at(CostItem::device).quantity == Approx(6.5));
  CHECK_FALSE(view.ledger.total().complete);
  const auto blob = view.outside.built.at(0).payload["log_blob"].get<std::string>();
  CHECK(must(session.read_blob(blob)).size() == 2001);
  CHECK(must(session.load_variant_files(example_variant_id("cpu_tiled"))) ==
        example_sources("cpu_tiled"));
  for (std::int64_t seq = 1; seq <= session.log().size(); ++seq) {
    CHECK(session.log().event(seq).ok());
  }
}

TEST_CASE("the history of a session of format 1 is made again with its ids", "[session][fixture]") {
  const Scratch scratch;
  fs::copy(k_fixture, scratch / "s", fs::copy_options::recursive);
  for (const char* name : {"blobs", "kernels", "iterations", "reports"}) {
    fs::create_directories(scratch / "s" / name);
  }
  RealFileSystem files;
  FakeClock clock;
  const Session session = must(Session::open_owner(files, clock, scratch / "s"));
  CHECK(session.log().size() == must(Session::open_reader(files, k_fixture)).log().size());
  const Repository repository = must(Repository::open_or_create(scratch / "s"));
  for (const IterationView& iteration : must(session.view(FoldDepth::full)).iterations) {
    const auto oid = iteration.committed->payload["oid"].get<std::string>();
    CHECK(must(repository.trailers(oid)).at(0).second == std::to_string(iteration.number));
  }
  CHECK(must(repository.file_at(must(repository.tip()), "events.jsonl")) ==
        slurp(k_fixture / "events.jsonl"));
}

// Made the fixture: unit_session "[make_fixture]". Kept to show how; it does not overwrite.
TEST_CASE("make the fixture of the current format", "[.][make_fixture]") {
  const fs::path target =
      k_fixture.parent_path() / ("session_v" + std::to_string(k_session_format));
  RealFileSystem files;
  FakeClock clock;
  REQUIRE_FALSE(fs::exists(target));
  must(run_example(files, clock, target));
  fs::remove_all(target / ".git");  // cannot stand inside another repository
}
