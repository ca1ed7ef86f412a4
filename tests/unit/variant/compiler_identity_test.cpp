// SPDX-License-Identifier: MIT
// Compilers: their identity, asked once and again when one of their programs changed; and artifacts
// that depend on more than sources and compiler, or were compiled elsewhere.
#include <algorithm>
#include <chrono>

#include "core/hash.hpp"
#include "kernel_folder.hpp"
#include "support/catch.hpp"
#include "variant/builder.hpp"

using namespace wb;
using namespace wb::variant;

using wb::test::BuilderWorld;
using wb::test::KernelFolder;

TEST_CASE("the identity is remembered until the compiler changes", "[variant][toolchain]") {
  const KernelFolder folder;
  folder.write("bin/cc", "#!/bin/sh\necho called >> \"$(dirname \"$0\")/calls\"\necho cc 1.0\n");
  const fs::path compiler = folder.root() / "bin/cc", memory = folder.path() / "compilers";
  fs::permissions(compiler, fs::perms::owner_all);
  const CpuToolchain toolchain(compiler.string());
  const auto first = toolchain.remembered_identity(memory);
  REQUIRE(first.ok());
  CHECK(first->version == "cc 1.0");
  const auto calls = [&] { return fs::file_size(folder.root() / "bin/calls"); };
  const auto after_first = calls();
  const auto second = toolchain.remembered_identity(memory);
  REQUIRE(second.ok());
  CHECK(second->signature == first->signature);
  CHECK(calls() == after_first);
  fs::last_write_time(compiler, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto third = toolchain.remembered_identity(memory);
  REQUIRE(third.ok());
  CHECK(third->signature != first->signature);
  CHECK(calls() > after_first);
}

TEST_CASE("a compile asks the compiler who it is once, until it changes", "[variant][toolchain]") {
  const KernelFolder folder;
  folder.write("bin/cc", "#!/bin/sh\necho called >> \"$(dirname \"$0\")/calls\"\necho cc 1.0\n");
  const fs::path compiler = folder.root() / "bin/cc";
  fs::permissions(compiler, fs::perms::owner_all);
  const CpuToolchain toolchain(compiler.string());
  const auto calls = [&] { return fs::file_size(folder.root() / "bin/calls"); };
  const auto first = toolchain.identity();
  REQUIRE(first.ok());
  const auto after_first = calls();
  CHECK(toolchain.identity()->signature == first->signature);
  CHECK(calls() == after_first);
  fs::last_write_time(compiler, fs::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(toolchain.identity()->signature != first->signature);
  CHECK(calls() > after_first);
}

TEST_CASE("a compiler that finds gold links with it, and the identity says so",
          "[variant][toolchain]") {
  const KernelFolder folder;
  const fs::path bin = folder.root() / "bin";
  folder.write("bin/cc",
               "#!/bin/sh\ncase $1 in -print-prog-name*) cat \"$(dirname \"$0\")/named\";;"
               " *) echo cc 1.0;; esac\n");
  fs::permissions(bin / "cc", fs::perms::owner_all);
  const auto identity_where = [&](const std::string& named) {
    folder.write("bin/named", named + "\n");
    const auto identity = CpuToolchain((bin / "cc").string()).identity();
    REQUIRE(identity.ok());
    return *identity;
  };
  const CompilerIdentity plain = identity_where("no such program");
  CHECK(plain.linker.empty());
  const fs::path gold = bin / "ld.gold";
  CHECK(identity_where(gold.string()).signature == plain.signature);  // it is not there
  folder.write("bin/ld.gold", "#!/bin/sh\nexit 1\n");
  fs::permissions(gold, fs::perms::owner_all);
  CHECK(identity_where(gold.string()).signature == plain.signature);  // it does not start
  folder.write("bin/ld.gold", "#!/bin/sh\necho 'GNU gold (test 1.0)'\n");
  const CompilerIdentity linked = identity_where(gold.string());
  CHECK(linked.linker == gold);
  CHECK(linked.signature != plain.signature);
  CHECK(identity_where("ld.gold").linker == gold);  // it is the first in its PATH
  identity_where(gold.string());
  const CpuToolchain toolchain((bin / "cc").string());
  const fs::path memory = folder.path() / "compilers";
  CHECK(toolchain.remembered_identity(memory)->linker == gold);
  CHECK(toolchain.remembered_identity(memory)->linker == gold);  // as it was written down
  fs::remove(gold);
  CHECK(toolchain.remembered_identity(memory)->signature == plain.signature);
  CHECK(toolchain.identity()->linker.empty());
}

TEST_CASE("the record of a build says which linker", "[variant][toolchain]") {
  for (const char* name : {"g++", "clang++"}) {
    const CpuToolchain toolchain(name);
    const auto identity = toolchain.identity();
    if (!identity.ok()) continue;
    const KernelFolder folder;
    folder.kernel("k", "extern \"C\" int answer() { return 42; }\n");
    const auto record =
        toolchain.compile(folder.must_read("k"), {}, {}, "the-id", folder.path() / "out.so");
    REQUIRE(record.ok());
    const auto& argv = record->argv;
    const bool with_gold = std::find(argv.begin(), argv.end(), "-fuse-ld=gold") != argv.end();
    CHECK(with_gold == !identity->linker.empty());
  }
}

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
