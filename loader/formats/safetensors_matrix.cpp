// A safetensors file of another program: one matrix [words, dims] of F32, F16, BF16, F64 or I8, with a
// separate word list. ReadOptions::tensor names the matrix if there are several. A tensor called scale or
// scales (or so at its end), or SCB, has a factor for each row of I8.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "loader/formats/formats.h"
#include "loader/formats/matrix.h"
#include "loader/safetensors.h"

namespace glove {
namespace {

bool is_scale(std::string_view name) {
  return name.ends_with("scale") || name.ends_with("scales") || name.ends_with("SCB");
}

// Sets the scales of a matrix of I8, if there are any that are not one number for all.
Status read_scales(const std::string& source, const File& file, const SafetensorsHeader& header,
                   MatrixLayout& layout) {
  for (const auto& [name, tensor] : header.tensors) {
    const auto type = element_type(tensor.dtype);
    if (layout.type != ElementType::kInt8 || !is_scale(name) || !type) continue;
    const int64_t count = tensor.bytes / element_bytes(*type);
    if (count == 1) continue;
    if (tensor.shape[0] != layout.rows || count != layout.rows || !layout.scales.empty())
      return corrupt_file(source, quoted_value(name), " has ", counted(count, "numbers"),
                          "; one tensor of scales with a number for each of ", layout.rows,
                          " rows can be read");
    std::vector<char> bytes(static_cast<size_t>(tensor.bytes));
    GLOVE_RETURN_IF_ERROR(file.read_at(tensor.offset, bytes));
    layout.scales.resize(static_cast<size_t>(count));
    convert_elements(*type, bytes.data(), count, layout.scales.data());
  }
  return {};
}

// Returns the tensor called `name`, or the only matrix of numbers that can be read.
Result<const Tensor*> find_matrix(const std::string& source, const SafetensorsHeader& header,
                                  const std::string& name) {
  ShortList names, others;
  const Tensor* only = nullptr;
  int floats = 0, integers = 0;
  for (const auto& [tensor_name, tensor] : header.tensors) {
    if (tensor.shape.size() != 2) continue;
    const auto type = element_type(tensor.dtype);
    if (type && tensor_name == name) return &tensor;
    if (is_scale(tensor_name) && std::min(tensor.shape[0], tensor.shape[1]) == 1) continue;
    const bool is_integer = type == ElementType::kInt8;
    (type ? names : others).add(type ? tensor_name : tensor_name + " of " + tensor.dtype);
    if (!type) continue;
    if (!is_integer || floats == 0) only = &tensor;
    ++(is_integer ? integers : floats);
  }
  if (name.empty() && (floats == 1 || (floats == 0 && integers == 1))) return only;
  const std::string found = "; the matrices are " + names.text();
  if (floats + integers == 0)
    return corrupt_file(source, "a matrix of F16, BF16, F32, F64 or I8 was expected, but there is ",
                        others.text().empty() ? "none" : others.text());
  return name.empty()
             ? invalid_argument(source,
                                ": name the tensor that holds the vectors (--tensor of glove-convert, "
                                "\"tensor\" of glove_load)",
                                found)
             : invalid_argument(source, ": there is no matrix ", quoted_value(name), found);
}

}  // namespace

Result<std::shared_ptr<const File>> safetensors_file(const Input& input) {
  GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header,
                         read_safetensors_header(input.path(), *input.stream(), input.content_bytes()));
  return input.random_access(header.end, "its header describes");
}

Result<bool> sniff_safetensors(const Input& input, const ReadOptions&) {
  return looks_like_safetensors(input.sample());
}

Result<std::unique_ptr<RowReader>> open_safetensors(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const auto file, safetensors_file(input));
  GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header, read_safetensors_header(input.path(), *file));
  GLOVE_ASSIGN_OR_RETURN(const Tensor* const tensor, find_matrix(input.path(), header, options.tensor));
  MatrixLayout layout;
  layout.rows = tensor->shape[0];
  layout.columns = tensor->shape[1];
  layout.type = *element_type(tensor->dtype);
  GLOVE_RETURN_IF_ERROR(check_matrix(input.path(), layout));
  GLOVE_RETURN_IF_ERROR(read_scales(input.path(), *file, header, layout));
  GLOVE_ASSIGN_OR_RETURN(const std::string list, find_word_list(input.path(), options.words_path));
  GLOVE_ASSIGN_OR_RETURN(auto words, open_word_list(list, input.interrupt_check(), ListContent::kWords,
                                                    [&] { return layout.rows; }));
  return read_matrix(input.path(), layout, plain_stream(file, tensor->offset, tensor->offset + tensor->bytes),
                     std::move(words));
}

}  // namespace glove
