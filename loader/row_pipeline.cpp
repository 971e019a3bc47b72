#include "loader/row_pipeline.h"

#include <deque>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/mutex.h"
#include "base/require.h"
#include "base/system_calls.h"
#include "base/thread_pool.h"

namespace glove {
namespace {

struct Job {
  RawBlock raw;
  RowBlock rows;
  DerivedRows derived;
  Status status;
  std::exception_ptr exception;
  bool done = false;  // guarded by Pipeline::mutex_
};

class Pipeline {
 public:
  Pipeline(const std::string& source, RowReader& reader, const PipelineOptions& options)
      : source_(source),
        reader_(reader),
        options_(options),
        max_in_flight_(static_cast<size_t>(2 * thread_count(options.threads) + 1)),
        poll_(options.interrupted),
        helpers_(thread_count(options.threads) - 1, [this] { help(); }) {}

  ~Pipeline() {
    const Lock lock(mutex_);
    waiting_.clear();
  }

  Status run(const RowConsumer& consume) {
    Status fetch_status;
    bool more = true;
    while (true) {
      while (more && in_flight_.size() < max_in_flight_) {
        GLOVE_RETURN_IF_ERROR(poll_.check());
        auto fetched = fetch();
        more = fetched.ok() && fetched.value();
        fetch_status = fetched.status();
      }
      // A block that was fetched before the error may contain an earlier error.
      if (in_flight_.empty()) return fetch_status;
      GLOVE_RETURN_IF_ERROR(finish_first());
      Job& job = *in_flight_.front();
      if (job.exception) std::rethrow_exception(job.exception);
      if (options_.left_out != nullptr) {
        options_.left_out->place = job.rows.place;
        for (const LeftOut::Kind& kind : job.rows.left_out.kinds)
          options_.left_out->add(kind.fault, kind.first, kind.rows);
      }
      GLOVE_ASSIGN_OR_RETURN(const bool wants_more, consume(job.rows, job.derived));
      if (!wants_more) return {};  // the rows that were consumed come before an error
      if (!job.status.ok()) return job.status;
      recycled_.push_back(std::move(in_flight_.front()));
      in_flight_.pop_front();
      if (options_.progress) options_.progress(reader_.file_position(), options_.file_bytes);
    }
  }

 private:
  // Fetches one block and queues it. Returns false at the end of the file.
  Result<bool> fetch() {
    std::unique_ptr<Job> job;
    if (recycled_.empty()) {
      job = std::make_unique<Job>();
    } else {
      job = std::move(recycled_.back());
      recycled_.pop_back();
      job->done = false;
    }
    GLOVE_ASSIGN_OR_RETURN(const bool got, reader_.fetch(job->raw));
    if (!got) return false;
    in_flight_.push_back(std::move(job));
    {
      const Lock lock(mutex_);
      waiting_.push_back(in_flight_.back().get());
    }
    helpers_.call(1);
    return true;
  }

  // Waits for the oldest block, and decodes others meanwhile.
  Status finish_first() {
    const Job& first = *in_flight_.front();
    while (true) {
      GLOVE_RETURN_IF_ERROR(poll_.check());
      Lock lock(mutex_);
      if (first.done) return {};
      if (waiting_.empty())
        job_done_.wait_for(mutex_, InterruptPoll::kInterval);
      else
        process_next();
    }
  }

  // The body of a helper: decodes one block, unless the calling thread has taken it.
  void help() {
    Lock lock(mutex_);
    if (!waiting_.empty()) process_next();
  }

  // Takes the longest waiting block and decodes it, for which it releases the mutex.
  void process_next() GLOVE_REQUIRES(mutex_) {
    Job& job = *waiting_.front();
    waiting_.pop_front();
    mutex_.unlock();
    process(job);
    mutex_.lock();
    job.done = true;
    job_done_.notify_one();
  }

  void process(Job& job) const {
    try {
      job.rows.words.clear();
      job.rows.row_numbers.clear();
      job.rows.left_out.kinds.clear();
      job.status = reader_.decode(job.raw, job.rows);
      Status derived =
          transform_and_derive(source_, options_.transform, reader_.dims(), job.rows, job.derived);
      // This error concerns an earlier row than decode's error.
      if (!derived.ok()) job.status = std::move(derived);
    } catch (...) {
      job.exception = std::current_exception();
    }
  }

  const std::string& source_;
  RowReader& reader_;
  const PipelineOptions& options_;
  const size_t max_in_flight_;
  std::deque<std::unique_ptr<Job>> in_flight_;  // in file order
  std::vector<std::unique_ptr<Job>> recycled_;  // kept so that their buffers are reused

  InterruptPoll poll_;

  Mutex mutex_;
  ConditionVariable job_done_;  // only the calling thread waits on it
  std::deque<Job*> waiting_ GLOVE_GUARDED_BY(mutex_);
  ThreadPool::Helpers helpers_;  // destroyed first, because the helpers use the other members
};

}  // namespace

Status prepare_pipeline(const std::string& source, const RowReader& reader, const ReadOptions& read,
                        int64_t top, PipelineOptions& options) {
  RowTransform& transform = options.transform;
  transform.empty_words = reader.tokenizer() != nullptr;
  transform.skip_invalid = read.skip_invalid;
  transform.encoding = read.encoding;
  // A tokenizer's ids are the rows, and the lengths of vectors are weights of tokens.
  if (transform.empty_words && (top > 0 || transform.lower || transform.subset != nullptr ||
                                transform.normalize || read.skip_invalid || !read.encoding.empty()))
    return invalid_argument(
        source,
        ": a model with a tokenizer is read as a whole, because its tokens are numbered; omit "
        "the options top, invalid, encoding, only-words, lower and normalize");
  if (reader.subwords() != nullptr && (transform.lower || transform.normalize || !read.encoding.empty()))
    return invalid_argument(
        source, ": n-grams are of the words and vectors as they are; omit encoding, lower and normalize");
  std::string nothing;
  std::vector<size_t> ends;
  return read.encoding.empty() ? Status() : system_calls::recode(read.encoding, {}, nothing, ends);
}

std::string describe_rows(const std::string& warning, const LeftOut& left_out, const RowCounts& counts,
                          InvalidUtf8 invalid_utf8, const char* separator) {
  std::string text = warning;
  const auto say = [&](int64_t count, const char* noun, const std::string& what) {
    if (count > 0) text += concat(text.empty() ? "" : separator, counted(count, noun), " ", what);
  };
  for (const LeftOut::Kind& kind : left_out.kinds)
    say(kind.rows, "rows",
        concat("left out that ", kind.fault, "; the first is ", left_out.place, " ", kind.first));
  say(counts.duplicates, "rows", "left out for a word that was there already");
  const char* const fates[] = {"kept unchanged", "with U+FFFD for each invalid byte", "left out"};
  say(counts.invalid_utf8, "words", concat("not valid in UTF-8, ", fates[static_cast<size_t>(invalid_utf8)]));
  say(counts.zero_rows, "vectors", "of zeros, which no search finds");
  return text;
}

Status run_row_pipeline(const std::string& source, RowReader& reader, const PipelineOptions& options,
                        const RowConsumer& consume) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  return Pipeline(source, reader, options).run(consume);
}

}  // namespace glove
