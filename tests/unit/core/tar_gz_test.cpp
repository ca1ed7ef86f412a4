// SPDX-License-Identifier: MIT
#include "core/tar_gz.hpp"

#include <fstream>

#include "core/byte_source.hpp"
#include "support/catch.hpp"

using namespace wb;

namespace {

/// The unpacked tar.
std::string unpacked(const std::string& archive) {
  const auto folder = TempDirectory::create("wb-tar");
  REQUIRE(folder.ok());
  const fs::path path = folder->path() / "a.tar.gz";
  std::ofstream(path, std::ios::binary) << archive;
  auto text = read_all(path, 1u << 26);
  REQUIRE(text.ok());
  return *std::move(text);
}

}  // namespace

TEST_CASE("an archive holds headers that add up and contents in whole blocks", "[core][tar_gz]") {
  TarGz archive;
  REQUIRE(archive.add("s/a.txt", "hello").ok());
  REQUIRE(archive.add("s/empty", "").ok());
  const std::string big(100'000, 'b');
  REQUIRE(archive.add("s/big", big).ok());
  const std::string tar = unpacked(archive.finish());
  CHECK(tar.size() == 512 + 512 + 512 + 512 + 100'352 + 1024);
  CHECK(tar.substr(0, 8) == std::string("s/a.txt\0", 8));
  CHECK(tar.substr(257, 8) == std::string("ustar\00000", 8));
  CHECK(tar.substr(124, 12) == std::string("00000000005\0", 12));
  CHECK(tar.substr(512, 5) == "hello");
  CHECK(tar.substr(2048, big.size()) == big);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < 512; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(tar[i]);
  }
  CHECK(std::stoul(tar.substr(148, 6), nullptr, 8) == sum);
}

TEST_CASE("the same files make the same bytes", "[core][tar_gz]") {
  const auto made = [] {
    TarGz archive;
    REQUIRE(archive.add("a", "one").ok());
    return archive.finish();
  };
  CHECK(made() == made());
}

TEST_CASE("a path is split where ustar can hold it, or refused", "[core][tar_gz]") {
  TarGz archive;
  const std::string folder(120, 'd'), name(90, 'n');
  CHECK(archive.add(folder + "/" + name, "x").ok());
  CHECK(archive.add("s/" + std::string(101, 'n'), "x").error().code == ErrorCode::invalid);
  for (const char* bad : {"/etc/passwd", "../up", "a/../../up", ""}) {
    INFO(bad);
    CHECK(archive.add(bad, "x").error().code == ErrorCode::invalid);
  }
  const std::string tar = unpacked(archive.finish());
  CHECK(tar.substr(0, 90) == name);
  CHECK(tar.substr(345, 120) == folder);
}
