// SPDX-License-Identifier: MIT
// The files that compilers report as read, compared with those that an artifact id covers: shows
// what the scanner of includes overlooked.
#include "variant/compile_reads.hpp"

#include "kernel_folder.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::variant;
using wb::test::KernelFolder;

namespace {

using Names = std::vector<std::string>;

/// A variant `k` and the lists that a compiler wrote of it.
struct Lists {
  KernelFolder folder;
  TempDirectory temporary = *TempDirectory::create("wb-test");
  Variant variant;
  ReadLists lists{CompilerKind::gcc, folder.root(), temporary.path()};

  Lists() {
    folder.kernel("k", "#include \"part.h\"\n");
    folder.write("common/part.h", "");
    variant = folder.must_read("k");
  }
  void write(const std::string& name, const std::string& text) const {
    REQUIRE(RealFileSystem().write_atomic(temporary.path() / name, text, Durability::none).ok());
  }
  [[nodiscard]] std::optional<std::string> found(const std::string& read,
                                                 const std::string& assembled = "") const {
    write("wb_reads.d", "out.o: k/kernel.cpp common/part.h " + read + "\n");
    write("wb_assembled.d", "out.o: kernel.cpp " + assembled + "\n");
    return uncovered_read(lists, variant, {}, {}).value();
  }
};

}  // namespace

TEST_CASE("names are read from a rule of make", "[variant][reads]") {
  CHECK(names_of_rule("out.o: a.cpp b.h\n") == Names{"a.cpp", "b.h"});
  CHECK(names_of_rule("out.o : a.cpp \\\n  b.h\\\n c.h") == Names{"a.cpp", "b.h", "c.h"});
  CHECK(names_of_rule("o: with\\ space.h hash\\#.h money$$.h\n") ==
        Names{"with space.h", "hash#.h", "money$.h"});
  CHECK(names_of_rule("o: a.h\np: b.h\n") == Names{"a.h", "b.h"});
  CHECK(names_of_rule("").empty());
}

TEST_CASE("a file that no id covers is named, whoever read it", "[variant][reads][hostile]") {
  const Lists lists;
  CHECK_FALSE(lists.found(""));
  CHECK_FALSE(lists.found("/usr/include/stdio.h"));
  const TempDirectory outside = *TempDirectory::create("wb-test-outside");
  const std::string secret = (outside.path() / "secret.h").string();
  REQUIRE(RealFileSystem().write_atomic(secret, "secret", Durability::none).ok());
  CHECK(lists.found(secret) == secret);
  CHECK(lists.found("/usr/include/../../etc/passwd") == "/usr/include/../../etc/passwd");
  // In the folder of the sources, but no file of the variant.
  CHECK(lists.found("other/kernel.cpp") == "other/kernel.cpp");
  // The assembler's list: its own temporary file is none of it.
  CHECK_FALSE(lists.found("", (lists.temporary.path() / "cc1.s").string()));
  CHECK(lists.found("", secret) == secret);
  // A link is followed.
  fs::create_symlink(secret, lists.folder.root() / "common" / "link.h");
  CHECK(lists.found("common/link.h") == "common/link.h");
}

TEST_CASE("folders that are granted, and a compiler's own, are covered", "[variant][reads]") {
  const Lists lists;
  const TempDirectory granted = *TempDirectory::create("wb-test-granted");
  const std::string header = (granted.path() / "lib.h").string();
  CHECK(lists.found(header) == header);
  CHECK_FALSE(uncovered_read(lists.lists, lists.variant, {granted.path()}, {}).value());
  CHECK_FALSE(uncovered_read(lists.lists, lists.variant, {}, {granted.path()}).value());
}

TEST_CASE("a compiler that wrote no list is the machine's matter", "[variant][reads]") {
  const Lists lists;
  CHECK_FALSE(uncovered_read(lists.lists, lists.variant, {}, {}).ok());
}

TEST_CASE("of a compile that failed -H names the headers", "[variant][reads][hostile]") {
  const Lists lists;
  const auto found = [&](const std::string& printed) {
    return uncovered_header(printed, lists.lists, lists.variant, {}, {});
  };
  CHECK_FALSE(found(". common/part.h\n.. /usr/include/stdio.h\nerror: no such thing\n"));
  CHECK(found(". common/part.h\n.. /etc/passwd\n") == "/etc/passwd");
  CHECK_FALSE(found("./etc/passwd\n...\n"));
}

TEST_CASE("the date is taken away from sources", "[variant][reads]") {
  const Lists lists;
  const auto words = read_list_words(lists.lists);
  std::string line;
  for (const std::string& word : words) line += word + " ";
  for (const std::string macro : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    CHECK(line.find("-D" + macro + "=") != std::string::npos);
  }
  CHECK(uses_date_macro("error: 'wb_no_date_of_a_build' was not declared"));
  CHECK_FALSE(uses_date_macro(line));  // a compiler that prints its command line
  CHECK_FALSE(uses_date_macro("error: something else"));
}
