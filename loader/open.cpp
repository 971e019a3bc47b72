#include "loader/open.h"

#include <memory>
#include <string_view>
#include <utility>

#include "loader/float_environment.h"
#include "loader/format.h"
#include "loader/heap_model.h"
#include "loader/limits.h"
#include "loader/model_file.h"
#include "loader/row_pipeline.h"

namespace glove {
namespace {

Result<ModelPtr> read_to_heap(const Input& input, const OpenOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const Format* const format, find_format(input, options.read));
  GLOVE_ASSIGN_OR_RETURN(const std::unique_ptr<RowReader> reader, format->open(input, options.read));
  PipelineOptions pipeline;
  pipeline.threads = options.threads;
  pipeline.progress = options.progress;
  pipeline.file_bytes = input.file_bytes();
  HeapModel model;
  ModelAssembler& assembler = model.assembler();
  GLOVE_RETURN_IF_ERROR(run_row_pipeline(
      input.path(), *reader, pipeline, [&](const RowBlock& rows, const DerivedRows& derived) {
        return assembler.append(reader->dims(), rows, derived, kMaxRows + 1);
      }));
  if (assembler.rows() == 0) return Error{ErrorCode::kCorrupt, input.path() + ": there is no row"};
  Model::Source source;
  source.path = input.path();
  source.file_bytes = input.file_bytes();
  source.format = format->name;
  source.duplicates = assembler.counts().duplicates;
  source.invalid_utf8 = assembler.counts().invalid_utf8;
  return std::move(model).finish(std::move(source));
}

// A plain safetensors file with our tensors is mapped, whatever else it could be read as.
Result<bool> is_plain_model_file(const Input& input) {
  if (!input.is_plain() || !looks_like_safetensors({input.sample().data(), input.sample().size()}))
    return false;
  GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header,
                         read_safetensors_header(input.path(), *input.file()));
  return is_model_file(header);
}

}  // namespace

Result<ModelPtr> open_model(const std::string& path, const OpenOptions& options) {
  const ScopedFloatEnvironment environment;
  GLOVE_ASSIGN_OR_RETURN(const Input input, Input::open(path));
  if (options.read.format.empty() || options.read.format == "glove-model") {
    GLOVE_ASSIGN_OR_RETURN(const bool is_model, is_plain_model_file(input));
    if (is_model) {
      GLOVE_ASSIGN_OR_RETURN(ModelPtr model, open_model_file(path, input.file(), options.threads));
      if (options.verify) GLOVE_RETURN_IF_ERROR(verify_model_file(*model, options.progress));
      return model;
    }
  }
  return read_to_heap(input, options);
}

}  // namespace glove
