// SPDX-License-Identifier: MIT
// What several checks need to know about a document, found out once: what the columns of tables
// mean, the shape and the times of each row, the GPUs that are named.
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
  /// 4·B·H·S²·D; sizes that are not given count as 1, so it only serves for ratios between shapes
  /// that lack the same ones.
  [[nodiscard]] double work() const;
  [[nodiscard]] bool lacks_same(const Shape& other) const;
  /// "B=1 H=8 S=512"; only what is given.
  [[nodiscard]] std::string text() const;
  /// Sizes of `outer` where there are none here.
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
  Unit unit = Unit::none;  ///< of bare numbers in it
  double scale = 1;        ///< of that unit
  std::string name;        ///< the header in lower case, without its unit
  bool reference = false;  ///< of what others are compared with
};

/// What a header, or the name of a metric in a row, says of the figures beside it.
Column column_named(const std::string& header);
/// A column of deviations or intervals, which is no second value. `name` in lower case.
bool is_spread(const std::string& name);
/// A bare number takes the unit of its column.
void in_unit_of(const Column& column, Figure& figure);

struct TableFacts {
  const Table* table = nullptr;
  std::vector<Column> columns;
  std::vector<Shape> shapes;  ///< by row
  bool has_shapes = false;    ///< of its own, not only of what stands around it
  [[nodiscard]] std::vector<std::size_t> of(Role role) const;
  /// The first figure of a cell; a bare number has the column's unit. Nothing of a cell of times or
  /// rates that holds two of them: "9.0 / 6.0", "[0.1, 0.2]".
  [[nodiscard]] std::optional<Figure> figure(const Row& row, std::size_t column) const;
};

/// One measured pair: ours and what it is compared with, on the same problem.
struct Pair {
  int line = 0, reference_line = 0;
  Shape shape;
  Figure ours, reference;
};

/// "pytorch", "baseline" …: words for what others are compared with. `lower` in lower case.
bool is_reference(std::string_view lower);

struct NamedGpu {
  std::string word;  ///< as documents call it: "A100"
  int line = 0;      ///< the first
  std::vector<device::Device> models;
};

/// A kernel's source that was given beside the reports.
struct Source {
  std::string name, lower;
};

struct Facts {
  Facts(const Document& read, const std::vector<Source>& beside);
  const Document& document;
  const std::vector<Source>& sources;
  std::vector<TableFacts> tables;
  std::vector<Pair> pairs;  ///< of tables with two time columns, then of tables that match
  std::vector<NamedGpu> gpus;
  std::vector<std::string> unread;           ///< of tables, in sentences
  std::vector<std::vector<Figure>> figures;  ///< by line
  [[nodiscard]] const std::vector<Figure>& of(int line) const {
    return figures[static_cast<std::size_t>(line - 1)];
  }

 private:
  void read_tables();
  void find_pairs();
  void find_gpus();
};

/// "label: rest" at the start of a line: the label in lower case.
struct Labeled {
  std::string label;
  std::size_t rest = 0;  ///< column after the colon
};
std::optional<Labeled> label_of(std::string_view plain);

}  // namespace wb::audit
