// SPDX-License-Identifier: MIT
// Each level has twice the instances of the one above it.
template <int Depth, unsigned long Path>
struct Tree {
  static constexpr unsigned long value =
      Tree<Depth - 1, Path * 2>::value + Tree<Depth - 1, Path * 2 + 1>::value;
};
template <unsigned long Path>
struct Tree<0, Path> {
  static constexpr unsigned long value = Path;
};
unsigned long wb_tree = Tree<40, 0>::value;
