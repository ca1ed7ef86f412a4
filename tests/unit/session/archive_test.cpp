// SPDX-License-Identifier: MIT
#include "session/archive.hpp"

#include <clocale>

#include "unit/session/raw_archive.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

const ArchiveFiles k_files{{"blobs/empty", ""},
                           {"events.jsonl", std::string("{\"seq\":1}\n\0\xff", 12)},
                           {"kernels/v1/k/kernel.cpp", std::string(5000, 'x')}};

Result<Archive> read(std::string_view bytes, const ArchiveLimits& limits = {}) {
  return unpack_archive(bytes, "s.tar.gz", limits);
}

Error refused(std::string_view tar, const ArchiveLimits& limits = {}) {
  const Result<Archive> archive = read(gzipped(std::string(tar) + tar_end()), limits);
  REQUIRE_FALSE(archive.ok());
  CHECK(archive.error().message().find("s.tar.gz") != std::string::npos);
  return archive.error();
}

}  // namespace

TEST_CASE("an archive holds what was put in", "[session][archive]") {
  const Archive archive = must(read(must(pack_archive("s", k_files))));
  CHECK(archive.top == "s");
  CHECK(archive.files == k_files);
}

TEST_CASE("equal files make equal bytes, whatever the time, order and locale",
          "[session][archive]") {
  const std::string bytes = must(pack_archive("s", k_files));
  CHECK(bytes.substr(4, 4) == std::string(4, '\0'));  // gzip's time
  ArchiveFiles other{k_files.begin(), k_files.end()};
  CHECK(must(pack_archive("s", other)) == bytes);
  const std::string named = must(pack_archive("h\xc3\xa4user", k_files));
  CHECK(must(read(named)).top == "h\xc3\xa4user");
  if (std::setlocale(LC_ALL, "C.UTF-8") != nullptr) {
    CHECK(must(pack_archive("s", k_files)) == bytes);
    CHECK(must(pack_archive("h\xc3\xa4user", k_files)) == named);
    CHECK(must(read(named)).top == "h\xc3\xa4user");
    std::setlocale(LC_ALL, "C");
  }
}

TEST_CASE("paths may be long", "[session][archive]") {
  std::string path = "kernels";
  for (int part = 0; part < 8; ++part) path += "/" + std::string(90, static_cast<char>('a' + part));
  const ArchiveFiles files{{"events.jsonl", "x"}, {path, "content"}};
  CHECK(must(read(must(pack_archive("s", files)))).files == files);
}

TEST_CASE("what reading would refuse is not written", "[session][archive]") {
  for (const char* path : {"/etc/passwd", "../up", "a/../../up", "a//b", "./a", "a/", ""}) {
    INFO(path);
    CHECK(pack_archive("s", {{path, "x"}}).error().code == ErrorCode::invalid);
  }
  for (const char* top : {"", "..", ".", "/s", "a/b"}) {
    INFO(top);
    CHECK(pack_archive(top, {{"a", "x"}}).error().code == ErrorCode::invalid);
  }
  CHECK(pack_archive("s", k_files, {.entries = 2}).error().code == ErrorCode::limit);
  CHECK(pack_archive("s", k_files, {.file_bytes = 4999}).error().code == ErrorCode::limit);
  CHECK(pack_archive("s", k_files, {.total_bytes = 5000}).error().code == ErrorCode::limit);
  // The archive of so many zeros would look like a bomb.
  const ArchiveFiles zeros{{"events.jsonl", "x"}, {"blobs/zeros", std::string(300u << 20, '\0')}};
  CHECK(pack_archive("s", zeros).error().code == ErrorCode::limit);
}

TEST_CASE("an archive that is cut off anywhere is damaged", "[session][archive]") {
  const std::string bytes = must(pack_archive("s", k_files));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO(size);
    const auto archive = read(std::string_view(bytes).substr(0, size));
    REQUIRE_FALSE(archive.ok());
    CHECK(archive.error().code == ErrorCode::damaged);
  }
  CHECK(read(bytes + "more").error().code == ErrorCode::damaged);
}

TEST_CASE("a flipped bit changes nothing that is read", "[session][archive]") {
  const std::string bytes = must(pack_archive("s", k_files));
  for (std::size_t at = 0; at < bytes.size() * 8; ++at) {
    std::string flipped = bytes;
    flipped[at / 8] = static_cast<char>(flipped[at / 8] ^ (1 << (at % 8)));
    INFO(at);
    const auto archive = read(flipped);
    // The time in the gzip header says nothing, and a run of equal bytes may be packed in two ways.
    if (archive.ok()) {
      CHECK(archive->files == k_files);
    } else {
      CHECK(archive.error().code == ErrorCode::damaged);
    }
  }
}

TEST_CASE("flipped bytes of the tar within whole gzip data are damage or another file",
          "[session][archive]") {
  const std::string tar = tar_entry("s/events.jsonl", '0', "line\n") + tar_end();
  for (std::size_t at = 0; at < 512; ++at) {
    std::string flipped = tar;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x04);
    INFO(at);
    CHECK_FALSE(read(gzipped(flipped)).ok());  // a header's sum
  }
}

TEST_CASE("paths that leave the archive are refused", "[session][archive]") {
  const std::string first = tar_entry("s/events.jsonl", '0', "x");
  for (const char* name :
       {"/etc/passwd", "../up", "s/../../up", "s/..", "..", "s//a", "s/./a", "./s/a", ".", "/"}) {
    INFO(name);
    CHECK(refused(first + tar_entry(name, '0', "x")).code == ErrorCode::invalid);
  }
  for (const char* name : {"/s/", "../", "s/../up/"}) {
    INFO(name);
    CHECK(refused(first + tar_entry(name, '5', "")).code == ErrorCode::invalid);
  }
}

TEST_CASE("links and special files are refused", "[session][archive]") {
  const std::string first = tar_entry("s/events.jsonl", '0', "x");
  CHECK(refused(first + tar_entry("s/l", '2', "", "/etc/passwd")).cause.find("a link") !=
        std::string::npos);
  CHECK(refused(first + tar_entry("s/l", '1', "", "s/events.jsonl")).cause.find("a hard link") !=
        std::string::npos);
  for (const char type : {'3', '4', '6'}) {
    CHECK(refused(first + tar_entry("s/l", type, "")).cause.find("a special file") !=
          std::string::npos);
  }
}

TEST_CASE("a name that is there twice is refused", "[session][archive]") {
  const std::string first = tar_entry("s/events.jsonl", '0', "x");
  CHECK(refused(first + tar_entry("s/events.jsonl", '0', "y")).cause ==
        "the archive has two files of that name");
  CHECK(refused(first + tar_entry("s/a", '0', "y") + tar_entry("s/a/b", '0', "y")).cause ==
        "it is a file and a folder at once");
}

TEST_CASE("one folder holds everything", "[session][archive]") {
  const std::string first = tar_entry("s/", '5', "") + tar_entry("s/events.jsonl", '0', "x");
  CHECK(must(read(gzipped(first + tar_end()))).files == ArchiveFiles{{"events.jsonl", "x"}});
  CHECK(refused(first + tar_entry("t/a", '0', "x")).code == ErrorCode::invalid);
  CHECK(refused(first + tar_entry("s", '0', "x")).code == ErrorCode::invalid);
  CHECK(refused(tar_entry("events.jsonl", '0', "x")).code == ErrorCode::invalid);
}

TEST_CASE("a bomb is not unpacked", "[session][archive]") {
  const std::string first = tar_entry("s/events.jsonl", '0', "x");
  const std::string large = tar_entry("s/large", '0', std::string(1 << 20, '\0'));
  CHECK(refused(first + large, {.file_bytes = (1 << 20) - 1}).code == ErrorCode::limit);
  CHECK(refused(first + large, {.total_bytes = 1 << 20}).code == ErrorCode::limit);
  CHECK(refused(first + large + large, {.entries = 2}).code == ErrorCode::limit);
  // Claims of sizes that are not there.
  CHECK(refused(first + tar_entry("s/a", '0', "x", {}, 077777777777)).code == ErrorCode::limit);
  CHECK(refused(first + tar_entry("s/a", '0', "x", {}, 1 << 20)).code == ErrorCode::damaged);
  std::string many;
  for (int file = 0; file < 1000; ++file) many += tar_entry("s/" + std::to_string(file), '0', "");
  CHECK(refused(many, {.entries = 999}).code == ErrorCode::limit);
  const std::string packed = gzipped(std::string(64u << 20, '\0'));
  CHECK(packed.size() < 100'000);
  CHECK(read(packed, {.total_bytes = 1 << 20}).error().code == ErrorCode::limit);
  std::string bomb;
  for (int part = 0; part < 5; ++part) bomb += packed;  // 320 MiB
  CHECK(read(bomb).error().code == ErrorCode::limit);
}

TEST_CASE("a sparse file, which claims what nobody stored, is refused", "[session][archive]") {
  const std::string claims =
      "26 GNU.sparse.numblocks=1\n30 GNU.sparse.size=1073741823\n22 GNU.sparse.map=0,1\n";
  const std::string sparse = tar_entry("s/PaxHeaders/large", 'x', claims);
  const Error error =
      refused(tar_entry("s/events.jsonl", '0', "x") + sparse + tar_entry("s/large", '0', "x"));
  CHECK(error.code == ErrorCode::invalid);
  CHECK(error.cause.find("sparse") != std::string::npos);
}

TEST_CASE("what is no archive is damaged", "[session][archive]") {
  CHECK(read("").error().code == ErrorCode::damaged);
  CHECK(read("not packed").error().code == ErrorCode::damaged);
  CHECK(read(gzipped("not a tar")).error().code == ErrorCode::damaged);
  CHECK(read(gzipped("")).error().code == ErrorCode::damaged);
  CHECK(read(gzipped(gzipped("twice"))).error().code == ErrorCode::damaged);
}
