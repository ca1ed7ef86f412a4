// SPDX-License-Identifier: MIT
#include "session/storage.hpp"

#include <unistd.h>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "measure/prediction.hpp"
#include "session/archive.hpp"
#include "support/places.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/raw_archive.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

/// The example session as a folder "s", and packed beside it as "packed.tar.gz".
struct Stored {
  Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  fs::path folder = scratch / "s", archive = scratch / "packed.tar.gz";

  Stored() {
    must(run_example(files, clock, folder));
    const FolderStorage in_folder(files, folder);
    const SessionStorage& storage = in_folder;
    ArchiveFiles content;
    for (const auto& entry : must(storage.list(""))) {
      if (entry.is_file) content[entry.path] = must(storage.read(entry.path));
    }
    spill(archive, must(pack_archive("s", content)));
  }
};

std::vector<std::string> paths_of(const std::vector<SessionStorage::Entry>& entries) {
  std::vector<std::string> paths;
  for (const auto& entry : entries) {
    if (entry.is_file) paths.push_back(entry.path);
  }
  return paths;
}

}  // namespace

TEST_CASE("a folder and its archive read alike", "[session][storage]") {
  Stored s;
  const auto folder = must(open_storage(s.files, s.folder));
  const auto archive = must(open_storage(s.files, s.archive));
  CHECK_FALSE(folder->is_archive());
  CHECK(archive->is_archive());
  CHECK(archive->path() == s.archive);
  CHECK(paths_of(must(folder->list(""))) == paths_of(must(archive->list(""))));
  CHECK(must(folder->read("session.json")) == must(archive->read("session.json")));
  const std::string id = example_variant_id("cpu_tiled");
  for (const auto* storage : {folder.get(), archive.get()}) {
    must(storage->check_format());
    CHECK(must(storage->load_variant(id)) == example_sources("cpu_tiled"));
    CHECK(storage->has("session.json"));
    CHECK(storage->has("kernels/" + id));
    CHECK_FALSE(storage->has("kernels/" + id.substr(0, 5)));
    CHECK(storage->read("none").error().code == ErrorCode::not_found);
    CHECK(storage->list("none").error().code == ErrorCode::not_found);
    CHECK(storage->read("session.json", 3).error().code == ErrorCode::limit);
    CHECK(storage->load_variant("none").error().code == ErrorCode::not_found);
    CHECK(storage->read_blob(sha256_hex("none")).error().code == ErrorCode::not_found);
    for (const char* name : {"../s", "a/b", "", "."}) {
      CHECK(storage->load_variant(name).error().code == ErrorCode::invalid);
      CHECK(storage->read_page(name).error().code == ErrorCode::invalid);
      CHECK(storage->read_blob(name).error().code == ErrorCode::invalid);
    }
  }
  CHECK(must(folder->read_reports()) == must(archive->read_reports()));
  CHECK(must(folder->read_page("0001.md")) == must(archive->read_page("0001.md")));
  for (const auto& entry : must(folder->list("blobs"))) {
    const std::string name = entry.path.substr(6);
    CHECK(must(folder->read_blob(name)) == must(archive->read_blob(name)));
  }
}

TEST_CASE("a session is read from its archive and not written", "[session][storage]") {
  Stored s;
  Session session = must(Session::open_reader(s.files, s.archive));
  const Session original = must(Session::open_reader(s.files, s.folder));
  CHECK(session.folder() == s.archive);
  CHECK(session.log().head() == original.log().head());
  CHECK(must(session.view(FoldDepth::full)).incumbent ==
        must(original.view(FoldDepth::full)).incumbent);
  CHECK(must(session.warning()).empty());
  CHECK(must(session.catch_up()));
  CHECK(session.append("note", {{"text", "x"}}).error().code == ErrorCode::read_only);
  CHECK(session.put_blob("x").error().code == ErrorCode::read_only);

  for (const fs::path& place : {s.archive, s.scratch / "packed"}) {
    const auto owner = Session::open_owner(s.files, s.clock, place);
    REQUIRE_FALSE(owner.ok());
    CHECK(owner.error().code == ErrorCode::read_only);
    CHECK(owner.error().message().find("archive") != std::string::npos);
  }
  const auto made = Session::create(s.files, s.clock, s.scratch / "packed", example_identity());
  CHECK(made.error().code == ErrorCode::invalid);
  CHECK_FALSE(fs::exists(s.scratch / "packed"));

  spill(s.archive, slurp(s.archive));  // another file now
  CHECK_FALSE(must(session.catch_up()));
}

TEST_CASE("an archive is found without its ending, behind a folder that holds a log",
          "[session][storage]") {
  Stored s;
  CHECK(must(open_storage(s.files, s.scratch / "packed"))->path() == s.archive);
  CHECK(must(open_storage(s.files, s.scratch / "packed/"))->path() == s.archive);
  fs::create_directory(s.scratch / "packed");
  CHECK(must(open_storage(s.files, s.scratch / "packed"))->path() == s.archive);
  fs::rename(s.folder / "events.jsonl", s.scratch / "packed" / "events.jsonl");
  CHECK(must(open_storage(s.files, s.scratch / "packed"))->path() == s.scratch / "packed");
  const auto gone = open_storage(s.files, s.folder);
  CHECK(gone.error().code == ErrorCode::not_found);
  CHECK(gone.error().cause == "the folder holds no events.jsonl");
  CHECK(open_storage(s.files, s.scratch / "none").error().cause == "no such folder");
  CHECK(open_storage(s.files, s.scratch / "packed" / "events.jsonl").error().code ==
        ErrorCode::not_found);
}

TEST_CASE("sessions are found in both forms, each name once", "[session][storage]") {
  Stored s;
  spill(s.scratch / "s.tar.gz", slurp(s.archive));
  spill(s.scratch / "page.md", "# Page\n");
  spill(s.scratch / ".tar.gz", "x");
  fs::create_directory(s.scratch / "empty");
  fs::create_directory(s.scratch / "folder.tar.gz");
  CHECK(must(find_sessions(s.scratch.path())) == std::vector<fs::path>{s.archive, s.folder});
  CHECK(is_session(s.folder));
  CHECK(is_session(s.archive));
  CHECK(is_session(s.scratch / "packed"));
  for (const char* name : {"empty", "folder.tar.gz", "page.md", "none", ".tar.gz", ""}) {
    INFO(name);
    CHECK_FALSE(is_session(s.scratch / name));
  }
  CHECK(find_sessions(s.scratch / "empty").error().code == ErrorCode::not_found);
  CHECK(session_name(s.archive) == "packed");
  CHECK(session_name("a/mine") == "mine");
  CHECK(session_name("a/mine/") == "mine");
  CHECK(session_name("a/../mine.tar.gz") == "mine");
  spill(s.scratch / "s-0007.tar.gz", "x");
  CHECK(next_session_folder(s.scratch.path()) == s.scratch / "s-0008");
}

TEST_CASE("an archive may hold the packed log of a kept folder", "[session][storage]") {
  Stored s;
  const std::string blob = "a blob";
  spill(s.archive,
        must(pack_archive("s", {{"events.jsonl.gz", gzipped(slurp(s.folder / "events.jsonl"))},
                                {"blobs/" + sha256_hex(blob), gzipped(blob)},
                                {"iterations/0001.json.gz", gzipped("{}")}})));
  const Session session = must(Session::open_reader(s.files, s.archive));
  CHECK(session.log().text(session.log().size()) == slurp(s.folder / "events.jsonl"));
  CHECK(must(session.read_blob(sha256_hex(blob))) == blob);
  CHECK(must(session.storage().read_unpacked("iterations/0001.json")) == "{}");
}

TEST_CASE("a changed session in a whole archive is damage", "[session][storage]") {
  Stored s;
  std::string log = slurp(s.folder / "events.jsonl");
  log[log.find("\"payload\"") + 12] ^= 1;
  spill(s.archive,
        must(pack_archive("s", {{"events.jsonl", log}, {"blobs/" + sha256_hex("a"), "b"}})));
  const auto session = Session::open_reader(s.files, s.archive);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == ErrorCode::damaged);
  CHECK(session.error().message().find("packed.tar.gz/events.jsonl line 2") != std::string::npos);
  const auto storage = must(open_storage(s.files, s.archive));
  CHECK(storage->read_blob(sha256_hex("a")).error().code == ErrorCode::damaged);
}

TEST_CASE("an archive without a log, cut off, or no file at all", "[session][storage]") {
  Stored s;
  const std::string whole = slurp(s.archive);
  spill(s.archive, std::string_view(whole).substr(0, whole.size() / 2));
  CHECK(Session::open_reader(s.files, s.archive).error().code == ErrorCode::damaged);
  spill(s.archive, must(pack_archive("s", {{"session.json", "{}"}})));
  CHECK(Session::open_reader(s.files, s.archive).error().code == ErrorCode::not_found);
  fs::remove(s.archive);
  CHECK(Session::open_reader(s.files, s.archive).error().code == ErrorCode::not_found);
  fs::create_symlink(s.scratch / "nowhere", s.archive);
  CHECK(Session::open_reader(s.files, s.archive).error().code == ErrorCode::not_found);
}

// Released formats stay readable: the folder in tests/data/session_v1.tar.gz was written by the
// first version and is never changed. A later format gets a fixture of its own beside it.

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
  const auto prediction = decided_prediction(view.iterations.at(1));
  REQUIRE(prediction);
  CHECK(prediction->mechanism == measure::Mechanism::confirmed);
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
