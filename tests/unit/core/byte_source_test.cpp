// SPDX-License-Identifier: MIT
#include "core/byte_source.hpp"

#include <sys/stat.h>

#include <fstream>

#include "support/catch.hpp"

using namespace wb;

TEST_CASE("what is no file of bytes is refused at once, and too much is not read",
          "[core][byte_source]") {
  const auto folder = TempDirectory::create("wb-bytes");
  REQUIRE(folder.ok());
  const fs::path pipe = folder->path() / "pipe", plain = folder->path() / "plain";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);  // without a writer: opening it must not wait
  CHECK(read_all(pipe, 100).error().code == ErrorCode::invalid);
  CHECK(read_all(folder->path(), 100).error().code == ErrorCode::invalid);
  CHECK(read_all(folder->path() / "none", 100).error().code == ErrorCode::not_found);

  std::ofstream(plain) << std::string(100, 'x');
  const auto whole = read_all(plain, 100);
  REQUIRE(whole.ok());
  CHECK(*whole == std::string(100, 'x'));
  CHECK(read_all(plain, 99).error().code == ErrorCode::limit);
}
