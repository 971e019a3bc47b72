#include "convert/convert.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/concat.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "base/float_environment.h"
#include "convert/lists.h"
#include "lists/recall_table.h"
#include "loader/format.h"
#include "loader/model_file.h"
#include "loader/model_writer.h"
#include "loader/row_pipeline.h"
#include "loader/save_model.h"
#include "loader/word_list.h"
#include "model/limits.h"
#include "model/shifted_codes.h"
#include "search/backend.h"
#include "search/recall_calibration.h"
#include "text/common_components.h"

namespace glove {

namespace {

// Returns how many rows the input promises, if the file is large enough for them. (The last row may lack its
// newline.)
int64_t expected_rows(const Input& input, const RowReader& reader, const ConvertOptions& options) {
  const int64_t rows = reader.promised_rows();
  if (!input.is_plain() || !options.subset_path.empty() ||
      rows > (input.file_bytes() + 1) / reader.least_row_bytes())
    return -1;
  return options.top > 0 ? std::min(rows, options.top) : rows;
}

// Returns false if there is no such file.
bool is_same_file(const std::string& one, const std::string& other) {
  const auto first = system_calls::status_of(one);
  const auto second = system_calls::status_of(other);
  return first && second && first->device == second->device && first->number == second->number;
}

// Writing must not replace what is read.
Status check_output(const Input& input, const std::string& output_path, const ConvertOptions& options) {
  if (options.shards > 0) return {};  // their names differ from `output_path`
  const std::string folder = directory_of(input.file()->path());
  for (const std::string& source : {input.file()->path(), folder + "/tokenizer.json", folder + "/config.json",
                                    options.read.words_path, options.subset_path}) {
    if (is_same_file(source, output_path))
      return invalid_argument("cannot write '", output_path, "': it is the file '", source,
                              "', which is read; name another output");
  }
  return {};
}

// Derives the common components of the rows that were written, and adds them to the file.
Status add_components(ModelWriter& writer, const ConvertOptions& options) {
  Buffer<float> vectors;
  WrittenRows rows;
  rows.words = writer.assembler().rows();
  rows.dims = writer.assembler().dims();
  rows.read = [&](int64_t first, int64_t count) -> Result<std::span<const float>> {
    GLOVE_RETURN_IF_ERROR(writer.read_vectors(first, count, vectors));
    return std::span<const float>(vectors);
  };
  GLOVE_ASSIGN_OR_RETURN(writer.description().components,
                         derive_stored_components(*options.analysis, rows, options.interrupted));
  return {};
}

// Opens what a complete writer has written, in a file without a name.
Result<ModelPtr> open_written(ModelWriter& writer, const std::string& path, const ConvertOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(ReplacementFile output, writer.finish(options.threads, options.interrupted));
  const auto whole = std::make_shared<const ReplacementFile>(std::move(output));
  return open_model_file(path, std::shared_ptr<const File>(whole, &whole->file()), options.threads,
                         options.interrupted);
}

// Returns the model with a calibration for approximate searches, if it has lists.
Result<ModelPtr> calibrated(const ModelPtr& model, const ConvertOptions& options) {
  if (options.backend == nullptr || model->parts().front().planes == nullptr) return model;
  GLOVE_ASSIGN_OR_RETURN(const auto searcher, options.backend->open(model, options.interrupted));
  GLOVE_ASSIGN_OR_RETURN(RecallArrays arrays,
                         calibrate_recall(model, *searcher, options.threads, options.interrupted));
  return with_recall(model, std::move(arrays));
}

// Returns the model as what its file is to be made of: of the type, compared by the metric, and without codes
// unless that is cosine; or in lists.
Result<ModelPtr> complete(ModelPtr model, RowMetric metric, const ConvertOptions& options) {
  Model::Source source = model->source();
  source.type = options.type;
  ModelPart rows = model->parts().front();
  if (metric != RowMetric::kCosine) {
    source.coding = coding_of(metric, rows.vectors, model->dims());
    rows.levels.clear();
  }
  model = std::make_shared<const Model>(std::vector{rows}, model->vocabulary(), std::move(source), model);
  if (metric != RowMetric::kCosine || options.lists == 0 || options.shards > 0) return model;
  GLOVE_ASSIGN_OR_RETURN(
      model, with_lists(*options.analysis, model, options.lists, options.threads, options.interrupted));
  return calibrated(model, options);
}

// Whether the first file is the output, not one of float32 that the output is made of.
bool is_written_once(RowMetric metric, const ConvertOptions& options) {
  return options.shards == 0 && options.lists == 0 && metric == RowMetric::kCosine;
}

// Writes the output of a conversion, and sets its path and size in the report.
Status write_output(ModelWriter& writer, const std::string& path, RowMetric metric,
                    const ConvertOptions& options, ConvertReport& report) {
  report.path = path;
  if (is_written_once(metric, options)) {
    GLOVE_RETURN_IF_ERROR(writer.commit(options.threads, options.interrupted));
    report.bytes = writer.bytes_written();
    return {};
  }
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, open_written(writer, path, options));
  GLOVE_ASSIGN_OR_RETURN(model, complete(model, metric, options));
  if (options.shards > 0) {
    GLOVE_ASSIGN_OR_RETURN(const ShardFiles files,
                           save_shards(*model, path, options.shards, options.threads, options.interrupted));
    report.path = files.index_path;
    report.bytes = files.bytes;
    return {};
  }
  GLOVE_RETURN_IF_ERROR(save_model(*model, path, options.threads, options.interrupted));
  GLOVE_ASSIGN_OR_RETURN(const File file, File::open_for_reading(path));
  GLOVE_ASSIGN_OR_RETURN(report.bytes, file.size());
  return {};
}

// Returns by what the rows of the output are compared.
Result<RowMetric> metric_of_output(const RowReader& reader, const ConvertOptions& options) {
  const RowMetric metric = options.metric.value_or(reader.metric());
  if (metric == RowMetric::kCosine) return metric;
  if (options.lists != 0)
    return invalid_argument("lists are of rows that are compared by 'cosine', not by '", metric_name(metric),
                            "'; leave lists out");
  if (reader.tokenizer() != nullptr)
    return invalid_argument("tokens are compared by 'cosine', not by '", metric_name(metric),
                            "'; leave metric out");
  return metric;
}

PipelineOptions pipeline_of(const ConvertOptions& options) {
  PipelineOptions pipeline;
  pipeline.threads = options.threads;
  pipeline.transform.lower = options.lower;
  pipeline.transform.normalize = options.normalize;
  pipeline.transform.type = options.type;
  pipeline.progress = options.progress;
  pipeline.interrupted = options.interrupted;
  return pipeline;
}

void note_missing(int64_t words, ConvertReport& report) {
  report.subset_missing = words;
  if (words > 0)
    report.notes +=
        concat(report.notes.empty() ? "" : "\n", counted(words, "words"), " of the list not in the input");
}

}  // namespace

Result<ConvertReport> convert(const std::string& input_path, const std::string& output_path,
                              const ConvertOptions& options) {
  const ScopedFloatEnvironment environment;
  GLOVE_ASSIGN_OR_RETURN(const Input input, Input::open(input_path, options.progress, options.interrupted));
  GLOVE_RETURN_IF_ERROR(check_output(input, output_path, options));
  GLOVE_ASSIGN_OR_RETURN(const Format* const format, find_format(input, options.read));
  GLOVE_ASSIGN_OR_RETURN(const std::unique_ptr<RowReader> reader, format->open(input, options.read));
  WordSet subset;
  if (!options.subset_path.empty()) {
    GLOVE_ASSIGN_OR_RETURN(subset, read_word_set(options.subset_path, input.interrupt_check()));
  }
  PipelineOptions pipeline = pipeline_of(options);
  pipeline.transform.subset = options.subset_path.empty() ? nullptr : &subset;
  pipeline.file_bytes = input.bytes_to_read();
  LeftOut left_out;
  pipeline.left_out = &left_out;
  GLOVE_RETURN_IF_ERROR(prepare_pipeline(input.path(), *reader, options.read, options.top, pipeline));
  GLOVE_ASSIGN_OR_RETURN(const RowMetric metric, metric_of_output(*reader, options));
  GLOVE_ASSIGN_OR_RETURN(
      const std::unique_ptr<ModelWriter> writer,
      ModelWriter::create(output_path, expected_rows(input, *reader, options), reader->dims(),
                          is_written_once(metric, options) ? options.type : ElementType::kFloat32));

  const int64_t max_rows = options.top > 0 ? options.top : kMaxRows + 1;
  ModelAssembler& assembler = writer->assembler();
  writer->description().key_type = reader->key_type();
  if ((options.lists != 0 && options.shards == 0) || metric != RowMetric::kCosine) {  // it is written again
    assembler.omit_level4();
    pipeline.transform.omit_level4 = true;
  }
  writer->description().subwords = reader->subwords();
  assembler.set_invalid_utf8(options.read.invalid_utf8);
  if (reader->tokenizer() != nullptr) {
    writer->description().tokenizer = reader->tokenizer();
    assembler.keep_every_row();
  }
  GLOVE_RETURN_IF_ERROR(run_row_pipeline(input.path(), *reader, pipeline,
                                         [&](const RowBlock& rows, const DerivedRows& derived) {
                                           return assembler.append(reader->dims(), rows, derived, max_rows);
                                         }));
  if (assembler.rows() == 0)
    return corrupt_file(input.path(), "there is no row",
                        options.subset_path.empty() ? "" : " with a word of '" + options.subset_path + "'");
  if (options.analysis != nullptr && reader->tokenizer() == nullptr)
    GLOVE_RETURN_IF_ERROR(add_components(*writer, options));
  ConvertReport report;
  GLOVE_RETURN_IF_ERROR(write_output(*writer, output_path, metric, options, report));
  report.format = format->name;
  report.rows = assembler.rows();
  report.dims = assembler.dims();
  report.counts = assembler.counts();
  if (metric != RowMetric::kCosine) report.counts.zero_rows = 0;  // found like other rows: nothing to note
  report.notes = describe_rows(reader->warning(), left_out, report.counts, options.read.invalid_utf8, "\n");
  if (!options.subset_path.empty() && options.top == 0) note_missing(subset.size() - report.rows, report);
  return report;
}

}  // namespace glove
