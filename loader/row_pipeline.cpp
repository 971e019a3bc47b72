#include "loader/row_pipeline.h"
#include "base/cores.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/blocked_signals.h"
#include "base/float_environment.h"
#include "base/parallel.h"

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
      : source_(source), reader_(reader), options_(options) {
    const int threads = options.threads > 0 ? options.threads : usable_cores();
    max_in_flight_ = static_cast<size_t>(2 * threads + 1);
    workers_.reserve(static_cast<size_t>(threads));
    const BlockedSignals blocked;
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::exception&) {
      // Fewer threads than asked for; the calling thread does what they would have done.
    }
  }

  ~Pipeline() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      waiting_.clear();
    }
    work_changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  Status run(const RowConsumer& consume) {
    Status fetch_status;
    bool more = true;
    while (true) {
      while (more && in_flight_.size() < max_in_flight_) {
        auto fetched = fetch();
        more = fetched.ok() && fetched.value();
        fetch_status = fetched.status();
        GLOVE_RETURN_IF_ERROR(check_progress());
      }
      // A block that was fetched before the error may hold an earlier one.
      if (in_flight_.empty()) return fetch_status;
      Job& job = finish_first();
      if (job.exception) std::rethrow_exception(job.exception);
      GLOVE_ASSIGN_OR_RETURN(const bool wants_more, consume(job.rows, job.derived));
      if (!job.status.ok()) return job.status;
      if (!wants_more) return {};
      recycled_.push_back(std::move(in_flight_.front()));
      in_flight_.pop_front();
      GLOVE_RETURN_IF_ERROR(check_progress());
    }
  }

 private:
  Status check_progress() const {
    if (!options_.progress || options_.progress(reader_.file_position(), options_.file_bytes)) return {};
    return {ErrorCode::kInterrupted, source_ + ": reading was interrupted"};
  }

  // Fetches one block and queues it; false at the end of the file.
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
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(job.get());
    }
    work_changed_.notify_one();
    in_flight_.push_back(std::move(job));
    return true;
  }

  // Waits for the oldest block, decoding others meanwhile.
  Job& finish_first() {
    Job& first = *in_flight_.front();
    std::unique_lock lock(mutex_);
    while (!first.done) {
      if (waiting_.empty()) {
        job_done_.wait(lock);
      } else {
        process_next(lock);
      }
    }
    return first;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      process_next(lock);
    }
  }

  void process_next(std::unique_lock<std::mutex>& lock) {
    Job& job = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    process(job);
    lock.lock();
    job.done = true;
    job_done_.notify_one();
  }

  void process(Job& job) const {
    const ScopedFloatEnvironment environment;
    try {
      job.rows.words.clear();
      job.rows.row_numbers.clear();
      job.status = reader_.decode(job.raw, job.rows);
      Status derived =
          transform_and_derive(source_, options_.transform, reader_.dims(), job.rows, job.derived);
      if (!derived.ok()) job.status = std::move(derived);  // an earlier row than decode's error
    } catch (...) {
      job.exception = std::current_exception();
    }
  }

  const std::string& source_;
  RowReader& reader_;
  const PipelineOptions& options_;
  size_t max_in_flight_;
  std::deque<std::unique_ptr<Job>> in_flight_;  // in file order
  std::vector<std::unique_ptr<Job>> recycled_;  // their buffers are used again

  std::mutex mutex_;
  std::condition_variable work_changed_;
  std::condition_variable job_done_;  // only the calling thread waits for it
  std::deque<Job*> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace

Status run_row_pipeline(const std::string& source, RowReader& reader, const PipelineOptions& options,
                        const RowConsumer& consume) {
  return Pipeline(source, reader, options).run(consume);
}

}  // namespace glove
