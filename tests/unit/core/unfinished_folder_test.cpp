// SPDX-License-Identifier: MIT
#include "core/unfinished_folder.hpp"

#include <fstream>

#include "support/catch.hpp"

using wb::UnfinishedFolder;
namespace fs = std::filesystem;

namespace {

struct UnfinishedPlace {
  wb::TempDirectory folder = wb::TempDirectory::create("wb-unfinished-").value();
  fs::path root = folder.path();

  /// As a verb does that writes one file and then fails, or not.
  void fill(const fs::path& out, bool is_whole, bool takes_content = true) const {
    UnfinishedFolder made(out);
    if (!takes_content) made.leave_content();
    fs::create_directories(out);
    std::ofstream(out / "part") << "x";
    if (is_whole) made.keep();
  }
};

}  // namespace

TEST_CASE("what was not written whole goes away with the folders made for it", "[core]") {
  const UnfinishedPlace place;
  fs::create_directories(place.root / "here");
  place.fill(place.root / "here" / "a" / "b", false);
  CHECK(fs::is_empty(place.root / "here"));
  place.fill(place.root / "here" / "a" / "b", true);
  CHECK(fs::exists(place.root / "here" / "a" / "b" / "part"));
}

TEST_CASE("a folder that was there stays", "[core]") {
  const UnfinishedPlace place;
  fs::create_directories(place.root / "empty");
  place.fill(place.root / "empty", false);
  CHECK(fs::is_empty(place.root / "empty"));

  fs::create_directories(place.root / "used");
  std::ofstream(place.root / "used" / "old") << "x";
  place.fill(place.root / "used", false);
  CHECK(fs::exists(place.root / "used" / "old"));
  CHECK(fs::exists(place.root / "used" / "part"));
}

TEST_CASE("folders above stay where others have put something", "[core]") {
  const UnfinishedPlace place;
  {
    UnfinishedFolder made(place.root / "a" / "b");
    fs::create_directories(place.root / "a" / "b");
    std::ofstream(place.root / "a" / "of others") << "x";
  }
  CHECK_FALSE(fs::exists(place.root / "a" / "b"));
  CHECK(fs::exists(place.root / "a" / "of others"));
  place.fill(place.root / "c", false, false);
  CHECK(fs::exists(place.root / "c" / "part"));
}

TEST_CASE("relative names and a slash at the end are no matter", "[core]") {
  const UnfinishedPlace place;
  const fs::path before = fs::current_path();
  fs::current_path(place.root);
  place.fill("x/y/", false);
  place.fill("./z", false);
  fs::current_path(before);
  CHECK(fs::is_empty(place.root));
}
