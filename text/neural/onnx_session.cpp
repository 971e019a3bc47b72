#include "text/neural/onnx_session.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/concat.h"
#include "base/system_calls.h"

namespace glove::neural {
namespace {

// The places of functions in OrtApi (onnxruntime_c_api.h), to which newer versions only append.
enum ApiSlot : size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetIntraOpNumThreads = 24,
  kSessionGetInputCount = 30,
  kSessionGetOutputCount = 31,
  kSessionGetInputName = 36,
  kSessionGetOutputName = 37,
  kCreateRunOptions = 39,
  kRunOptionsSetTerminate = 46,
  kCreateTensorWithData = 49,
  kGetTensorMutableData = 51,
  kGetTensorElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetTensorTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
  kAllocatorFree = 76,
  kGetAllocator = 78,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseRunOptions = 97,
  kReleaseTensorInfo = 99,
  kReleaseSessionOptions = 100,
  kAppendCudaProvider = 204,
  kCreateCudaOptions = 205,
  kUpdateCudaOptions = 206,
  kReleaseCudaOptions = 208,
  kSetLoadCancellation = 293,
};

// The version of the API that has these functions.
constexpr uint32_t kApiVersion = 22;
constexpr int kFatal = 4;  // the level of logging: the library must not print
constexpr int kFloat32 = 1, kInt64 = 7;
constexpr size_t kMostShown = 400;  // bytes of a message

// What OrtGetApiBase() returns.
struct ApiBase {
  const void* const* (*get_api)(uint32_t version);
  const char* (*version)();
};

constexpr std::array<const char*, 3> kInputs = {"input_ids", "attention_mask", "token_type_ids"};
constexpr std::string_view kSentenceEmbedding = "sentence_embedding";

}  // namespace

// The functions of the library. All objects of the library are void*, and statuses that are not null are
// errors.
struct OnnxApi {
  const void* const* functions;

  template <class Returned, class... Arguments>
  Returned call(size_t slot, Arguments... arguments) const {
    return reinterpret_cast<Returned (*)(Arguments...)>(const_cast<void*>(functions[slot]))(arguments...);
  }
  template <class... Arguments>
  Status check(size_t slot, Arguments... arguments) const {
    void* const status = call<void*>(slot, arguments...);
    if (status == nullptr) return {};
    std::string_view message = call<const char*>(kGetErrorMessage, status);
    message = message.substr(0, message.find_last_not_of("\n. ") + 1);
    const std::string shown = escaped(message, kMostShown);
    call<void>(kReleaseStatus, status);
    return {ErrorCode::kUnavailable, "ONNX Runtime: " + shown};
  }
  // Calls a function whose last parameter takes the place of a new object.
  template <class... Arguments>
  Result<OnnxObject> make(size_t slot, size_t release, Arguments... arguments) const {
    void* object = nullptr;
    GLOVE_RETURN_IF_ERROR(check(slot, arguments..., &object));
    return OnnxObject(object, [this, release](void* made) { call<void>(release, made); });
  }
};

namespace {

Status check_version(const OnnxLibrary& library, const char* version) {
  std::array<int, 3> found{};
  std::sscanf(version, "%d.%d.%d", &found[0], &found[1], &found[2]);
  if (found >= (library.may_be_old ? kOldestVersion : kLeastVersion)) return {};
  return make_error(
      ErrorCode::kUnavailable, "the ONNX Runtime of '", library.path, "' is version ", escaped(version, 20),
      library.may_be_old ? ", but must be 1.22.0 or newer; install it"
                         : ", whose checks of model files are weaker than those of 1.24.2; install "
                           "a newer one, or pass the option \"old\":true if you trust the model");
}

Status add_cuda(const OnnxApi& api, const OnnxObject& options) {
  constexpr std::array<const char*, 1> kNames = {"use_tf32"}, kValues = {"0"};
  GLOVE_ASSIGN_OR_RETURN(const OnnxObject cuda, api.make(kCreateCudaOptions, kReleaseCudaOptions));
  GLOVE_RETURN_IF_ERROR(
      api.check(kUpdateCudaOptions, cuda.get(), kNames.data(), kValues.data(), kNames.size()));
  return api.check(kAppendCudaProvider, options.get(), cuda.get());
}

}  // namespace

Status OnnxSession::open(const std::string& file, bool on_gpu, const InterruptCheck& interrupted) {
  void* env = nullptr;  // the library's only one, which it keeps until the process ends
  GLOVE_RETURN_IF_ERROR(api_.check(kCreateEnv, kFatal, "glove", &env));
  GLOVE_ASSIGN_OR_RETURN(const OnnxObject options, api_.make(kCreateSessionOptions, kReleaseSessionOptions));
  GLOVE_RETURN_IF_ERROR(api_.check(kSetIntraOpNumThreads, options.get(), 1));
  if (on_gpu) {
    const Status added = add_cuda(api_, options);
    if (!added.ok())
      return {added.error().code,
              added.error().message +
                  "; name the library of onnxruntime-gpu, or compute on the CPU with SELECT "
                  "glove_config('onnxruntime_provider', 'cpu')"};
  }
  GLOVE_ASSIGN_OR_RETURN(memory_, api_.make(kCreateCpuMemoryInfo, kReleaseMemoryInfo, 0, 0));
  const std::filesystem::path path(std::u8string(file.begin(), file.end()));  // UTF-16 on Windows
  Status made;
  const auto make = [&]() -> Status {
    GLOVE_ASSIGN_OR_RETURN(session_,
                           api_.make(kCreateSession, kReleaseSession, env, path.c_str(), options.get()));
    return {};
  };
  const auto cancel = [&] { (void)api_.check(kSetLoadCancellation, options.get(), true); };
  if (run_watched(
          interrupted, [&] { made = make(); }, cancel))
    return interrupted_error();
  GLOVE_RETURN_IF_ERROR(made);
  return read_names();
}

Result<std::vector<std::string>> OnnxSession::names(size_t count, size_t name) const {
  void* allocator = nullptr;
  size_t found = 0;
  GLOVE_RETURN_IF_ERROR(api_.check(kGetAllocator, &allocator));
  GLOVE_RETURN_IF_ERROR(api_.check(count, session_.get(), &found));
  std::vector<std::string> names;
  for (size_t i = 0; i < found; ++i) {
    char* text = nullptr;
    GLOVE_RETURN_IF_ERROR(api_.check(name, session_.get(), i, allocator, &text));
    names.emplace_back(text);
    GLOVE_RETURN_IF_ERROR(api_.check(kAllocatorFree, allocator, static_cast<void*>(text)));
  }
  return names;
}

Status OnnxSession::read_names() {
  GLOVE_ASSIGN_OR_RETURN(const auto inputs, names(kSessionGetInputCount, kSessionGetInputName));
  for (const std::string& input : inputs) {
    const auto* const known = std::ranges::find(kInputs, input);
    if (known == kInputs.end())
      return invalid_argument("the model has the input ", quoted_value(input),
                              ", which is not supported; input_ids, attention_mask and token_type_ids are");
    inputs_.push_back(static_cast<size_t>(known - kInputs.begin()));
  }
  GLOVE_ASSIGN_OR_RETURN(const auto outputs, names(kSessionGetOutputCount, kSessionGetOutputName));
  if (inputs.empty() || outputs.empty())
    return invalid_argument("the model has no input or no output; use one that encodes texts");
  output_ = std::ranges::find(outputs, kSentenceEmbedding) == outputs.end() ? outputs.front()
                                                                            : std::string(kSentenceEmbedding);
  return {};
}

Result<OnnxTensor> OnnxSession::values_of(void* value) const {
  GLOVE_ASSIGN_OR_RETURN(const OnnxObject info, api_.make(kGetTensorTypeAndShape, kReleaseTensorInfo, value));
  int type = 0;
  size_t axes = 0;
  GLOVE_RETURN_IF_ERROR(api_.check(kGetTensorElementType, info.get(), &type));
  if (type != kFloat32)
    return invalid_argument("the model's output ", quoted_value(output_), " has the type ", type,
                            " of ONNX, but must be float32 (1); export the model so");
  GLOVE_RETURN_IF_ERROR(api_.check(kGetDimensionsCount, info.get(), &axes));
  OnnxTensor tensor;
  tensor.shape.resize(axes);
  GLOVE_RETURN_IF_ERROR(api_.check(kGetDimensions, info.get(), tensor.shape.data(), axes));
  int64_t count = 1;
  for (const int64_t length : tensor.shape) count *= length;  // of a tensor that exists in memory
  void* data = nullptr;
  GLOVE_RETURN_IF_ERROR(api_.check(kGetTensorMutableData, value, &data));
  const auto* const values = static_cast<const float*>(data);
  tensor.values.assign(values, values + count);
  return tensor;
}

Result<OnnxObject> OnnxSession::make_stop() const {
  return api_.make(kCreateRunOptions, kReleaseRunOptions);
}

void OnnxSession::stop(const OnnxObject& runs) const {
  (void)api_.check(kRunOptionsSetTerminate, runs.get());
}

Result<OnnxTensor> OnnxSession::run(std::span<const int64_t> ids, size_t tokens,
                                    const OnnxObject& stop) const {
  const std::array<int64_t, 2> shape = {static_cast<int64_t>(ids.size() / tokens),
                                        static_cast<int64_t>(tokens)};
  // The library takes pointers to data that it may change, but does not change inputs.
  const std::vector<int64_t> ones(ids.size(), 1), zeros(ids.size(), 0);
  const std::array<const int64_t*, 3> data = {ids.data(), ones.data(), zeros.data()};
  std::vector<OnnxObject> values;
  std::vector<void*> inputs;
  std::vector<const char*> names;
  for (const size_t input : inputs_) {
    GLOVE_ASSIGN_OR_RETURN(
        OnnxObject value,
        api_.make(kCreateTensorWithData, kReleaseValue, memory_.get(), const_cast<int64_t*>(data[input]),
                  ids.size() * sizeof(int64_t), shape.data(), shape.size(), kInt64));
    inputs.push_back(value.get());
    names.push_back(kInputs[input]);
    values.push_back(std::move(value));
  }
  const char* const output = output_.c_str();
  GLOVE_ASSIGN_OR_RETURN(const OnnxObject result,
                         api_.make(kRun, kReleaseValue, session_.get(), stop.get(), names.data(),
                                   inputs.data(), inputs.size(), &output, size_t{1}));
  return values_of(result.get());
}

Result<std::shared_ptr<const OnnxSession>> OnnxSession::open(const OnnxLibrary& library,
                                                             const std::string& file,
                                                             const InterruptCheck& interrupted) {
  if (library.path.empty())
    return Error{ErrorCode::kUnavailable,
                 "a neural model needs the library of ONNX Runtime; name it with SELECT "
                 "glove_config('onnxruntime', '/path/to/libonnxruntime.so') or $GLOVE_ONNXRUNTIME"};
  GLOVE_ASSIGN_OR_RETURN(void* const function, system_calls::library_function(library.path, "OrtGetApiBase"));
  const auto* const base = reinterpret_cast<const ApiBase* (*)()>(function)();
  GLOVE_RETURN_IF_ERROR(check_version(library, base->version()));
  const void* const* const functions = base->get_api(kApiVersion);
  if (functions == nullptr)
    return make_error(ErrorCode::kUnavailable, "the ONNX Runtime of '", library.path, "' is version ",
                      escaped(base->version(), 20), ", which lacks functions; install 1.24.2 or a newer one");
  // Never freed: the objects of all sessions use the functions.
  const std::shared_ptr<OnnxSession> session(new OnnxSession(*new OnnxApi{functions}));
  GLOVE_RETURN_IF_ERROR(session->open(file, library.on_gpu, interrupted));
  return std::shared_ptr<const OnnxSession>(session);
}

}  // namespace glove::neural
