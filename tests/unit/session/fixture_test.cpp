// SPDX-License-Identifier: MIT
// Released formats stay readable: the folder in tests/data/session_v1.tar.gz was written by the
// first version and is never changed. A later format gets a fixture of its own beside it.
#include "core/hash.hpp"
#include "core/json.hpp"
#include "session/archive.hpp"
#include "session/storage.hpp"
#include "support/places.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

const fs::path k_fixture = source_dir() / "tests" / "data" / "session_v1.tar.gz";

/// The fixture as the folder that it was.
void unpack_fixture(const fs::path& folder) {
  for (const auto& [name, bytes] : must(unpack_archive(slurp(k_fixture), k_fixture)).files) {
    fs::create_directories((folder / name).parent_path());
    spill(folder / name, bytes);
  }
}

}  // namespace

TEST_CASE("a session of format 1 is read", "[session][fixture]") {
  const Scratch scratch;
  unpack_fixture(scratch / "s");
  const bool is_packed = GENERATE(true, false);
  RealFileSystem files;
  const Session session = must(Session::open_reader(files, is_packed ? k_fixture : scratch / "s"));
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
  unpack_fixture(scratch / "s");
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
        slurp(scratch / "s" / "events.jsonl"));
}

// Made the fixture: unit_session "[make_fixture]". Kept to show how; it does not overwrite.
TEST_CASE("make the fixture of the current format", "[.][make_fixture]") {
  const std::string name = "session_v" + std::to_string(k_session_format);
  const fs::path target = k_fixture.parent_path() / (name + ".tar.gz");
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  REQUIRE_FALSE(fs::exists(target));
  must(run_example(files, clock, scratch / name));
  const FolderStorage in_folder(files, scratch / name);
  const SessionStorage& storage = in_folder;
  ArchiveFiles content;
  for (const SessionStorage::Entry& entry : must(storage.list(""))) {
    if (entry.is_file) content[entry.path] = must(storage.read(entry.path));
  }
  spill(target, must(pack_archive(name, content)));
}
