#include "loader/open.h"

#include <cmath>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/float_from_chars.h"
#include "loader/format.h"
#include "loader/model_file.h"
#include "loader/row_pipeline.h"
#include "loader/safetensors.h"
#include "loader/word_list.h"
#include "model/limits.h"
#include "model/model_builder.h"
#include "model/row_block.h"

namespace glove {
namespace {

Result<ModelPtr> read_to_heap(const Input& input, const Format& format, const OpenOptions& options) {
  if (options.verify)
    return invalid_argument(
        input.path(), format.name == "glove-model"
                          ? ": a compressed model file cannot be verified; decompress it first"
                          : ": only a model file can be verified, and this is " + std::string(format.name) +
                                "; make a model file of it with glove-convert first");
  GLOVE_ASSIGN_OR_RETURN(const std::unique_ptr<RowReader> reader, format.open(input, options.read));
  if (reader->metric() != RowMetric::kCosine)
    return invalid_argument(input.path(), ": a compressed model file that is compared by '",
                            metric_name(reader->metric()), "' cannot be opened; decompress it first");
  PipelineOptions pipeline;
  pipeline.threads = options.threads;
  pipeline.progress = options.progress;
  pipeline.interrupted = options.interrupted;
  pipeline.file_bytes = input.bytes_to_read();
  LeftOut left_out;
  pipeline.left_out = &left_out;
  GLOVE_RETURN_IF_ERROR(prepare_pipeline(input.path(), *reader, options.read, options.top, pipeline));
  ModelBuilder builder(input.path());
  ModelAssembler& assembler = builder.assembler();
  if (reader->tokenizer() != nullptr) assembler.keep_every_row();
  assembler.set_invalid_utf8(options.read.invalid_utf8);
  const auto append = [&](const RowBlock& rows, const DerivedRows& derived) {
    return assembler.append(reader->dims(), rows, derived, options.top > 0 ? options.top : kMaxRows + 1);
  };
  GLOVE_RETURN_IF_ERROR(run_row_pipeline(input.path(), *reader, pipeline, append));
  if (builder.rows() == 0) return corrupt_file(input.path(), "there is no row");
  Model::Source source;
  source.path = input.path();
  source.file_bytes = input.file_bytes();
  source.format = format.name;
  source.tokenizer = reader->tokenizer();
  source.subwords = reader->subwords();
  if (source.subwords != nullptr) source.maps = {source.subwords->map};
  source.notes =
      describe_rows(reader->warning(), left_out, assembler.counts(), options.read.invalid_utf8, "; ");
  return builder.finish(std::move(source), options.threads, options.interrupted);
}

// A file to be verified may be damaged and no longer look like a model file. If it still has the signs of
// one, it is read as a model file, so that the reader reports what is wrong with it.
Result<const Format*> find_format_to_verify(const Input& input, const ReadOptions& options) {
  ReadOptions model = options;
  model.format = "glove-model";
  if (!options.format.empty()) return find_format(input, options);
  if (input.is_plain() && looks_like_safetensors(input.sample())) {
    auto found = find_format(input, options);
    if (!found.ok() && found.error().code == ErrorCode::kInterrupted) return found;
    if (found.ok() && found.value()->name == "static-model")
      return invalid_argument(input.path(),
                              ": only a model file can be verified, and this is a static embedding model; "
                              "convert it with glove-convert, and verify the result");
    return find_format(input, model);
  }
  auto found = find_format(input, options);
  if (found.ok() || found.error().code != ErrorCode::kCorrupt) return found;
  if (input.is_plain() && may_have_been_safetensors(input.sample())) return find_format(input, model);
  return invalid_argument(
      input.path(),
      ": only a model file can be verified, and this is of no known format; name a file that "
      "glove-convert has written");
}

Result<ModelPtr> open_without_counts(const std::string& path, const OpenOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const Input input, Input::open(path, options.progress, options.interrupted));
  GLOVE_ASSIGN_OR_RETURN(const Format* const format, options.verify
                                                         ? find_format_to_verify(input, options.read)
                                                         : find_format(input, options.read));
  if ((options.top > 0 || !options.read.encoding.empty() ||
       options.read.invalid_utf8 != InvalidUtf8::kReplace) &&
      input.is_plain() && (format->name == "glove-model" || format->name == "glove-shards"))
    return invalid_argument(
        path,
        ": a model file is opened as a whole; omit the options top, encoding and invalid_utf8 "
        "(--top of glove-convert writes a smaller one)");
  if (format->name == "glove-shards") return open_shards(input, options);
  if (format->name != "glove-model" || !input.is_plain()) return read_to_heap(input, *format, options);
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model,
                         open_model_file(path, input.file(), options.threads, options.interrupted));
  if (options.verify)
    GLOVE_RETURN_IF_ERROR(
        verify_model_file(*model, options.read.read_tokenizer, options.progress, options.interrupted));
  return model;
}

constexpr int64_t kLinesAtOnce = 4096;

// Stores the count of a line's word, unless an earlier line has done so. False: the line is malformed.
bool add_line(std::string_view line, const Vocabulary& vocabulary, std::vector<double>& counts,
              std::vector<bool>& counted) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  if (line.empty()) return true;
  const size_t separator = line.find_last_of(" \t");
  if (separator == std::string_view::npos || separator == 0) return false;
  const double count = number_from<double>(line.substr(separator + 1)).value_or(-1);
  if (!std::isfinite(count) || count < 0) return false;
  const auto id = vocabulary.find_exact(line.substr(0, separator));
  if (!id || counted[static_cast<size_t>(*id)]) return true;
  counts[static_cast<size_t>(*id)] = count;
  counted[static_cast<size_t>(*id)] = true;
  return true;
}

// Returns the count of each word of the vocabulary; 0 for a word that the file lacks. Each line of the file
// is a word, a space or a tab, and a number of at least 0, as GloVe's vocab_count writes it; words that the
// vocabulary lacks are ignored, and if a word occurs twice its first number is used. The file may be
// compressed. It is an error if a line is malformed, or if no word of the vocabulary has a
// count.
Result<std::vector<double>> read_word_counts(const std::string& path, const Vocabulary& vocabulary,
                                             const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const std::unique_ptr<WordSource> lines,
                         open_word_list(path, interrupted, ListContent::kLines));
  std::vector<double> counts(static_cast<size_t>(vocabulary.size()));
  std::vector<bool> counted(counts.size());
  int64_t line = 0;
  for (WordBlock block;; block.clear()) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    GLOVE_ASSIGN_OR_RETURN(const int64_t got, lines->next(kLinesAtOnce, block));
    if (got == 0) break;
    for (size_t i = 0; i < block.ends.size(); ++i, ++line)
      if (!add_line(block.word(i), vocabulary, counts, counted))
        return corrupt_file(path, "line ", line + 1, ": '", escaped(block.word(i)),
                            "' must be a word, a space and a number of at least 0");
  }
  double total = 0;
  for (const double count : counts) total += count;
  if (!(total > 0) || !std::isfinite(total))
    return corrupt_file(path,
                        "the counts of the model's words must have a finite sum above 0, "
                        "but it is ",
                        total);
  return counts;
}

}  // namespace

Result<ModelPtr> open_model(const std::string& path, const OpenOptions& options) {
  const ScopedFloatEnvironment environment;
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, open_without_counts(path, options));
  if (options.counts_path.empty()) return model;
  GLOVE_ASSIGN_OR_RETURN(std::vector<double> counts,
                         read_word_counts(options.counts_path, model->vocabulary(), options.interrupted));
  return with_counts(model, std::move(counts));
}

}  // namespace glove
