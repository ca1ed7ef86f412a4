// SPDX-License-Identifier: MIT
// Facts about a document that several checks need: meanings of table columns, shape and times of
// each row, named GPUs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/document.hpp"
#include "audit/finding.hpp"
#include "device/device.hpp"

namespace wb::audit {

/// Sizes of one attention problem; 0: not given.
struct Shape {
  double batch = 0, heads = 0, sequence = 0, dim = 0;
  [[nodiscard]] bool empty() const { return batch == 0 && heads == 0 && sequence == 0 && dim == 0; }
  /// 4·B·H·S²·D. Missing sizes count as 1, so it is valid only for ratios between shapes that lack
  /// the same sizes.
  [[nodiscard]] double work() const;
  [[nodiscard]] bool lacks_same(const Shape& other) const;
  /// "B=1 H=8 S=512", without missing sizes.
  [[nodiscard]] std::string text() const;
  /// Takes missing sizes from `outer`.
  void complete_from(const Shape& outer);
  friend bool operator==(const Shape&, const Shape&) = default;
};
/// B=, H=, S=, D= and their long names in a line; the last of each counts.
Shape shape_in(std::string_view plain);
/// Each maximal group such as "B=1,H=8", in order.
std::vector<Shape> shapes_in(std::string_view plain);

enum class Role { other, batch, heads, sequence, dim, shape, time, flop_rate, ratio, expected };
struct Column {
  Role role = Role::other;
  Unit unit = Unit::none;  ///< of bare numbers in the column
  double scale = 1;        ///< factor of that unit
  std::string name;        ///< the header in lower case, without its unit
  bool reference = false;  ///< others are compared with this column
};

/// The meaning of a header, or of a metric's name in a row.
Column column_named(const std::string& header);
/// True for a column of deviations or intervals, which is no second value. `name` in lower case.
bool is_spread(const std::string& name);
/// Gives a bare number the unit of its column.
void in_unit_of(const Column& column, Figure& figure);

struct TableFacts {
  const Table* table = nullptr;
  std::vector<Column> columns;
  std::vector<Shape> shapes;   ///< by row
  bool has_shapes = false;     ///< of its own, not only from its surroundings
  bool shapes_are_own = true;  ///< no size comes from its surroundings
  [[nodiscard]] std::vector<std::size_t> of(Role role) const;
  /// The first figure of a cell; a bare number has the column's unit. Nothing for a cell with two
  /// times or rates: "9.0 / 6.0", "[0.1, 0.2]".
  [[nodiscard]] std::optional<Figure> figure(const Row& row, std::size_t column) const;
};

/// One measured pair: ours and the reference, on the same problem.
struct Pair {
  int line = 0, reference_line = 0;
  Shape shape;
  Figure ours, reference;
};

/// True for words that name a reference: "pytorch", "baseline" … `lower` in lower case.
bool is_reference(std::string_view lower);

struct NamedGpu {
  std::string word;  ///< as in documents: "A100"
  int line = 0;      ///< of the first mention
  std::vector<device::Device> models;
};

/// A kernel's source that was given with the reports.
struct Source {
  std::string name, lower;
};

struct Facts {
  Facts(const Document& read, const std::vector<Source>& beside);
  const Document& document;
  const std::vector<Source>& sources;
  std::vector<TableFacts> tables;
  std::vector<Pair> pairs;  ///< first of tables with two time columns, then of matching tables
  std::vector<NamedGpu> gpus;
  std::vector<std::string> unread;           ///< about tables, in sentences
  std::vector<std::vector<Figure>> figures;  ///< by line
  [[nodiscard]] const std::vector<Figure>& of(int line) const {
    return figures[static_cast<std::size_t>(line - 1)];
  }

 private:
  void read_tables();
  void find_pairs();
  void find_gpus();
};

/// "label: rest" at the start of a line; the label is in lower case.
struct Labeled {
  std::string label;
  std::size_t rest = 0;  ///< column after the colon
};
std::optional<Labeled> label_of(std::string_view plain);

// sizes.cpp: words for the sizes of a problem, and cells with several sizes.

/// "heads", "seq_len", "d" …, in lower case.
std::optional<Role> size_of(std::string_view word);
/// The member for that role; nullptr when the role is no size.
double* member(Shape& shape, Role role);
/// "B=1,H=8" in a cell, or "1x16x512x64" under a header that names the sizes.
Shape shape_of_cell(const std::string& header, const std::string& cell);

}  // namespace wb::audit
