// SPDX-License-Identifier: MIT
#include "tune/code_hash.hpp"

#include "core/hash.hpp"
#include "support/catch.hpp"

using namespace wb;

using namespace wb::tune;

namespace {

std::string note(std::uint32_t type, const std::string& digest) {
  const std::uint32_t head[3] = {4, static_cast<std::uint32_t>(digest.size()), type};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + std::string("GNU\0", 4) +
         digest;
}

std::string library(const std::string& id, const std::string& digest, const std::string& code) {
  return "\x7f"
         "ELF" +
         note(3, digest) + code + id + '\0' + code + id + "end";
}

}  // namespace

TEST_CASE("only the ids are left out of a code's hash", "[engine][code_hash]") {
  const std::string a(64, 'a'), b(64, 'b'), one(20, '\1'), two(20, '\2');
  CHECK(code_hash(library(a, one, "add"), a) == code_hash(library(b, two, "add"), b));
  CHECK(code_hash(library(a, one, "add"), a) != code_hash(library(b, two, "sub"), b));
  // Another id's text is code.
  CHECK(code_hash(library(a, one, "add"), b) != code_hash(library(b, one, "add"), b));
  CHECK(code_hash("plain", "") == sha256_hex("plain"));
}

TEST_CASE("other notes and broken ones are kept", "[engine][code_hash]") {
  CHECK(code_hash(note(1, "abcd"), "") == sha256_hex(note(1, "abcd")));
  CHECK(code_hash(std::string("GNU\0", 4), "") == sha256_hex(std::string("GNU\0", 4)));
  std::string cut = note(3, std::string(20, 'd'));
  cut.resize(cut.size() - 1);
  CHECK(code_hash(cut, "") == sha256_hex(cut));
  CHECK(code_hash(note(3, "abcd"), "") == code_hash(note(3, "wxyz"), ""));
}
