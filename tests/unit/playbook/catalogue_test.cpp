// SPDX-License-Identifier: MIT
#include <fstream>

#include "playbook/owner.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::playbook;

namespace {

struct Folder {
  TempDirectory temp = *TempDirectory::create("wb-playbooks-");
  RealFileSystem file_system;

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((temp.path() / path).parent_path());
    std::ofstream(temp.path() / path, std::ios::binary) << text;
  }
  Result<PlaybookSource> find(const std::string& name) const {
    return find_playbook(file_system, {{temp.path() / "first", temp.path() / "second"}}, name);
  }
};

}  // namespace

TEST_CASE("a playbook is found by name, first root first, with its library", "[playbook][unit]") {
  const Folder folder;
  folder.write("second/playbooks/tune.lua", "return 'second'");
  folder.write("second/playbooks/lib/steps.lua", "return 1");
  folder.write("second/playbooks/lib/readme.md", "no Lua");
  CHECK(folder.find("tune")->text == "return 'second'");
  CHECK(folder.find("tune")->lib == std::map<std::string, std::string>{{"lib.steps", "return 1"}});
  folder.write("first/playbooks/tune.lua", "return 'first'");
  CHECK(folder.find("tune")->text == "return 'first'");
  CHECK(folder.find("tune")->lib.empty());
}

TEST_CASE("a playbook of a folder is found with the folder's name and without it",
          "[playbook][unit]") {
  const Folder folder;
  folder.write("second/playbooks/h200/part.lua", "return 1");
  folder.write("second/playbooks/lib/words.lua", "return 2");
  for (const char* name : {"h200/part", "part"}) {
    INFO(name);
    CHECK(folder.find(name)->text == "return 1");
    CHECK(folder.find(name)->lib.contains("lib.words"));
  }
  CHECK_FALSE(folder.find("words").ok());
  CHECK(folder.find("prat").error().message().find("did you mean part?") != std::string::npos);
  folder.write("second/playbooks/part.lua", "return 'outside'");
  CHECK(folder.find("part")->text == "return 'outside'");
  CHECK(folder.find("h200/part")->text == "return 1");
}

TEST_CASE("a playbook is found by path", "[playbook][unit]") {
  const Folder folder;
  folder.write("mine.lua", "return 3");
  CHECK(folder.find((folder.temp.path() / "mine.lua").string())->text == "return 3");
  CHECK(folder.find((folder.temp.path() / "other.lua").string()).error().code ==
        ErrorCode::not_found);
}

TEST_CASE("the whole source changes with every file", "[playbook][unit]") {
  PlaybookSource source{"x.lua", "return 1", {{"lib.a", "return 2"}}};
  const std::string before = source.whole();
  source.lib["lib.a"] = "return 3";
  CHECK(source.whole() != before);
}

TEST_CASE("unknown names get a suggestion or the list", "[playbook][unit]") {
  const Folder folder;
  CHECK(folder.find("tune").error().message().find("--path DIR") != std::string::npos);
  folder.write("first/playbooks/tune.lua", "return 1");
  folder.write("second/playbooks/tune.lua", "return 1");
  const auto near = folder.find("tuen");
  REQUIRE_FALSE(near.ok());
  CHECK(near.error().code == ErrorCode::not_found);
  CHECK(near.error().message().find("did you mean tune?") != std::string::npos);
  CHECK(folder.find("something_else").error().message().find("known: tune") != std::string::npos);
}

TEST_CASE("files that are not text or too large are refused", "[playbook][unit]") {
  const Folder folder;
  folder.write("first/playbooks/code.lua", std::string("\x1bLua\x54\0\x19", 7));
  CHECK(folder.find("code").error().code == ErrorCode::invalid);
  folder.write("first/playbooks/latin.lua", "-- caf\xe9\nreturn 1");
  CHECK(folder.find("latin").error().message().find("UTF-8") != std::string::npos);
  folder.write("first/playbooks/long.lua", std::string((1u << 20) + 1, ' '));
  CHECK(folder.find("long").error().code == ErrorCode::limit);
  folder.write("second/playbooks/many.lua", "return 1");
  for (const char* name : {"a", "b", "c"}) {
    folder.write(fs::path("second/playbooks/lib") / (std::string(name) + ".lua"),
                 std::string(800'000, ' '));
  }
  CHECK(folder.find("many").error().code == ErrorCode::limit);
}
