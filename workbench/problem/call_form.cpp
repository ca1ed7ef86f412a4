// SPDX-License-Identifier: MIT
#include "problem/call_form.hpp"
#include "core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace wb::problem {
namespace {

constexpr std::int64_t k_most_threads = 4'096;

TensorStrides strides_of(const TensorShape& shape, Layout layout, const View& view) {
  TensorStrides strides;
  if (layout == Layout::bhsd) {
    strides.row = shape.width + view.inner;
    strides.head = shape.rows * strides.row + view.middle;
    strides.batch = shape.heads * strides.head + view.outer;
  } else {
    strides.head = shape.width + view.inner;
    strides.row = shape.heads * strides.head + view.middle;
    strides.batch = shape.rows * strides.row + view.outer;
  }
  return strides;
}

Json view_json(const View& view) {
  return {view.inner, view.middle, view.outer, view.shift};
}

View read_view(ObjectReader& reader, std::string_view name) {
  const Json* list = reader.member(name);
  View view;
  if (list == nullptr) return view;
  const auto is_gap = [](const Json& value) {
    const auto gap = whole_number(value);
    return gap && *gap >= 0 && *gap <= k_most_gap;
  };
  if (!list->is_array() || list->size() != 4 || !std::all_of(list->begin(), list->end(), is_gap)) {
    reader.fail(name, fmt::format("must be four integers from 0 to {}", k_most_gap));
    return view;
  }
  view.inner = *whole_number((*list)[0]);
  view.middle = *whole_number((*list)[1]);
  view.outer = *whole_number((*list)[2]);
  view.shift = *whole_number((*list)[3]);
  return view;
}

struct NamedView {
  const char* name;
  View CallForm::*view;
};
constexpr NamedView k_views[] = {{"q", &CallForm::q},
                                 {"k", &CallForm::k},
                                 {"v", &CallForm::v},
                                 {"mask", &CallForm::mask},
                                 {"out", &CallForm::out}};

}  // namespace

TensorStrides view_strides(const Problem& problem, Tensor tensor, const View& view) {
  const TensorShape shape = tensor_shape(problem, tensor);
  if (tensor == Tensor::mask) {
    TensorStrides strides{0, 0, shape.width + view.middle};
    strides.batch = shape.rows * strides.row + view.outer;
    return strides;
  }
  const Layout layout = tensor == Tensor::k   ? k_layout(problem)
                        : tensor == Tensor::v ? v_layout(problem)
                                              : problem.layout;
  return strides_of(shape, layout, view);
}

TensorStrides out_view_strides(const Problem& problem, const View& view) {
  return strides_of(out_shape(problem), problem.layout, view);
}

std::int64_t span_elements(const TensorShape& shape, const TensorStrides& strides) {
  if (shape.batch == 0) return 0;
  return (shape.batch - 1) * strides.batch + (shape.heads - 1) * strides.head +
         (shape.rows - 1) * strides.row + shape.width;
}

void copy_rows(const TensorShape& shape, std::int64_t element_bytes, const std::byte* from,
               const TensorStrides& from_strides, std::byte* to, const TensorStrides& to_strides) {
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        const auto at = [&](const TensorStrides& of) {
          return (b * of.batch + h * of.head + row * of.row) * element_bytes;
        };
        std::memcpy(to + at(to_strides), from + at(from_strides),
                    static_cast<std::size_t>(shape.width * element_bytes));
      }
    }
  }
}

Json to_json(const CallForm& form) {
  Json json = Json::object();
  for (const NamedView& named : k_views) {
    if (form.*named.view != View()) json[named.name] = view_json(form.*named.view);
  }
  if (form.lse_shift != 0) json["lse_shift"] = form.lse_shift;
  if (form.threads != 0) json["threads"] = form.threads;
  if (form.call != 1) json["call"] = form.call;
  if (form.beside) {
    json["beside"] = to_json(*form.beside);
    json["beside_is_gone"] = form.beside_is_gone;
  }
  return json;
}

Result<CallForm> call_form_from_json(const Json& json) {
  ObjectReader reader(json, "the form of a call");
  CallForm form;
  for (const NamedView& named : k_views) form.*named.view = read_view(reader, named.name);
  form.lse_shift = reader.integer_or("lse_shift", 0, 0, k_most_gap);
  form.threads = reader.integer_or("threads", 0, 0, k_most_threads);
  form.call = reader.integer_or("call", 1, 1, k_latest_call);
  const Json* beside = reader.member("beside");
  form.beside_is_gone = reader.boolean_or("beside_is_gone", false);
  WB_TRY(reader.finish());
  if (beside != nullptr) {
    WB_TRY_ASSIGN(form.beside, problem_from_json(*beside, "the problem of the plan beside"));
  }
  return form;
}

std::string to_text(const CallForm& form) {
  std::string views, text;
  bool is_shifted = form.lse_shift != 0;
  for (const NamedView& named : k_views) {
    const View& view = form.*named.view;
    if (!is_packed(view)) {
      views += fmt::format("{}{} +{}+{}+{}", views.empty() ? "" : ", ", named.name, view.inner,
                           view.middle, view.outer);
    }
    is_shifted = is_shifted || view.shift != 0;
  }
  const auto add = [&text](const std::string& words) {
    text += (text.empty() ? "" : "; ") + words;
  };
  if (!views.empty()) add("strides of views: " + views);
  if (is_shifted) add("pointers aligned to an element");
  if (form.threads != 0)
    add(fmt::format("{} thread{}", form.threads, form.threads == 1 ? "" : "s"));
  if (form.call != 1) add(fmt::format("call {} of its plan", form.call));
  if (form.beside) {
    add(fmt::format("after another plan ({}) was made and called{}", to_text(*form.beside),
                    form.beside_is_gone ? " and destroyed" : ""));
  }
  return text;
}

}  // namespace wb::problem
