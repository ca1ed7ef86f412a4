// SPDX-License-Identifier: MIT
// `new`: the folder is a variant, nothing is overwritten, nothing is left behind.
#include <fstream>

#include "core/json.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using testing::Bench;

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

Error refused(Bench& bench, const Json& args) {
  const auto answer = bench.engine->call("new", args);
  REQUIRE_FALSE(answer.ok());
  return answer.error();
}

}  // namespace

TEST_CASE("a copy of every kernel here reads as a variant of its own", "[engine][new]") {
  Bench bench;
  const fs::path in = bench.folder.path() / "mine";
  for (const char* parent : {"cpu_unfused", "cpu_online", "cpu_tiled", "torch_cpu_sdpa"}) {
    INFO(parent);
    const std::string name = std::string("my_") + parent;
    const Json made = bench.call("new", {{"name", name}, {"from", parent}, {"in", in.string()}});
    CHECK(made["folder"] == (in / "kernels" / name).string());
    CHECK(made["changed_headers"].empty());
    const auto variant =
        read_variant(bench.file_system, in / "kernels", name, {source_dir() / "kernels"});
    REQUIRE(variant.ok());
    CHECK(label(*variant) == made["variant"]);
    CHECK(variant->manifest.name == name);
    CHECK(variant->manifest.parent == parent);
    CHECK(variant->manifest.about.find(parent) != std::string::npos);
    const auto original = Catalogue(bench.file_system, {bench.roots}).find(parent);
    REQUIRE(original.ok());
    CHECK(variant->manifest.sources == original->manifest.sources);
    CHECK(variant->manifest.techniques == original->manifest.techniques);
    CHECK(variant->files.at(name + "/" + variant->manifest.sources[0]) ==
          original->files.at(std::string(parent) + "/" + variant->manifest.sources[0]));
  }
  CHECK(names_in(in / "kernels").size() == 4);  // no scaffold is left
}

TEST_CASE("nothing that exists is touched, in whatever form it exists", "[engine][new]") {
  Bench bench;
  const fs::path kernels = bench.folder.path() / "mine" / "kernels";
  fs::create_directories(kernels / "empty_folder");
  fs::create_directories(kernels / "full_folder");
  std::ofstream(kernels / "full_folder" / "kernel.cpp") << "mine";
  std::ofstream(kernels / "a_file") << "mine";
  fs::create_symlink("/nowhere", kernels / "dangling_link");
  fs::create_directory_symlink(bench.folder.path(), kernels / "link");
  const auto before = Bench::snapshot(bench.folder.path());
  for (const char* name : {"empty_folder", "full_folder", "a_file", "dangling_link", "link"}) {
    INFO(name);
    const Error error = refused(
        bench, {{"name", name}, {"from", "cpu_tiled"}, {"in", kernels.parent_path().string()}});
    CHECK(error.code == ErrorCode::invalid);
    CHECK(error.message().find("exists already") != std::string::npos);
  }
  CHECK(Bench::snapshot(bench.folder.path()) == before);
  CHECK(names_in(kernels).size() == 5);
}

TEST_CASE("names that are no kernel names lead nowhere", "[engine][new]") {
  Bench bench;
  const std::string in = (bench.folder.path() / "mine").string();
  for (const char* name :
       {"../x", "/tmp/x", "a/b", "", ".", "..", "Upper", "1x", "a b", "common", ".new-x", "x\\y"}) {
    INFO(name);
    const Error error = refused(bench, {{"name", name}, {"from", "cpu_tiled"}, {"in", in}});
    CHECK(error.code == ErrorCode::usage);
  }
  CHECK_FALSE(fs::exists(in));
}

TEST_CASE("a name in use anywhere on the search path, and an unknown parent, are refused",
          "[engine][new]") {
  Bench bench;
  const std::string in = (bench.folder.path() / "mine").string();
  CHECK(refused(bench, {{"name", "cpu_tiled"}, {"from", "cpu_online"}, {"in", in}}).code ==
        ErrorCode::invalid);
  const Error unknown = refused(bench, {{"name", "x"}, {"from", "cpu_tield"}, {"in", in}});
  CHECK(unknown.code == ErrorCode::not_found);
  CHECK(unknown.message().find("did you mean cpu_tiled") != std::string::npos);
  CHECK(refused(bench, {{"name", "x"}, {"from", "cpu_tiled@01234567"}, {"in", in}}).code ==
        ErrorCode::not_found);
  CHECK_FALSE(fs::exists(in));
}

TEST_CASE("a session's variant comes out with the configuration it was measured in",
          "[engine][new]") {
  Bench bench;
  bench.open();
  const Json answer = bench.iterate({{"configuration", {{"TILE_M", 16}}}, {"confirm", "never"}});
  bench.restart();
  const fs::path in = bench.folder.path() / "mine";
  const auto before = Bench::snapshot(bench.session);
  bench.call("new", {{"name", "winner"}, {"from", answer["variant"]}, {"in", in.string()}},
             bench.session);
  CHECK(Bench::snapshot(bench.session) == before);
  const auto variant =
      read_variant(bench.file_system, in / "kernels", "winner", {source_dir() / "kernels"});
  REQUIRE(variant.ok());
  CHECK(variant->manifest.defaults.at("TILE_M") == 16);
  CHECK(variant->manifest.parent == "cpu_tiled");
}
