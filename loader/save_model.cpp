#include "loader/save_model.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "base/float_environment.h"
#include "base/replacement_file.h"
#include "base/utf8.h"
#include "loader/model_file.h"
#include "loader/model_format.h"
#include "loader/model_writer.h"
#include "loader/safetensors.h"
#include "loader/shard.h"
#include "model/quantize.h"

namespace glove {
namespace {

constexpr std::string_view kModelExtension = ".safetensors";
constexpr int64_t kBlockBytes = int64_t{16} << 20;  // of vectors between two checks for an interrupt

// How to save.
struct Work {
  int threads;
  const InterruptCheck& interrupted;
};

Status append_rows(const Model& model, const ModelPart& part, int64_t first, int64_t last,
                   ModelAssembler& rows) {
  for (int64_t row = first; row < last; ++row) {
    const std::string_view word = model.vocabulary().word(part.first_row + row);
    GLOVE_ASSIGN_OR_RETURN(const bool kept,
                           rows.append_row(word, {part.vector(row), static_cast<size_t>(part.dims)}));
    if (!kept) {
      GLOVE_RETURN_IF_ERROR(model.health());  // a file that was cut has many empty words
      return {ErrorCode::kCorrupt, concat(model.path(), ": row ", part.first_row + row + 1,
                                          " has the word of an earlier row; the file is damaged")};
    }
  }
  return {};
}

// Appends rows [begin, end) of a part.
Status append_part(const Model& model, const ModelPart& part, int64_t begin, int64_t end,
                   ModelAssembler& rows, const Work& work) {
  const int64_t dims = part.dims;
  const int64_t step = std::max<int64_t>(1, kBlockBytes / (dims * static_cast<int64_t>(sizeof(float))));
  for (int64_t first = begin; first < end; first += step) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(work.interrupted));
    const int64_t last = std::min(end, first + step);
    GLOVE_RETURN_IF_ERROR(append_rows(model, part, first, last, rows));
    const auto vectors =
        part.vectors.subspan(static_cast<size_t>(first * dims), static_cast<size_t>((last - first) * dims));
    GLOVE_RETURN_IF_ERROR(rows.derive(model.path(), vectors, work.threads, work.interrupted));
  }
  return {};
}

// Creates a file for rows [begin, end) of a model and appends them.
Result<std::unique_ptr<ModelWriter>> write_rows(const Model& model, int64_t begin, int64_t end,
                                                const std::string& path, const Work& work) {
  GLOVE_ASSIGN_OR_RETURN(std::unique_ptr<ModelWriter> writer,
                         ModelWriter::create(path, end - begin, model.dims(), model.source().type));
  ModelDescription& description = writer->description();
  description.tokenizer = model.source().tokenizer;
  if (model.source().tokenizer != nullptr) writer->assembler().keep_every_row();
  if (const ModelPart& part = model.parts().front(); part.planes != nullptr && part.rows == end - begin)
    writer->set_planes(*part.planes);
  writer->set_coding(model.source().coding);
  for (const ModelPart& part : model.parts()) {
    const int64_t first = std::max(begin, part.first_row);
    const int64_t last = std::min(end, part.first_row + part.rows);
    if (first < last)
      GLOVE_RETURN_IF_ERROR(
          append_part(model, part, first - part.first_row, last - part.first_row, writer->assembler(), work));
  }
  GLOVE_RETURN_IF_ERROR(model.health());  // of the rows that were read
  description.key_type = model.vocabulary().key_type();
  description.derivation = model.source().derivation;
  if (begin == 0) description.components = model.source().components;  // of the whole model
  description.subwords = model.source().subwords;
  return writer;
}

// Returns the checksum of all vectors.
Result<uint32_t> checksum_of_vectors(const Model& model, const InterruptCheck& interrupted) {
  uint32_t crc = 0;
  for (const ModelPart& part : model.parts()) {
    const auto bytes = bytes_of(part.vectors);
    for (size_t done = 0; done < bytes.size(); done += kBlockBytes) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      crc = crc32_continue(crc, bytes.subspan(done, std::min<size_t>(kBlockBytes, bytes.size() - done)));
    }
  }
  return crc;
}

// Returns an error if a file at `path` must stay. What is no regular file is left to ReplacementFile.
Status check_replaced(const std::string& path, Replaces replaces) {
  if (replaces == Replaces::kAnyFile) return {};
  const auto there = system_calls::status_of(path);
  if (!there || there->kind != system_calls::FileStatus::Kind::kRegular) return {};
  GLOVE_ASSIGN_OR_RETURN(const File file, File::open_for_reading(path));
  const Result<SafetensorsHeader> header = read_safetensors_header(path, file);
  if (header.ok() && is_model_file(header.value())) return {};
  if (!header.ok() && header.error().code == ErrorCode::kIo) return header.error();
  return invalid_argument(
      "'", path,
      "' is not a model file, so glove_save does not replace it; choose another path, or pass the "
      "options '{\"overwrite\":true}'");
}

// Returns the name of a set of shards: it depends on the words, the vectors and the number of shards.
Result<std::string> set_name(const Model& model, int64_t shards, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const uint32_t vectors, checksum_of_vectors(model, interrupted));
  uint32_t words = 0;
  constexpr int64_t kWordsBetweenChecks = 4096;
  for (int64_t id = 0; id < model.words(); ++id) {
    if (id % kWordsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    const std::string word = std::string(model.vocabulary().word(id)) + '\n';
    words = crc32_continue(words, word);
  }
  GLOVE_RETURN_IF_ERROR(model.health());
  return concat(checksum_text(vectors), checksum_text(words), "-", shards);
}

// Moves complete files to their places. If one cannot be moved, removes those that are new.
Status commit_all(std::vector<ReplacementFile>& files, const InterruptCheck& interrupted) {
  for (ReplacementFile& file : files) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    GLOVE_RETURN_IF_ERROR(file.flush_to_disk());
  }
  GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  std::vector<std::string> added;
  for (ReplacementFile& file : files) {
    Status status = file.commit();
    if (!status.ok()) {
      for (const std::string& path : added) system_calls::remove(path);
      return status;
    }
    if (!file.replaces()) added.push_back(file.path());
  }
  return {};
}

// Returns where a shard begins: the tiles are divided evenly.
int64_t first_row_of(int64_t number, int64_t shards, int64_t rows) {
  return std::min(rows, tile_count(rows) * number / shards * kTileRows);
}

// Returns STEM-00002-of-00003.safetensors.
std::string shard_file(const std::string& stem, int64_t number, int64_t shards) {
  const auto five_digits = [](int64_t value) {
    const std::string digits = std::to_string(value);
    return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
  };
  return stem + "-" + five_digits(number) + "-of-" + five_digits(shards) + std::string(kModelExtension);
}

Status check_shards(const Model& model, const std::string& stem, int64_t shards) {
  const int64_t most = std::min(kMaxShards, tile_count(model.words()));
  if (shards < 1 || shards > most)
    return invalid_argument("'", stem, "': ", model.words(), " words make 1 to ", most,
                            " shards, because each has ", kTileRows, " words or more, but ", shards,
                            " were asked for");
  if (!is_valid_utf8(file_name_of(stem)))
    return invalid_argument("'", stem,
                            "': the names of shards must be valid UTF-8, because the index names them");
  return {};
}

}  // namespace

Status save_model(const Model& model, const std::string& path, int threads, const InterruptCheck& interrupted,
                  Replaces replaces) {
  const ScopedFloatEnvironment environment;
  GLOVE_RETURN_IF_ERROR(check_replaced(path, replaces));
  GLOVE_ASSIGN_OR_RETURN(const auto writer,
                         write_rows(model, 0, model.words(), path, {threads, interrupted}));
  writer->description().counts = model.source().counts;
  std::vector<ReplacementFile> files;
  GLOVE_ASSIGN_OR_RETURN(ReplacementFile file, writer->finish(threads, interrupted));
  files.push_back(std::move(file));
  GLOVE_RETURN_IF_ERROR(check_replaced(path, replaces));  // another program may have written there meanwhile
  return commit_all(files, interrupted);
}

Result<ShardFiles> save_shards(const Model& model, const std::string& path, int64_t shards, int threads,
                               const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  const std::string stem =
      path.ends_with(kModelExtension) ? path.substr(0, path.size() - kModelExtension.size()) : path;
  GLOVE_RETURN_IF_ERROR(check_shards(model, stem, shards));
  ShardIndex index;
  GLOVE_ASSIGN_OR_RETURN(index.set, set_name(model, shards, interrupted));
  index.rows_total = model.words();
  index.kind = format_kind(model.source().tokenizer != nullptr, model.is_shifted());
  std::vector<ReplacementFile> files;
  for (int64_t number = 0; number < shards; ++number) {
    const int64_t begin = first_row_of(number, shards, model.words());
    const std::string shard_path = shard_file(stem, number + 1, shards);
    GLOVE_ASSIGN_OR_RETURN(const auto writer,
                           write_rows(model, begin, first_row_of(number + 1, shards, model.words()),
                                      shard_path, {threads, interrupted}));
    writer->set_shard({begin, model.words(), index.set});
    GLOVE_ASSIGN_OR_RETURN(ReplacementFile file, writer->finish(threads, interrupted));
    files.push_back(std::move(file));
    index.files.push_back(file_name_of(shard_path));
    index.total_bytes += writer->bytes_written();
  }
  const std::string index_path = stem + std::string(kShardIndexExtension);
  GLOVE_ASSIGN_OR_RETURN(ReplacementFile file, ReplacementFile::create(index_path));
  GLOVE_RETURN_IF_ERROR(file.file().write_at(0, shard_index_text(index)));
  files.push_back(std::move(file));  // the last one to appear
  GLOVE_RETURN_IF_ERROR(commit_all(files, interrupted));
  return ShardFiles{index_path, index.total_bytes};
}

}  // namespace glove
