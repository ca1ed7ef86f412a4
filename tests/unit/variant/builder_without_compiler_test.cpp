// SPDX-License-Identifier: MIT
// Artifacts that depend on more than sources and compiler: Python folders, granted includes and
// libraries, and what was compiled on another machine.
#include "core/hash.hpp"
#include "fake_toolchains.hpp"

using namespace wb;
using namespace wb::variant;
using wb::test::BuilderWorld;

TEST_CASE("a python variant is a folder of its files", "[variant][cache]") {
  BuilderWorld f;
  f.folder.write("rival/kernel.json", R"({"name": "rival", "backend": "python",
    "sources": ["rival.py", "part/x.py"], "entry": "rival:sdpa"})");
  f.folder.write("rival/rival.py", "from common.shared import sdpa\n");
  f.folder.write("common/shared.py", "def sdpa(): pass\n");
  f.folder.write("rival/part/x.py", "x = 1\n");
  const Variant variant = f.folder.must_read("rival");
  ArtifactCache cache(f.file_system, f.cache_root);
  const auto artifact = cache.build(variant, {}, {}, nullptr);
  REQUIRE(artifact.ok());
  CHECK(f.text(artifact->path / "rival.py") == "from common.shared import sdpa\n");
  CHECK(f.text(artifact->path / "common/shared.py") == "def sdpa(): pass\n");
  CHECK(f.text(artifact->path / "part/x.py") == "x = 1\n");
  CHECK(artifact->content_sha256.empty());
  CHECK(cache.build(variant, {}, {}, nullptr)->record.cached);
  // The id does not depend on whether a compiler happens to be at hand.
  CHECK(cache.build(variant, {}, {}, &f.toolchain)->id == artifact->id);

  REQUIRE(f.file_system.write_atomic(artifact->path / "rival.py", "evil", Durability::none).ok());
  const auto again = cache.build(variant, {}, {}, nullptr);
  REQUIRE(again.ok());
  CHECK_FALSE(again->record.cached);
  CHECK(f.text(again->path / "rival.py") == "from common.shared import sdpa\n");

  f.folder.write("rival/rival.py", "from common.missing import sdpa\n");
  const auto missing = f.folder.read("rival");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message().find("kernels/common has no missing.py") != std::string::npos);
}

TEST_CASE("includes and libraries need a grant, which is part of the id", "[variant][cache]") {
  BuilderWorld f;
  f.folder.write("extern/inc/lib_h/a.h", "int a;\n");
  f.folder.write("extern/lib/libfoo.so", "so");
  f.folder.kernel("g", "#include \"lib_h/a.h\"\n",
                  R"("includes": ["lib_h"], "libraries": ["foo"])");
  const Variant variant = f.folder.must_read("g");
  const fs::path external = f.folder.root() / "extern";
  BuildOptions options;
  const auto id = [&] { return artifact_id(variant, {}, options, &f.toolchain); };
  REQUIRE_FALSE(id().ok());
  CHECK(id().error().message().find("--allow-include") != std::string::npos);
  options.allowed_includes = {external / "inc"};
  REQUIRE_FALSE(id().ok());
  CHECK(id().error().message().find("foo") != std::string::npos);
  options.allowed_includes = {external / "inc", external};
  REQUIRE(id().ok());
  const std::string first = *id();
  f.folder.write("extern/inc/lib_h/a.h", "int changed_size;\n");
  CHECK(*id() != first);
  ArtifactCache cache(f.file_system, f.cache_root);
  const auto refused = cache.build(variant, {}, {}, &f.toolchain);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().invalidity == Invalidity::constraints);
}

TEST_CASE("without its compiler a CUDA variant comes from the cache, whoever compiled it",
          "[variant][cache][cuda]") {
  BuilderWorld f;
  f.folder.write("c/kernel.json", R"({"name": "c", "backend": "cuda", "sources": ["kernel.cu"],
    "tune_params": {"TILE": [1, 2]}, "defaults": {"TILE": 1}})");
  f.folder.write("c/kernel.cu", "int x;\n");
  const Variant variant = f.folder.must_read("c");
  BuildOptions options{.target = "sm_90a"};
  ArtifactCache cache(f.file_system, f.cache_root);
  const auto build = [&](const Configuration& configuration = {}) {
    return cache.build(variant, configuration, options, &f.toolchain);
  };
  const auto older = build();
  REQUIRE(older.ok());
  fs::last_write_time(older->path.parent_path() / "build.json",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  f.toolchain.signature = "s2";
  const auto newer = build();
  REQUIRE(newer.ok());
  REQUIRE(newer->id != older->id);
  f.must_build();

  f.toolchain.fault = "it is nowhere";
  CHECK_FALSE(build().ok());  // a compiler that is there and broken is no missing one
  f.toolchain.installed = false;
  const auto found = build();
  REQUIRE(found.ok());
  CHECK(found->id == newer->id);
  CHECK(found->record.cached);
  CHECK(found->record.compiler == "fake s2");
  CHECK(build({{"TILE", 1}})->id == newer->id);

  // Another configuration or target is another artifact, and a CPU's "native" another machine's.
  const auto missing = build({{"TILE", 2}});
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().invalidity == Invalidity::environment);
  CHECK(missing.error().message.find("it is nowhere") != std::string::npos);
  CHECK(missing.error().message.find("no artifact of c for sm_90a") != std::string::npos);
  options.target = "sm_80";
  CHECK_FALSE(build().ok());
  options.target = "sm_90a";
  CHECK_FALSE(f.build().ok());

  // A damaged one is none.
  REQUIRE(f.file_system.write_atomic(newer->path, "evil", Durability::none).ok());
  CHECK(build()->id == older->id);
  f.folder.write("c/kernel.cu", "int y;\n");
  CHECK_FALSE(cache.build(f.folder.must_read("c"), {}, options, &f.toolchain).ok());
}

TEST_CASE("what was compiled elsewhere had the same grants", "[variant][cache][cuda]") {
  BuilderWorld f;
  f.folder.write("extern/lib_h/a.h", "int a;\n");
  f.folder.write("c/kernel.json", R"({"name": "c", "backend": "cuda", "sources": ["kernel.cu"],
    "includes": ["lib_h"]})");
  f.folder.write("c/kernel.cu", "#include \"lib_h/a.h\"\n");
  const BuildOptions options{.target = "sm_90a", .allowed_includes = {f.folder.root() / "extern"}};
  ArtifactCache cache(f.file_system, f.cache_root);
  const Variant variant = f.folder.must_read("c");
  REQUIRE(cache.build(variant, {}, options, &f.toolchain).ok());
  f.toolchain.fault = "it is nowhere";
  f.toolchain.installed = false;
  CHECK(cache.build(variant, {}, options, &f.toolchain).ok());
  const auto refused = cache.build(variant, {}, {.target = "sm_90a"}, &f.toolchain);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().invalidity == Invalidity::constraints);
  f.folder.write("extern/lib_h/a.h", "int changed_size;\n");
  CHECK_FALSE(cache.build(variant, {}, options, &f.toolchain).ok());
}
