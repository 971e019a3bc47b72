// A safetensors file of another program: one matrix [words, dims] of F32, F16, BF16 or F64, with a separate
// word list. ReadOptions::tensor names the matrix if there are several.
#include <optional>

#include "base/concat.h"
#include "base/utf8.h"
#include "loader/formats/formats.h"
#include "loader/formats/matrix.h"
#include "loader/safetensors.h"

namespace glove {
namespace {

std::optional<ElementType> float_type(std::string_view dtype) {
  const std::optional<ElementType> type = element_type(dtype);
  return type == ElementType::kInt8 ? std::nullopt : type;
}

// Returns the tensor called `name`, or the only matrix of floats.
Result<const Tensor*> find_matrix(const std::string& source, const SafetensorsHeader& header,
                                  const std::string& name) {
  ShortList names;
  const Tensor* only = nullptr;
  int matrices = 0;
  for (const auto& [tensor_name, tensor] : header.tensors) {
    if (tensor.shape.size() != 2 || !float_type(tensor.dtype)) continue;
    if (tensor_name == name) return &tensor;
    only = &tensor;
    names.add(tensor_name);
    ++matrices;
  }
  if (name.empty() && matrices == 1) return only;
  const std::string found =
      matrices == 0 ? "there is no matrix of F16, BF16, F32 or F64" : "the matrices are " + names.text();
  return invalid_argument(source, ": ",
                          name.empty() ? "name the tensor that holds the vectors (--tensor of glove-convert, "
                                         "\"tensor\" of glove_load)"
                                       : "there is no matrix " + quoted_value(name),
                          "; ", found);
}

}  // namespace

Result<std::shared_ptr<const File>> safetensors_file(const Input& input) {
  GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header,
                         read_safetensors_header(input.path(), *input.stream(), input.content_bytes()));
  return input.random_access(header.end, "its header describes");
}

Result<bool> sniff_safetensors(const Input& input, const ReadOptions&) {
  return looks_like_safetensors({input.sample().data(), input.sample().size()});
}

Result<std::unique_ptr<RowReader>> open_safetensors(const Input& input, const ReadOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const auto file, safetensors_file(input));
  GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header, read_safetensors_header(input.path(), *file));
  GLOVE_ASSIGN_OR_RETURN(const Tensor* const tensor, find_matrix(input.path(), header, options.tensor));
  MatrixLayout layout;
  layout.rows = tensor->shape[0];
  layout.columns = tensor->shape[1];
  layout.type = *float_type(tensor->dtype);
  GLOVE_RETURN_IF_ERROR(check_matrix(input.path(), layout));
  GLOVE_ASSIGN_OR_RETURN(const std::string list, find_word_list(input.path(), options.words_path));
  GLOVE_ASSIGN_OR_RETURN(auto words, open_word_list(list, input.interrupt_check()));
  return read_row_major(input.path(), layout,
                        plain_stream(file, tensor->offset, tensor->offset + tensor->bytes), std::move(words));
}

}  // namespace glove
