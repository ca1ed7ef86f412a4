// SPDX-License-Identifier: MIT
// The identity of a compiler: asked once, again when one of its programs changed, and which linker
// it uses.
#include <algorithm>
#include <chrono>

#include "kernel_folder.hpp"
#include "support/catch.hpp"
#include "variant/builder.hpp"

using namespace wb;
using namespace wb::variant;
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
