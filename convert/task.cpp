#include "convert/task.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>

#include "base/concat.h"
#include "base/status.h"
#include "convert/convert.h"
#include "cpu/cpu_analysis.h"
#include "cpu/cpu_backend.h"
#include "glove_version.h"
#include "loader/format.h"
#include "loader/open.h"
#include "text/static_encoder.h"

namespace glove {
namespace {

using Text = ConvertTask::Text;
using Work = ConvertTask::Work;

void tell(const ConvertTask& task, Text which, std::string_view text) {
  task.text(task.context, which, text.data(), text.size());
}

ProgressCallback progress_of(const ConvertTask& task) {
  return [&task](int64_t done, int64_t total) { task.progress(task.context, done, total); };
}

ReadOptions read_options(const ConvertTask& task) {
  ReadOptions read;
  read.format = task.format;
  read.words_path = task.vocabulary;
  read.tensor = task.tensor;
  read.skip_invalid = task.skip_invalid;
  read.encoding = task.encoding;
  read.invalid_utf8 = task.invalid_utf8;
  read.read_tokenizer = read_tokenizer;
  return read;
}

Status open(const ConvertTask& task) {
  OpenOptions options;
  options.verify = task.work == Work::kVerify;
  options.progress = progress_of(task);
  options.interrupted = task.interrupted;
  options.threads = task.threads;
  options.read = read_options(task);
  GLOVE_ASSIGN_OR_RETURN(const ModelPtr model, open_model(task.input, options));
  TaskNumbers& numbers = *task.numbers;
  numbers.rows = model->words();
  numbers.dims = model->dims();
  numbers.bytes = model->source().file_bytes;
  if (const SubwordsPtr& subwords = model->source().subwords; subwords != nullptr)
    numbers.ngram_rows = subwords->buckets;
  for (const ModelPart& part : model->parts())
    numbers.zero_rows += std::count(part.norms_squared.begin(), part.norms_squared.end(), 0.0);
  tell(task, Text::kFormat, model->source().format);
  tell(task, Text::kPath, task.input);
  tell(task, Text::kMetric, metric_name(model->metric()));
  tell(task, Text::kType, vector_type_name(model->source().type));
  tell(task, Text::kFirstWord, model->vocabulary().word(0));
  tell(task, Text::kLastWord, model->vocabulary().word(model->words() - 1));
  return {};
}

Status convert(const ConvertTask& task) {
  CpuBackendOptions backend;
  backend.threads = task.threads;
  GLOVE_ASSIGN_OR_RETURN(const auto analysis, make_cpu_analysis(backend));
  const auto searches = make_cpu_backend(backend);
  ConvertOptions options;
  options.read = read_options(task);
  options.threads = task.threads;
  options.top = task.top;
  options.subset_path = task.only_words;
  options.lower = task.lower;
  options.normalize = task.vectors.normalize;
  options.metric = metric_named(task.vectors.metric);
  options.type = vector_type_named(task.vectors.type).value_or(ElementType::kFloat32);
  options.shards = task.shards;
  options.lists = task.lists;
  options.backend = searches.get();
  options.analysis = analysis.get();
  options.progress = progress_of(task);
  options.interrupted = task.interrupted;
  GLOVE_ASSIGN_OR_RETURN(const ConvertReport report, convert(task.input, task.output, options));
  *task.numbers = {report.rows, report.dims, report.bytes, report.counts.zero_rows};
  tell(task, Text::kFormat, report.format);
  tell(task, Text::kPath, report.path);
  tell(task, Text::kNotes, report.notes);
  return {};
}

Status list_formats(const ConvertTask& task) {
  for (const Format& format : formats()) {
    tell(task, Text::kFormat, format.name);
    tell(task, Text::kDescription, format.description);
  }
  return {};
}

Status run(const ConvertTask& task) {
  constexpr std::string_view kVersion = GLOVE_VERSION " (" GLOVE_GIT_DESCRIBE ")";
  if (task.version != kVersion)
    return {ErrorCode::kUnavailable,
            concat("version ", task.version, " was started beside a library of version ", kVersion,
                   "; install both from one package")};
  if (task.work == Work::kConvert) return convert(task);
  if (task.work == Work::kVerify || task.work == Work::kInfo) return open(task);
  if (task.work == Work::kListFormats) return list_formats(task);
  return {ErrorCode::kInvalidArgument, "there is no such work"};
}

}  // namespace

bool run_task(const ConvertTask& task) {
  try {
    const Status done = run(task);
    if (!done.ok()) tell(task, Text::kError, done.error().message);
    return done.ok();
  } catch (const std::bad_alloc&) {
    tell(task, Text::kError, "out of memory");
  } catch (const std::exception& error) {
    tell(task, Text::kError, error.what());
  }
  return false;
}

}  // namespace glove
