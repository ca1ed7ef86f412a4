// SPDX-License-Identifier: MIT
#include "variant/variant.hpp"

#include <sys/stat.h>

#include "kernel_folder.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using wb::test::KernelFolder;
using wb::test::manifest_text;

namespace {

std::vector<std::string> paths(const Variant& variant) {
  std::vector<std::string> list;
  for (const auto& [path, text] : variant.files) list.push_back(path);
  return list;
}

Error error_of(const Result<Variant>& variant) {
  REQUIRE_FALSE(variant.ok());
  return variant.error();
}

}  // namespace

TEST_CASE("the closure holds what the sources include, and nothing else", "[variant][closure]") {
  const KernelFolder folder;
  folder.write("common/abi.h", "#include \"deep.h\"\n");
  folder.write("common/deep.h", "int deep;\n");
  folder.write("common/unused.h", "int unused;\n");
  folder.write("k/part/a.h", "#include \"b.h\"\n#include \"abi.h\"\n");
  folder.write("k/part/b.h", "#include \"a.h\"\n");  // a circle ends
  folder.write("k/notes.txt", "not part of it");
  folder.kernel("k", "#include <cmath>\n#include \"part/a.h\"\n#include \"./part/b.h\"\n");
  const Variant variant = folder.must_read("k");
  CHECK(paths(variant) == std::vector<std::string>{"common/abi.h", "common/deep.h", "k/kernel.cpp",
                                                   "k/kernel.json", "k/part/a.h", "k/part/b.h"});
  CHECK(variant.id.size() == 64);
  CHECK(label(variant) == "k@" + variant.id.substr(0, 8));
}

TEST_CASE("the id changes with every byte of the closure and only then", "[variant][closure]") {
  const KernelFolder folder;
  folder.write("common/abi.h", "int a;\n");
  folder.kernel("k", "#include \"abi.h\"\n");
  const std::string first = folder.must_read("k").id;
  CHECK(folder.must_read("k").id == first);
  folder.write("common/other.h", "int o;\n");
  CHECK(folder.must_read("k").id == first);
  folder.write("common/abi.h", "int b;\n");
  const std::string second = folder.must_read("k").id;
  CHECK(second != first);
  folder.write("k/kernel.json", manifest_text("k", R"("about": "x")"));
  CHECK(folder.must_read("k").id != second);
}

TEST_CASE("files outside the folder are refused", "[variant][closure][hostile]") {
  const KernelFolder folder;
  folder.write("other/secret.h", "int secret;\n");
  for (const std::string include :
       {"../other/secret.h", "/etc/passwd", "part/../../other/secret.h"}) {
    INFO(include);
    folder.kernel("k", "#include \"" + include + "\"\n");
    CHECK(error_of(folder.read("k")).code == ErrorCode::invalid);
  }
  SECTION("a link out of the folder") {
    folder.kernel("k", "#include \"link.h\"\n");
    fs::create_symlink(folder.root() / "other/secret.h", folder.root() / "k/link.h");
    const Error error = error_of(folder.read("k"));
    CHECK(error.code == ErrorCode::invalid);
    CHECK(error.message().find("link") != std::string::npos);
  }
  SECTION("a link to a folder outside") {
    folder.kernel("k", "#include \"part/secret.h\"\n");
    fs::create_directory_symlink(folder.root() / "other", folder.root() / "k/part");
    CHECK(error_of(folder.read("k")).code == ErrorCode::invalid);
  }
  SECTION("a link inside the folder is a file like any other") {
    folder.kernel("k", "#include \"link.h\"\n");
    folder.write("k/real.h", "int x;\n");
    fs::create_symlink("real.h", folder.root() / "k/link.h");
    CHECK(folder.must_read("k").files.at("k/link.h") == "int x;\n");
  }
  SECTION("a pipe does not block the reader") {
    folder.kernel("k", "#include \"pipe.h\"\n");
    REQUIRE(::mkfifo((folder.root() / "k/pipe.h").c_str(), 0600) == 0);
    CHECK(error_of(folder.read("k")).code == ErrorCode::invalid);
  }
}

TEST_CASE("sizes are bounded", "[variant][closure][hostile]") {
  const KernelFolder folder;
  SECTION("one file") {
    folder.kernel("k", std::string(k_source_max_bytes + 1, ' '));
    CHECK_FALSE(folder.read("k").ok());
  }
  SECTION("all files") {
    std::string includes;
    for (int i = 0; i < 9; ++i) {
      const std::string name = "h" + std::to_string(i) + ".h";
      folder.write("k/" + name, std::string(k_source_max_bytes - 1, ' '));
      includes += "#include \"" + name + "\"\n";
    }
    folder.kernel("k", includes);
    CHECK(error_of(folder.read("k")).code == ErrorCode::invalid);
  }
  SECTION("number of files") {
    std::string includes;
    for (int i = 0; i < 300; ++i) {
      const std::string name = "h" + std::to_string(i) + ".h";
      folder.write("k/" + name, "\n");
      includes += "#include \"" + name + "\"\n";
    }
    folder.kernel("k", includes);
    CHECK(error_of(folder.read("k")).code == ErrorCode::invalid);
  }
  SECTION("binary content") {
    folder.kernel("k", std::string("int a;\0int b;", 13));
    CHECK(error_of(folder.read("k")).code == ErrorCode::invalid);
  }
}

TEST_CASE("missing pieces are named", "[variant][closure]") {
  const KernelFolder folder;
  CHECK(error_of(folder.read("nowhere")).code == ErrorCode::not_found);
  CHECK(error_of(folder.read("../k")).code == ErrorCode::usage);
  CHECK(error_of(folder.read("common")).code == ErrorCode::usage);
  folder.write("k/kernel.json", manifest_text("k"));
  CHECK(error_of(folder.read("k")).subject == "k/kernel.cpp");
  folder.kernel("k", "#include \"cmath\"\n");
  const Error error = error_of(folder.read("k"));
  CHECK(error.code == ErrorCode::not_found);
  CHECK(error.message().find("#include <cmath>") != std::string::npos);
  folder.write("other/kernel.json", manifest_text("k"));
  folder.write("other/kernel.cpp", "");
  CHECK(error_of(folder.read("other")).message().find("differs from its folder") !=
        std::string::npos);
}

TEST_CASE("granted includes are left to the compiler", "[variant][closure]") {
  const KernelFolder folder;
  folder.kernel("k", "#include \"cutlass/cutlass.h\"\n", R"("includes": ["cutlass"])");
  CHECK(folder.must_read("k").files.size() == 2);
}

TEST_CASE("a derived variant", "[variant][derive]") {
  const KernelFolder folder;
  RealFileSystem file_system;
  folder.write("common/abi.h", "int abi;\n");
  folder.write("common/more.h", "int more;\n");
  folder.write("k/old.h", "int old_part;\n");
  folder.kernel("k", "#include \"abi.h\"\n#include \"old.h\"\n", R"("about": "keep me")");
  const Variant parent = folder.must_read("k");

  SECTION("has a new id, a new name and its parent's name") {
    const auto child = derive_variant(
        file_system, parent,
        {{"kernel.cpp", "#include \"more.h\"\n#include \"new.h\"\n"}, {"new.h", "int x;\n"}},
        "k_two");
    INFO((child.ok() ? std::string() : child.error().message()));
    REQUIRE(child.ok());
    CHECK(child->id != parent.id);
    CHECK(child->manifest.name == "k_two");
    CHECK(child->manifest.parent == "k");
    CHECK(child->manifest.about == "keep me");
    CHECK(paths(*child) == std::vector<std::string>{"common/more.h", "k_two/kernel.cpp",
                                                    "k_two/kernel.json", "k_two/new.h"});
    SECTION("and is the same when written to disk and read again") {
      for (const auto& [path, text] : child->files) folder.write(path, text);
      CHECK(folder.must_read("k_two").id == child->id);
    }
  }
  SECTION("without a change and without a name is the parent") {
    const auto same = derive_variant(file_system, parent, {}, "");
    REQUIRE(same.ok());
    CHECK(same->id == parent.id);
  }
  SECTION("may change the manifest") {
    const auto child = derive_variant(
        file_system, parent, {{"kernel.json", manifest_text("k", R"("about": "new")")}}, "");
    REQUIRE(child.ok());
    CHECK(child->manifest.about == "new");
  }
  SECTION("is refused when a path leaves the folder") {
    for (const std::string path : {"../common/abi.h", "/etc/x", "a/../b.h", "./x.h", ""}) {
      INFO(path);
      CHECK(error_of(derive_variant(file_system, parent, {{path, "x"}}, "")).code ==
            ErrorCode::invalid);
    }
  }
  SECTION("is refused when a changed file is not used") {
    CHECK(error_of(derive_variant(file_system, parent, {{"stray.h", "x"}}, ""))
              .message()
              .find("changes nothing") != std::string::npos);
  }
  SECTION("is refused when an include cannot be found") {
    CHECK(error_of(derive_variant(file_system, parent, {{"kernel.cpp", "#include \"no.h\"\n"}}, ""))
              .code == ErrorCode::not_found);
  }
  SECTION("is refused under a name that is none") {
    CHECK(error_of(derive_variant(file_system, parent, {}, "../x")).code == ErrorCode::invalid);
  }
  SECTION("is refused with a manifest that is none") {
    CHECK_FALSE(derive_variant(file_system, parent, {{"kernel.json", "[1]"}}, "k_two").ok());
    CHECK_FALSE(derive_variant(file_system, parent, {{"kernel.json", "{"}}, "k_two").ok());
  }
}

TEST_CASE("a variant is the same when made from its stored files", "[variant][closure]") {
  const KernelFolder folder;
  folder.write("common/abi.h", "int abi;\n");
  folder.kernel("k", "#include \"abi.h\"\n");
  const Variant variant = folder.must_read("k");
  const auto stored = variant_from_files("k", variant.files);
  REQUIRE(stored.ok());
  CHECK(stored->id == variant.id);
  CHECK(stored->files == variant.files);

  SECTION("files that nothing includes are left out") {
    auto files = variant.files;
    files["k/stray.h"] = "x";
    CHECK(variant_from_files("k", files)->id == variant.id);
  }
  SECTION("a missing include is named") {
    auto files = variant.files;
    files.erase("common/abi.h");
    CHECK(error_of(variant_from_files("k", files)).code == ErrorCode::not_found);
  }
  SECTION("without a manifest or a name it is refused") {
    auto files = variant.files;
    files.erase("k/kernel.json");
    CHECK(error_of(variant_from_files("k", files)).code == ErrorCode::not_found);
    CHECK(error_of(variant_from_files("../k", variant.files)).code == ErrorCode::invalid);
    CHECK(error_of(variant_from_files("other", variant.files)).code == ErrorCode::not_found);
  }
  SECTION("includes that leave the files are refused") {
    auto files = variant.files;
    files["k/kernel.cpp"] = "#include \"../common/abi.h\"\n";
    CHECK(error_of(variant_from_files("k", files)).code == ErrorCode::invalid);
  }
}
