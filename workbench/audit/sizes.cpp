// SPDX-License-Identifier: MIT
#include "audit/facts.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "core/ascii.hpp"

namespace wb::audit {
namespace {

struct Word {
  std::string_view word;
  Role role;
};
constexpr std::array<Word, 34> k_unit_sizes{{
    {"b", Role::batch},
    {"batch", Role::batch},
    {"batch size", Role::batch},
    {"batch_size", Role::batch},
    {"bs", Role::batch},
    {"h", Role::heads},
    {"heads", Role::heads},
    {"num_heads", Role::heads},
    {"nheads", Role::heads},
    {"hq", Role::heads},
    {"s", Role::sequence},
    {"seq", Role::sequence},
    {"seqlen", Role::sequence},
    {"seq_len", Role::sequence},
    {"sequence", Role::sequence},
    {"n", Role::sequence},
    {"sq", Role::sequence},
    {"seq_q", Role::sequence},
    {"sequence length", Role::sequence},
    {"seq len", Role::sequence},
    {"d", Role::dim},
    {"hdim", Role::dim},
    {"head_dim", Role::dim},
    {"head dim", Role::dim},
    {"headdim", Role::dim},
    {"d_head", Role::dim},
    {"hidden", Role::dim},
    {"hidden dim", Role::dim},
    {"dim", Role::dim},
    {"config", Role::shape},
    {"shape", Role::shape},
    {"problem", Role::shape},
    {"configuration", Role::shape},
    {"case", Role::shape},
}};

bool is_unit_letter(char c) {
  return ascii::is_alnum(c) || c == '_';
}

struct Assigned {
  std::size_t begin = 0, end = 0;
  Role role = Role::other;
  double value = 0;
};

/// The assignments in a text, whole numbers only ("B=1", "hdim=8192"); a list of several values
/// ("S=4,64") does not count.
std::vector<Assigned> assignments_in(std::string_view plain) {
  std::vector<Assigned> found;
  for (std::size_t equals = plain.find('='); equals != std::string_view::npos;
       equals = plain.find('=', equals + 1)) {
    std::size_t name_end = equals;
    while (name_end > 0 && plain[name_end - 1] == ' ') --name_end;
    std::size_t begin = name_end;
    while (begin > 0 && is_unit_letter(plain[begin - 1])) --begin;
    const auto role = size_of(lower_of(plain.substr(begin, name_end - begin)));
    if (!role || *role == Role::shape) continue;
    std::size_t at = equals + 1;
    while (at < plain.size() && plain[at] == ' ') ++at;
    std::int64_t value = 0;
    const auto [stop, fault] =
        std::from_chars(plain.data() + at, plain.data() + plain.size(), value);
    if (fault != std::errc() || value <= 0) continue;
    const auto end = static_cast<std::size_t>(stop - plain.data());
    const char next = end < plain.size() ? plain[end] : '\0';
    const char after = end + 1 < plain.size() ? plain[end + 1] : '\0';
    const bool digit_after = after >= '0' && after <= '9';
    if (is_unit_letter(next) || ((next == ',' || next == '-' || next == '.') && digit_after))
      continue;
    found.push_back({begin, end, *role, static_cast<double>(value)});
  }
  return found;
}

/// The sizes that a header names, "(B, H, S, D)" or "SxD", for cells such as "1x16x512x64".
std::vector<Role> sizes_named(std::string_view header) {
  std::vector<Role> roles;
  std::string word;
  const auto finish = [&] {
    if (const auto role = size_of(lower_of(word)); role && *role != Role::shape) {
      roles.push_back(*role);
    }
    word.clear();
  };
  for (const char c : header) {
    if (is_unit_letter(c) && !(c == 'x' && !word.empty()))
      word += c;
    else
      finish();
  }
  finish();
  return roles.size() >= 2 ? roles : std::vector<Role>{};
}

}  // namespace

std::optional<Role> size_of(std::string_view word) {
  for (const Word& entry : k_unit_sizes) {
    if (entry.word == word) return entry.role;
  }
  return std::nullopt;
}

double* member(Shape& shape, Role role) {
  switch (role) {
    case Role::batch:
      return &shape.batch;
    case Role::heads:
      return &shape.heads;
    case Role::sequence:
      return &shape.sequence;
    case Role::dim:
      return &shape.dim;
    default:
      return nullptr;
  }
}

Shape shape_of_cell(const std::string& header, const std::string& cell) {
  Shape shape = shape_in(cell);
  if (!shape.empty()) return shape;
  const std::vector<Role> roles = sizes_named(header);
  if (roles.empty()) return shape;
  std::vector<double> numbers;
  for (std::size_t at = 0; at < cell.size();) {
    std::int64_t value = 0;
    const auto [stop, fault] = std::from_chars(cell.data() + at, cell.data() + cell.size(), value);
    if (fault == std::errc() && value > 0) {
      numbers.push_back(static_cast<double>(value));
      at = static_cast<std::size_t>(stop - cell.data());
    } else {
      if (cell[at] != ' ' && cell[at] != 'x' && cell[at] != ',' && cell[at] != '(' &&
          cell[at] != ')') {
        return shape;
      }
      ++at;
    }
  }
  if (numbers.size() != roles.size()) return shape;
  for (std::size_t n = 0; n < roles.size(); ++n) *member(shape, roles[n]) = numbers[n];
  return shape;
}

double Shape::work() const {
  const auto size = [](double value) { return value == 0 ? 1.0 : value; };
  return 4 * size(batch) * size(heads) * size(sequence) * size(sequence) * size(dim);
}

bool Shape::lacks_same(const Shape& other) const {
  return (batch == 0) == (other.batch == 0) && (heads == 0) == (other.heads == 0) &&
         (sequence == 0) == (other.sequence == 0) && (dim == 0) == (other.dim == 0);
}

std::string Shape::text() const {
  std::string text;
  const auto add = [&](std::string_view name, double value) {
    if (value != 0) text += fmt::format("{}{}={:.0f}", text.empty() ? "" : " ", name, value);
  };
  add("B", batch);
  add("H", heads);
  add("S", sequence);
  add("D", dim);
  return text;
}

void Shape::complete_from(const Shape& outer) {
  if (batch == 0) batch = outer.batch;
  if (heads == 0) heads = outer.heads;
  if (sequence == 0) sequence = outer.sequence;
  if (dim == 0) dim = outer.dim;
}

Shape shape_in(std::string_view plain) {
  Shape shape;
  for (const Assigned& one : assignments_in(plain)) *member(shape, one.role) = one.value;
  return shape;
}

std::vector<Shape> shapes_in(std::string_view plain) {
  std::vector<Shape> shapes;
  std::size_t end = 0;
  for (const Assigned& one : assignments_in(plain)) {
    const std::string_view between = plain.substr(end, one.begin - end);
    const bool joined = !shapes.empty() && between.size() <= 2 &&
                        between.find_first_not_of(", ") == std::string_view::npos;
    if (!joined) shapes.emplace_back();
    double* size = member(shapes.back(), one.role);
    if (*size != 0) {
      shapes.emplace_back();
      size = member(shapes.back(), one.role);
    }
    *size = one.value;
    end = one.end;
  }
  return shapes;
}

}  // namespace wb::audit
