/* A library that looks like ONNX Runtime, for tests without it: its network makes numbers of the tokens' ids, and reads nothing of the
   file but whether it can be opened. It checks that each object is released once (fake_objects() are left, after fake_runs()), and that a run uses only
   what exists.

   VERSION       what it says its version is
   NO_FUNCTIONS  it has no version of the interface
   CUDA          it has that provider, with which a run may have several texts; one with an id above 4000 fails
   GLOVE_FAKE_US, GLOVE_FAKE_LOAD_US in the environment: how many microseconds a run, or making a session, takes */
#define _DEFAULT_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION "1.32.0"
#endif
enum { DIMS = 32, kModel = 1, kOptions, kRunOptions, kMemory, kValue, kInfo, kStatus, kCuda };

typedef struct {
  int kind, on_gpu;
  atomic_int stopped;
  int64_t shape[3];
  size_t axes;
  int type;
  const void* data; /* of an input, or owned by an output */
  char text[200];
} Object;

static atomic_int objects, runs;
int fake_objects(void) { return objects; }
int fake_runs(void) { return runs; }

static Object* make(int kind) {
  Object* made = calloc(1, sizeof(Object));
  made->kind = kind;
  ++objects;
  return made;
}

static void check(const Object* object, int kind) {
  if (object == NULL || object->kind != kind) abort();
}

static void release(Object* object, int kind) {
  if (object == NULL) return;
  check(object, kind);
  if (kind == kValue && object->type == 1) free((void*)object->data);
  object->kind = 0;
  free(object);
  --objects;
}

static void* error(const char* text) {
  Object* status = make(kStatus);
  snprintf(status->text, sizeof(status->text), "%s", text);
  return status;
}

static const char* error_message(const Object* status) { return check(status, kStatus), status->text; }
static void release_status(Object* status) { release(status, kStatus); }
static void release_memory(Object* object) { release(object, kMemory); }
static void release_session(Object* object) { release(object, kModel); }
static void release_value(Object* object) { release(object, kValue); }
static void release_run_options(Object* object) { release(object, kRunOptions); }
static void release_info(Object* object) { release(object, kInfo); }
static void release_options(Object* object) { release(object, kOptions); }

static void* create_env(int level, const char* name, void** env) {
  static int only_one;
  if (level != 4 || name == NULL) abort();
  *env = &only_one;
  return NULL;
}

static void* create_options(Object** options) { return *options = make(kOptions), NULL; }
static void* create_run_options(Object** options) { return *options = make(kRunOptions), NULL; }
static void* create_memory(int allocator, int type, Object** memory) { return (void)allocator, (void)type, *memory = make(kMemory), NULL; }
static void* terminate(Object* options) {
  check(options, kRunOptions);
  options->stopped = 1;
  return NULL;
}
static void* one_thread(Object* options, int threads) { return check(options, kOptions), threads == 1 ? NULL : error("threads"); }

static void* create_cuda(Object** options) {
#ifdef CUDA
  return *options = make(kCuda), NULL;
#else
  return (void)options, error("CUDA execution provider is not enabled in this build. ");
#endif
}
static void* update_cuda(Object* options, const char* const* names, const char* const* values, size_t count) {
  check(options, kCuda);
  if (count != 1 || strcmp(names[0], "use_tf32") || strcmp(values[0], "0")) return error("options");
  options->stopped = 1;
  return NULL;
}
static void* append_cuda(Object* session, Object* options) {
  check(options, kCuda);
  check(session, kOptions);
  return session->on_gpu = 1, options->stopped ? NULL : error("no options");
}
static void release_cuda(Object* options) { release(options, kCuda); }

static void* cancel_load(Object* options, int cancels) {
  check(options, kOptions);
  options->stopped = cancels;
  return NULL;
}

/* Returns whether it was stopped before it had slept as long as the environment says. */
static int sleeps(const char* variable, Object* options) {
  const char* us = getenv(variable);
  for (long left = us ? atol(us) : 0; left > 0; left -= 1000) {
    if (options != NULL && options->stopped) return 1;
    usleep(left < 1000 ? (useconds_t)left : 1000);
  }
  return 0;
}

static void* create_session(void* env, const char* path, Object* options, Object** session) {
  check(options, kOptions);
  if (env == NULL || access(path, R_OK) != 0) return error("no such file");
  if (sleeps("GLOVE_FAKE_LOAD_US", options)) return error("loading was canceled");
  *session = make(kModel);
  return (*session)->on_gpu = options->on_gpu, NULL;
}

static void* allocator(void** found) { return *found = &objects, NULL; }
static void* allocator_free(void* from, void* text) { return (void)from, free(text), NULL; }
static void* input_count(Object* session, size_t* count) { return check(session, kModel), *count = 2, NULL; }
static void* output_count(Object* session, size_t* count) { return check(session, kModel), *count = 1, NULL; }
static void* input_name(Object* session, size_t i, void* from, char** name) {
  return check(session, kModel), (void)from, *name = strdup(i == 0 ? "input_ids" : "attention_mask"), NULL;
}
static void* output_name(Object* session, size_t i, void* from, char** name) {
  return check(session, kModel), (void)i, (void)from, *name = strdup("last_hidden_state"), NULL;
}

static void* create_tensor(Object* memory, void* data, size_t bytes, const int64_t* shape, size_t axes, int type, Object** value) {
  check(memory, kMemory);
  if (type != 7 || axes != 2 || shape[0] < 1 || (int64_t)bytes != 8 * shape[0] * shape[1]) return error("a wrong tensor");
  *value = make(kValue);
  (*value)->data = data, (*value)->type = type, (*value)->axes = axes;
  memcpy((*value)->shape, shape, axes * sizeof(*shape));
  return NULL;
}

static float mixed(uint64_t id, uint64_t i) {
  uint64_t x = (id * 1000003 + i + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
  return (float)(int64_t)(x ^ (x >> 32)) / 9.3e18f;
}

static void* run(Object* session, Object* options, const char* const* names, Object* const* inputs, size_t count,
                 const char* const* outputs, size_t wanted, Object** value) {
  ++runs;
  check(session, kModel);
  if (options != NULL) check(options, kRunOptions);
  if (count != 2 || wanted != 1 || strcmp(names[0], "input_ids") || strcmp(outputs[0], "last_hidden_state")) return error("wrong names");
  if (sleeps("GLOVE_FAKE_US", options)) return error("the run was stopped");
  check(inputs[0], kValue);
  check(inputs[1], kValue);
  const int64_t* ids = inputs[0]->data;
  const int64_t texts = inputs[0]->shape[0], length = inputs[0]->shape[1], tokens = texts * length;
  if (texts > 1 && !session->on_gpu) return error("several texts");
  for (int64_t i = 0; i < tokens; ++i)
    if (ids[i] > 4000) return error("an id is out of bounds");
  float* made = malloc(sizeof(float) * DIMS * (size_t)tokens);
  for (int64_t i = 0; i < tokens * DIMS; ++i) made[i] = mixed((uint64_t)ids[i / DIMS], (uint64_t)(i % DIMS)) * (1 + 1 / (float)(i / DIMS % length + 2));
  *value = make(kValue);
  (*value)->data = made, (*value)->type = 1, (*value)->axes = 3;
  memcpy((*value)->shape, (int64_t[]){texts, length, DIMS}, 3 * sizeof(int64_t));
  return NULL;
}

static void* shape_of(Object* value, Object** info) {
  check(value, kValue);
  *info = make(kInfo);
  (*info)->type = value->type, (*info)->axes = value->axes;
  memcpy((*info)->shape, value->shape, sizeof(value->shape));
  return NULL;
}

static void* type_of(Object* info, int* type) { return check(info, kInfo), *type = info->type, NULL; }
static void* axes_of(Object* info, size_t* axes) { return check(info, kInfo), *axes = info->axes, NULL; }
static void* lengths_of(Object* info, int64_t* lengths, size_t axes) {
  return check(info, kInfo), memcpy(lengths, info->shape, axes * sizeof(*lengths)), NULL;
}
static void* data_of(Object* value, void** data) { return check(value, kValue), *data = (void*)value->data, NULL; }

static const void* functions[294] = {
    [2] = (void*)error_message,   [3] = (void*)create_env,          [7] = (void*)create_session,   [9] = (void*)run,
    [10] = (void*)create_options, [24] = (void*)one_thread,         [25] = (void*)one_thread,      [30] = (void*)input_count,
    [31] = (void*)output_count,   [36] = (void*)input_name,         [37] = (void*)output_name,     [39] = (void*)create_run_options,
    [46] = (void*)terminate,      [49] = (void*)create_tensor,      [51] = (void*)data_of,         [60] = (void*)type_of,
    [61] = (void*)axes_of,        [62] = (void*)lengths_of,         [65] = (void*)shape_of,        [69] = (void*)create_memory,
    [76] = (void*)allocator_free, [78] = (void*)allocator,          [93] = (void*)release_status,  [94] = (void*)release_memory,
    [95] = (void*)release_session, [96] = (void*)release_value,     [97] = (void*)release_run_options, [99] = (void*)release_info,
    [100] = (void*)release_options, [204] = (void*)append_cuda,     [205] = (void*)create_cuda,    [206] = (void*)update_cuda,
    [208] = (void*)release_cuda,  [293] = (void*)cancel_load};

static const void* const* get_api(uint32_t version) {
#ifdef NO_FUNCTIONS
  return (void)version, NULL;
#else
  return version <= 24 ? functions : NULL;
#endif
}
static const char* version(void) { return VERSION; }

static const struct {
  const void* const* (*get_api)(uint32_t);
  const char* (*version)(void);
} base = {get_api, version};
const void* OrtGetApiBase(void);
const void* OrtGetApiBase(void) { return &base; }
