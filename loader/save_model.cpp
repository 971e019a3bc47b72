#include "loader/save_model.h"

#include <algorithm>
#include <memory>
#include <span>

#include "base/float_environment.h"
#include "loader/model_writer.h"

namespace glove {
namespace {

constexpr int64_t kBlockBytes = int64_t{16} << 20;  // of vectors between two checks for an interrupt

Status append_rows(const Model& model, const ModelPart& part, int64_t first, int64_t last,
                   ModelAssembler& rows) {
  for (int64_t row = first; row < last; ++row) {
    const std::string_view word = model.vocabulary().word(part.first_row + row);
    GLOVE_ASSIGN_OR_RETURN(const bool kept,
                           rows.append_row(word, {part.vector(row), static_cast<size_t>(part.dims)}));
    if (!kept) {
      GLOVE_RETURN_IF_ERROR(model.health());  // a file that was cut has many empty words
      return {ErrorCode::kCorrupt, model.path() + ": row " + std::to_string(part.first_row + row + 1) +
                                       " has the word of an earlier row; the file is damaged"};
    }
  }
  return {};
}

}  // namespace

Status save_model(const Model& model, const std::string& path, int threads,
                  const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  const int64_t dims = model.dims();
  GLOVE_ASSIGN_OR_RETURN(const std::unique_ptr<ModelWriter> writer,
                         ModelWriter::create(path, model.words(), dims));
  ModelAssembler& rows = writer->assembler();
  const int64_t step = std::max<int64_t>(1, kBlockBytes / (dims * static_cast<int64_t>(sizeof(float))));
  for (const ModelPart& part : model.parts())
    for (int64_t first = 0; first < part.rows; first += step) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      const int64_t last = std::min(part.rows, first + step);
      GLOVE_RETURN_IF_ERROR(append_rows(model, part, first, last, rows));
      const auto vectors =
          part.vectors.subspan(static_cast<size_t>(first * dims), static_cast<size_t>((last - first) * dims));
      GLOVE_RETURN_IF_ERROR(rows.derive(model.path(), vectors, threads, interrupted));
    }
  GLOVE_RETURN_IF_ERROR(model.health());  // of the rows that were read
  writer->set_key_type(model.vocabulary().key_type());
  writer->set_derivation(model.source().derivation);
  writer->set_components(model.source().components);
  writer->set_counts(model.source().counts);
  return writer->commit(threads, interrupted);
}

}  // namespace glove
