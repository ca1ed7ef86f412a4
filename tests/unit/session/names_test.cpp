// SPDX-License-Identifier: MIT
// The names of sessions for folders and archives, in whatever form the path is given.
#include <unistd.h>

#include "core/json.hpp"
#include "session/archive.hpp"
#include "session/session.hpp"
#include "session/storage.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

const std::string k_long(255, 'n');
const std::vector<std::string> k_odd_names = {"plain",
                                              "two words",
                                              " blank at both ends ",
                                              "tab\tand\nnewline",
                                              "\xc3\xbcml\xc3\xa4ut",
                                              "\xe7\xa9\xba",
                                              "-rf",
                                              "a:b",
                                              "back\\slash",
                                              "..almost",
                                              "...",
                                              "~user",
                                              "quote'\"`$(x)",
                                              "latin-1 \xe9",
                                              "end.",
                                              "%41#?&",
                                              ".hidden",
                                              "mine.tar.gz",
                                              k_long};

}  // namespace

TEST_CASE("a folder has one name, however it is named", "[session][names]") {
  const Scratch scratch;
  fs::create_directories(scratch / "runs" / "mine" / "below");
  fs::create_directory_symlink(scratch / "runs" / "mine", scratch / "link");
  const std::string root = scratch.path().string();
  for (const char* form : {"/runs/mine", "/runs/mine/", "/runs/mine//", "/runs/mine/.",
                           "/runs/mine/./", "/runs//mine", "/runs/mine/below/..",
                           "/runs/../runs/mine", "/link", "/link/", "/link/.", "/link/below/.."}) {
    INFO(form);
    CHECK(session_name(root + form) == "mine");
    CHECK(whole_path(root + form) == fs::canonical(scratch / "runs" / "mine"));
  }
  // One that is not there yet, too, and from the folder itself.
  CHECK(session_name(root + "/runs/new/") == "new");
  CHECK(session_name(root + "/link/../new") == "new");
  const fs::path before = fs::current_path();
  fs::current_path(scratch / "runs" / "mine");
  CHECK(session_name(".") == "mine");
  CHECK(session_name("./") == "mine");
  CHECK(session_name("") == "mine");
  CHECK(session_name("..") == "runs");
  CHECK(session_name("below/../../new") == "new");
  CHECK(whole_path("new/deep/") == fs::canonical(scratch / "runs" / "mine") / "new" / "deep");
  fs::current_path(before);
}

TEST_CASE("an archive behind a link has the link's name", "[session][names]") {
  const Scratch scratch;
  spill(scratch / "4f2a.store", "bytes");
  fs::create_symlink(scratch / "4f2a.store", scratch / "mine.tar.gz");
  CHECK(session_name(scratch / "mine.tar.gz") == "mine");
  // A folder is called what it is called.
  fs::create_directories(scratch / "folder.tar.gz");
  CHECK(session_name(scratch / "folder.tar.gz") == "folder.tar.gz");
  CHECK(session_name(scratch / "folder.tar.gz/") == "folder.tar.gz");
}

TEST_CASE("sessions of a folder are listed by their own names there", "[session][names]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  for (const char* name : {"runs/one", "elsewhere/one"}) {
    must(Session::create(files, clock, scratch / name, example_identity()));
  }
  fs::create_directory_symlink(scratch / "elsewhere" / "one", scratch / "runs" / "s-0007");
  const auto found = must(find_sessions(scratch / "runs"));
  REQUIRE(found.size() == 2);
  CHECK(listed_name(found[0]) == "one");
  CHECK(listed_name(found[1]) == "s-0007");
  CHECK(next_session_folder(scratch / "runs") == scratch / "runs" / "s-0008");
}

TEST_CASE("an archive takes every name that a folder can have", "[session][names]") {
  const Scratch scratch;
  RealFileSystem files;
  const ArchiveFiles content{
      {"events.jsonl", "{}\n"},
      {"blobs/" + std::string(64, 'a'), "blob"},
      {"kernels/" + std::string(64, 'b') + "/x/" + std::string(128, 'c'), ""}};
  for (const std::string& name : k_odd_names) {
    INFO(name);
    REQUIRE(fs::create_directories(scratch / "f" / name));
    CHECK(session_name(scratch / "f" / name) == name);
    const std::string bytes = must(pack_archive(name, content));
    const Archive read = must(unpack_archive(bytes, "a.tar.gz"));
    CHECK(read.top == name);
    CHECK(read.files == content);
    // Its file has room for the name, and tar reads what is in it.
    const fs::path file = scratch / file_name(name, k_archive_suffix);
    must(files.write_atomic(file, bytes, Durability::none));
    fs::create_directories(scratch / "out");
    const std::string command = "tar -xzf '" + (scratch / "in.tar.gz").string() + "' -C '" +
                                (scratch / "out").string() + "' 2> /dev/null";
    fs::rename(file, scratch / "in.tar.gz");
    CHECK(std::system(command.c_str()) == 0);
    CHECK(slurp(scratch / "out" / name / "events.jsonl") == "{}\n");
    fs::remove_all(scratch / "out");
  }
}

TEST_CASE("a file's name is shortened where it has to be, and stays its own", "[session][names]") {
  CHECK(file_name("mine", ".html") == "mine.html");
  CHECK(file_name(std::string(250, 'n'), ".html") == std::string(250, 'n') + ".html");
  const std::string one = file_name(k_long, ".tar.gz");
  const std::string other = file_name(std::string(254, 'n') + "m", ".tar.gz");
  CHECK(one.size() == 255);
  CHECK(one.ends_with(".tar.gz"));
  CHECK(one != other);
  std::string letters;
  while (letters.size() < 254) letters += "\xc3\xbc";
  const std::string cut = file_name(letters, ".tar.gz");
  CHECK(cut.size() <= 255);
  CHECK(printable(cut, 300) == cut);  // no half letter
}

TEST_CASE("sessions of odd names are made, resumed and read", "[session][names]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  for (const std::string& name : k_odd_names) {
    INFO(name);
    const fs::path folder = scratch / name;
    Json identity = example_identity();
    identity["session"] = name;
    { must(Session::create(files, clock, folder, identity)); }
    { must(Session::open_owner(files, clock, folder)); }
    CHECK(Session::open_reader(files, folder / "").ok());
  }
}
