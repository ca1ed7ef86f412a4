// SPDX-License-Identifier: MIT
#include "session/folder.hpp"
#include "core/json.hpp"

#include <sys/stat.h>

#include <cstdlib>

#include "core/hash.hpp"
#include "support/file_systems.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

struct FolderFixture {
  Scratch scratch;
  RealFileSystem files;
  SessionFolder folder{files, scratch / "s"};
  FolderFixture() {
    must(folder.create());
    must(folder.write_identity(example_identity()));
  }
};

const std::map<std::string, std::string> k_sources = example_sources("cpu_tiled");

/// Moves the session's folder away when it is about to make a folder in it.
class LeavingFileSystem final : public testing::ForwardingFileSystem {
 public:
  LeavingFileSystem(fs::path from, fs::path to) : m_from(std::move(from)), m_to(std::move(to)) {}
  bool leave = false;

  Result<void> make_directories(const fs::path& path) override {
    go();
    return m_real.make_directories(path);
  }
  Result<void> make_directory(const fs::path& path) override {
    go();
    return m_real.make_directory(path);
  }

 private:
  void go() {
    if (std::exchange(leave, false)) fs::rename(m_from, m_to);
  }
  fs::path m_from, m_to;
};

}  // namespace

TEST_CASE("a new session needs a folder of its own", "[session][folder]") {
  const Scratch scratch;
  RealFileSystem files;
  fs::create_directories(scratch / "empty");
  must(SessionFolder(files, scratch / "empty").create());
  must(SessionFolder(files, scratch / "new" / "deep").create());
  CHECK(SessionFolder(files, scratch / "empty").create().error().code == ErrorCode::invalid);
  spill(scratch / "file", "x");
  CHECK(SessionFolder(files, scratch / "file").create().error().code == ErrorCode::invalid);
}

TEST_CASE("session.json tells the format", "[session][folder]") {
  FolderFixture f;
  must(f.folder.stored().check_format());
  const fs::path path = f.scratch / "s" / "session.json";
  const Json identity = must(parse_json(slurp(path), "session.json"));
  CHECK(identity["format"] == 1);
  CHECK(identity["session"] == "s-example");

  spill(path, R"({"format": 2, "session": "s"})");
  const auto newer = f.folder.stored().check_format();
  REQUIRE_FALSE(newer.ok());
  CHECK(newer.error().code == ErrorCode::too_new);
  CHECK(newer.error().message().find("newer sdpa-wb") != std::string::npos);
  for (const char* bad : {"", "{", "[]", "{}", R"({"format":0})", R"({"format":"1"})",
                          R"({"format":1,"format":1})", R"({"format":1e99})"}) {
    spill(path, bad);
    INFO(bad);
    CHECK(f.folder.stored().check_format().error().code == ErrorCode::damaged);
  }
  fs::remove(path);
  CHECK(f.folder.stored().check_format().error().code == ErrorCode::not_found);
}

TEST_CASE("a packed blob is found under the hash of what lies within", "[session][folder]") {
  FolderFixture f;
  const std::string bytes(3000, 'x');
  const std::string sha256 = must(f.folder.put_blob(bytes));
  const std::string path = (f.scratch / "s" / "blobs" / sha256).string();
  REQUIRE(std::system(("gzip -9n '" + path + "' && mv '" + path + ".gz' '" + path + "'").c_str()) ==
          0);
  REQUIRE(fs::file_size(path) < bytes.size());
  CHECK(must(f.folder.stored().read_blob(sha256)) == bytes);
  fs::resize_file(path, fs::file_size(path) - 4);
  const auto cut = f.folder.stored().read_blob(sha256);
  REQUIRE(!cut);
  CHECK(cut.error().code == ErrorCode::damaged);
}

TEST_CASE("a blob is found under its hash", "[session][folder]") {
  FolderFixture f;
  const std::string bytes = std::string(100'000, 'b') + std::string("\0\xff", 2);
  const std::string sha256 = must(f.folder.put_blob(bytes));
  CHECK(sha256 == sha256_hex(bytes));
  CHECK(must(f.folder.put_blob(bytes)) == sha256);
  CHECK(must(f.folder.stored().read_blob(sha256)) == bytes);
  CHECK(must(f.folder.stored().read_blob(must(f.folder.put_blob("")))).empty());
  CHECK(f.folder.stored().read_blob(sha256_hex("other")).error().code == ErrorCode::not_found);
  for (const std::string& name : {std::string("../session.json"), std::string(),
                                  std::string(63, 'a'), std::string(64, 'A'), sha256 + "/"}) {
    CHECK(f.folder.stored().read_blob(name).error().code == ErrorCode::invalid);
  }
  const fs::path path = f.scratch / "s" / "blobs" / sha256;
  spill(path, "changed");
  CHECK(f.folder.stored().read_blob(sha256).error().code == ErrorCode::damaged);
  CHECK(must(f.folder.put_blob(bytes)) == sha256);  // mends what has another length
  CHECK(must(f.folder.stored().read_blob(sha256)) == bytes);
}

TEST_CASE("a variant is stored once, whole or not at all", "[session][folder]") {
  FolderFixture f;
  const std::string id = example_variant_id("cpu_tiled");
  CHECK(f.folder.stored().load_variant(id).error().code == ErrorCode::not_found);
  must(f.folder.store_variant(id, k_sources));
  CHECK(must(f.folder.stored().load_variant(id)) == k_sources);
  must(f.folder.store_variant(id, {{"other.txt", "ignored: it is there already"}}));
  CHECK(must(f.folder.stored().load_variant(id)) == k_sources);

  // Whichever write fails, there is no half variant and the next try succeeds.
  const std::string next = example_variant_id("next");
  for (int nth = 1; nth <= 3; ++nth) {
    FaultFileSystem faulty(f.files);
    faulty.add({FileCall::write_atomic, nth, ErrorCode::no_space});
    SessionFolder folder(faulty, f.scratch / "s");
    CHECK(folder.store_variant(next, k_sources).error().code == ErrorCode::no_space);
    CHECK(f.folder.stored().load_variant(next).error().code == ErrorCode::not_found);
    CHECK_FALSE(fs::exists(f.scratch / "s" / "kernels" / (".new-" + next)));
  }
  fs::create_directories(f.scratch / "s" / "kernels" / (".new-" + next) / "old");
  must(f.folder.remove_leftovers());
  CHECK_FALSE(fs::exists(f.scratch / "s" / "kernels" / (".new-" + next)));
  must(f.folder.store_variant(next, k_sources));
  CHECK(must(f.folder.stored().load_variant(next)) == k_sources);
}

TEST_CASE("names that could leave the folder are refused", "[session][folder]") {
  FolderFixture f;
  const std::string id = example_variant_id("cpu_tiled");
  const std::vector<std::string> bad{"",
                                     ".",
                                     "..",
                                     "../x",
                                     "a/b",
                                     "/etc/passwd",
                                     ".git",
                                     "a\nb",
                                     std::string("a\0b", 3),
                                     "a b",
                                     "ä",
                                     "x\\y",
                                     std::string(129, 'x')};
  for (const std::string& name : bad) {
    INFO(printable(name));
    CHECK(f.folder.store_variant(name, k_sources).error().code == ErrorCode::invalid);
    CHECK(f.folder.stored().load_variant(name).error().code == ErrorCode::invalid);
    CHECK(f.folder.write_report(name, "x").error().code == ErrorCode::invalid);
    CHECK(f.folder.stored().read_page(name).error().code == ErrorCode::invalid);
    CHECK(f.folder.check_page_name(3, name).error().code == ErrorCode::invalid);
  }
  for (const char* path :
       {"../x", "a/../../x", "/x", "a//b", "a/", ".git/config", "a/.hidden", ""}) {
    INFO(path);
    CHECK(f.folder.store_variant(id, {{path, "x"}}).error().code == ErrorCode::invalid);
  }
  for (const char* page : {"0003", "0003.", "0004.md", "3.md", "0003.md/x", "0003./x"}) {
    INFO(page);
    CHECK_FALSE(f.folder.check_page_name(3, page).ok());
  }
  CHECK(f.folder.check_page_name(3, "0003.md").ok());
  CHECK(f.folder.check_page_name(12345, "12345.json").ok());
}

TEST_CASE("links inside the folder do not lead out of it", "[session][folder]") {
  FolderFixture f;
  const fs::path session = f.scratch / "s";
  const fs::path outside = f.scratch / "outside";
  fs::create_directories(outside);
  for (const char* name : {"blobs", "kernels", "iterations", "reports"}) {
    fs::remove_all(session / name);
    fs::create_directory_symlink(outside, session / name);
  }
  const std::string id = example_variant_id("cpu_tiled");
  CHECK(f.folder.put_blob("x").error().code == ErrorCode::invalid);
  CHECK(f.folder.stored().read_blob(sha256_hex("x")).error().code == ErrorCode::invalid);
  CHECK(f.folder.store_variant(id, k_sources).error().code == ErrorCode::invalid);
  CHECK(f.folder.write_page("0001.md", "x").error().code == ErrorCode::invalid);
  CHECK(f.folder.write_report("session.md", "x").error().code == ErrorCode::invalid);
  CHECK_FALSE(f.folder.stored().read_reports().ok());
  CHECK_FALSE(f.folder.remove_leftovers().ok());
  CHECK(fs::is_empty(outside));

  fs::remove(session / "session.json");
  spill(outside / "session.json", R"({"format":1})");
  fs::create_symlink(outside / "session.json", session / "session.json");
  CHECK(f.folder.stored().check_format().error().code == ErrorCode::invalid);
}

TEST_CASE("a link or special file among a variant's sources is damage", "[session][folder]") {
  FolderFixture f;
  const std::string id = example_variant_id("cpu_tiled");
  must(f.folder.store_variant(id, k_sources));
  const fs::path foreign = f.scratch / "s" / "kernels" / id / "common" / "foreign";
  fs::create_symlink("/etc/hostname", foreign);
  CHECK(f.folder.stored().load_variant(id).error().code == ErrorCode::damaged);
  fs::remove(foreign);
  REQUIRE(::mkfifo(foreign.c_str(), 0600) == 0);
  CHECK(f.folder.stored().load_variant(id).error().code == ErrorCode::damaged);
  fs::remove(foreign);
  CHECK(must(f.folder.stored().load_variant(id)) == k_sources);
}

TEST_CASE("a folder that was moved away is not made again", "[session][folder]") {
  FolderFixture f;
  const fs::path old = f.scratch / "s", elsewhere = f.scratch / "elsewhere";
  fs::rename(old, elsewhere);
  const auto refused = [&](const auto& done) {
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().code == ErrorCode::io);
    CHECK(done.error().message().find("not there any more") != std::string::npos);
  };
  refused(f.folder.write_page("0001.md", "# One\n"));
  refused(f.folder.write_report("session.md", "# One\n"));
  refused(f.folder.put_blob("bytes"));
  refused(f.folder.store_variant(example_variant_id("cpu_tiled"), k_sources));
  CHECK_FALSE(fs::exists(old));
  must(SessionFolder(f.files, elsewhere).write_report("session.md", "# One\n"));
}

TEST_CASE("a folder that goes away between look and write is not made again", "[session][folder]") {
  for (const bool variant : {false, true}) {
    const Scratch scratch;
    const fs::path place = scratch / "s";
    LeavingFileSystem files(place, scratch / "elsewhere");
    SessionFolder folder(files, place);
    must(folder.create());
    fs::remove_all(place / "reports");
    files.leave = true;
    const Result<void> written = variant ? folder.store_variant("v1", {{"k/kernel.cpp", "//\n"}})
                                         : folder.write_report("session.md", "# Report\n");
    CHECK_FALSE(written.ok());
    CHECK_FALSE(fs::exists(place));
  }
}

TEST_CASE("reports are what lies in reports/ as plain files", "[session][folder]") {
  FolderFixture f;
  must(f.folder.write_report("session.md", "# One\n"));
  must(f.folder.write_report("session.md", "# Two\n"));
  must(f.folder.write_report("extra.csv", "a,b\n"));
  fs::create_symlink("/etc/hostname", f.scratch / "s" / "reports" / "link.md");
  fs::create_directory(f.scratch / "s" / "reports" / "folder");
  spill(f.scratch / "s" / "reports" / ".hidden", "x");
  const std::map<std::string, std::string> expected{{"reports/extra.csv", "a,b\n"},
                                                    {"reports/session.md", "# Two\n"}};
  CHECK(must(f.folder.stored().read_reports()) == expected);
}
