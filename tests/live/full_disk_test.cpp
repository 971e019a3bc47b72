// A disk that is full from the n-th write on, or whose n-th operation fails, for every n: what each statement
// returns, and what it leaves behind.
//
// A VFS between SQLite and the system's fails the operations. Each script of statements goes on after a
// failure, as an application does that looks at no error, while the disk stays full; then there is room
// again. Each script runs with an index and on the same table without one, so that a code that has nothing to
// do with the index shows in both.
//
// GLOVE_FULL_DISK_STEP=1 fails every single write or operation (the default is every 29th or 97th), and
// prints how often each code came.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tests/functions/connection.h"
#include "tests/share.h"

namespace glove::testing {
namespace {

// What the operations on every file of the process do.
struct Disk {
  // kLonger: a write that makes a file longer fails, as on most file systems. kEvery: each write fails, as on
  // one that copies what it overwrites. kLimited: as kLonger, with the error of a limit on the size of files.
  // kBroken: every operation fails, a read as well as a write. kHiccup: one does.
  enum class Fails { kLonger, kEvery, kLimited, kBroken, kHiccup };
  Fails fails = Fails::kLonger;
  int64_t left = INT64_MAX;  // writes, or operations, that succeed before that
  bool failed = false;

  bool any() const { return fails == Fails::kBroken || fails == Fails::kHiccup; }

  bool full(bool longer) { return !any() && fails_now(longer || fails == Fails::kEvery); }

  // For each operation but unlocking and closing a file, which do not fail.
  bool broken() { return any() && fails_now(fails == Fails::kBroken || left == 0); }

 private:
  bool fails_now(bool can) {
    const bool now = left <= 0 && can;
    --left;
    failed = failed || now;
    return now;
  }
};
Disk disk;
sqlite3_vfs* system_vfs = nullptr;

// A file of the system's VFS follows.
struct DiskFile {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  const sqlite3_io_methods* methods() { return real()->pMethods; }
};

DiskFile* as_disk(sqlite3_file* file) {
  return reinterpret_cast<DiskFile*>(file);
}

// Passes a call on to the system's file.
template <auto kMember, class... Arguments>
int pass(sqlite3_file* file, Arguments... arguments) {
  return (as_disk(file)->methods()->*kMember)(as_disk(file)->real(), arguments...);
}

// The same, unless the disk is broken.
template <int kCode, auto kMember, class... Arguments>
int attempt(sqlite3_file* file, Arguments... arguments) {
  return disk.broken() ? kCode : pass<kMember>(file, arguments...);
}

int write(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 offset) {
  sqlite3_file* const real = as_disk(file)->real();
  sqlite3_int64 size = 0;
  if (const int code = real->pMethods->xFileSize(real, &size); code != SQLITE_OK) return code;
  if (disk.broken()) return SQLITE_IOERR_WRITE;
  if (!disk.full(offset + bytes > size)) return real->pMethods->xWrite(real, data, bytes, offset);
  // As write(2) does, which writes what there is room for.
  if (bytes > 512) real->pMethods->xWrite(real, data, 512, offset);
  return disk.fails == Disk::Fails::kLimited ? SQLITE_IOERR_WRITE : SQLITE_FULL;
}

int map_shared(sqlite3_file* file, int page, int bytes, int extend, void volatile** memory) {
  if (disk.broken()) return SQLITE_IOERR_SHMMAP;
  sqlite3_file* const real = as_disk(file)->real();
  const int code = real->pMethods->xShmMap(real, page, bytes, 0, memory);
  if (code != SQLITE_OK || *memory != nullptr || extend == 0) return code;
  if (disk.full(true)) return SQLITE_IOERR_SHMSIZE;
  return real->pMethods->xShmMap(real, page, bytes, extend, memory);
}

using Methods = sqlite3_io_methods;
const Methods kMethods = {
    2,
    pass<&Methods::xClose>,
    attempt<SQLITE_IOERR_READ, &Methods::xRead, void*, int, sqlite3_int64>,
    write,
    attempt<SQLITE_IOERR_TRUNCATE, &Methods::xTruncate, sqlite3_int64>,
    // Writes nothing: no test pulls the plug, and it takes long.
    [](sqlite3_file*, int) { return disk.broken() ? SQLITE_IOERR_FSYNC : SQLITE_OK; },
    attempt<SQLITE_IOERR_FSTAT, &Methods::xFileSize, sqlite3_int64*>,
    attempt<SQLITE_IOERR_LOCK, &Methods::xLock, int>,
    pass<&Methods::xUnlock, int>,
    attempt<SQLITE_IOERR_CHECKRESERVEDLOCK, &Methods::xCheckReservedLock, int*>,
    // No SQLITE_FCNTL_SIZE_HINT and the like, which would make files longer without a write.
    [](sqlite3_file* file, int operation, void* argument) {
      if (operation == SQLITE_FCNTL_SIZE_HINT || operation == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_NOTFOUND;
      return pass<&Methods::xFileControl>(file, operation, argument);
    },
    pass<&Methods::xSectorSize>,
    pass<&Methods::xDeviceCharacteristics>,
    map_shared,
    pass<&Methods::xShmLock, int, int, int>,
    [](sqlite3_file* file) { as_disk(file)->methods()->xShmBarrier(as_disk(file)->real()); },
    pass<&Methods::xShmUnmap, int>,
    nullptr,
    nullptr,
};

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  if (disk.broken()) return SQLITE_CANTOPEN;
  const int code = system_vfs->xOpen(system_vfs, name, as_disk(file)->real(), flags, out_flags);
  if (code == SQLITE_OK) file->pMethods = &kMethods;
  return code;
}

// Makes the VFS above the default of the process.
void install_disk() {
  if (system_vfs != nullptr) return;
  sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, 512);  // or statement journals stay in memory
  sqlite3_initialize();
  system_vfs = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs vfs = *system_vfs;
  vfs.zName = "disk";
  vfs.szOsFile = static_cast<int>(sizeof(DiskFile)) + system_vfs->szOsFile;
  vfs.xOpen = open_file;
  vfs.xDelete = [](sqlite3_vfs*, const char* name, int synced) {
    return disk.broken() ? SQLITE_IOERR_DELETE : system_vfs->xDelete(system_vfs, name, synced);
  };
  vfs.xAccess = [](sqlite3_vfs*, const char* name, int flags, int* result) {
    return disk.broken() ? SQLITE_IOERR_ACCESS : system_vfs->xAccess(system_vfs, name, flags, result);
  };
  sqlite3_vfs_register(&vfs, 1);
}

constexpr const char* kIndex =
    "CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='e');";

// Inserts rows with these ids.
std::string insert(int first, int last) {
  return "INSERT INTO doc SELECT value, json_array(value % 7 - 3, value % 11 - 5, value % 13, 1), "
         "hex(zeroblob(300)) FROM "
         "generate WHERE value BETWEEN " +
         std::to_string(first) + " AND " + std::to_string(last);
}

struct Script {
  const char* name;
  std::vector<std::string> statements;
  bool needs_index = false;
};

std::vector<Script> scripts() {
  const std::string update = "UPDATE doc SET e = json_array(id % 5, 1, -1, 2) WHERE id % 3 = 0";
  const std::string query = "SELECT count(*), min(id) FROM v WHERE query = '[1,2,3,4]' AND k = 20";
  const std::string remove = "DELETE FROM doc WHERE id % 4 = 1";
  return {
      {"changes", {insert(200, 320), update, remove}},
      {"a transaction", {"BEGIN", insert(200, 320), update, remove, "COMMIT"}},
      {"savepoints",
       {"SAVEPOINT a", insert(200, 260), "SAVEPOINT b", update, "ROLLBACK TO b", insert(261, 300),
        "RELEASE b", remove, "RELEASE a"}},
      {"rows in savepoints",
       {"SAVEPOINT a", insert(200, 200), insert(201, 201), insert(202, 230), "ROLLBACK TO a",
        insert(203, 240), "RELEASE a", insert(241, 250)}},
      {"sync", {insert(200, 320), "INSERT INTO v(v) VALUES ('sync')"}, true},
      {"merge", {update, "INSERT INTO v(v) VALUES ('merge')"}, true},
      {"rebuild", {update, "INSERT INTO v(v) VALUES ('rebuild')"}, true},
      {"commands in savepoints",
       {"SAVEPOINT a", insert(200, 260), "INSERT INTO v(v) VALUES ('sync')", "SAVEPOINT b", update,
        "INSERT INTO v(v) VALUES ('merge')", "ROLLBACK TO b", remove, "INSERT INTO v(v) VALUES ('sync')",
        "RELEASE a"},
       true},
      {"queries between changes",
       {"SAVEPOINT a", insert(200, 220), query, update, query, "SAVEPOINT b", insert(221, 240), query,
        "ROLLBACK TO b", query, "RELEASE a", remove, query},
       true},
      {"drop", {"DROP TABLE v", kIndex}, true},
      {"vacuum", {remove, "VACUUM"}},
  };
}

class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override { install_disk(); }
  void TearDown() override { disk = {}; }

  // A closed database with 150 rows, and changes that an index has not synced.
  std::string make_template(bool index, const std::string& journal) {
    const std::string path = folder.path(journal + (index ? "-with" : "-without"));
    Connection db(path);
    db.rows("PRAGMA journal_mode = " + journal);
    db.rows("CREATE TABLE doc(id INTEGER PRIMARY KEY, e, padding)");
    db.rows("CREATE TABLE generate(value INTEGER PRIMARY KEY)");
    db.rows(
        "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 400) INSERT INTO "
        "generate SELECT i FROM c");
    db.rows(insert(1, 120));
    if (index) db.rows(kIndex);
    db.rows(insert(121, 150));
    return path;
  }

  // Runs the statements with a disk that fails after so many writes or operations. Returns true if none
  // failed.
  bool run(const std::string& original, const Script& script, bool index, int64_t succeed, bool commits) {
    const std::string path = folder.path("copy");
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path + suffix);
    std::filesystem::copy_file(original, path);
    Connection db(path);
    db.rows("PRAGMA cache_size = 1");  // or SQLite writes only at the end of a transaction
    Rows rows;
    disk.left = succeed;
    disk.failed = false;
    for (const std::string& sql : script.statements) {
      const int code = db.run(sql, rows);
      if (code != SQLITE_OK) note(sqlite3_extended_errcode(db.handle()), db, script, index);
    }
    const bool failed = disk.failed;
    disk.left = INT64_MAX;
    if (sqlite3_get_autocommit(db.handle()) == 0) db.rows(commits ? "COMMIT" : "ROLLBACK");
    check(db, index, script);
    return !failed;
  }

  static bool is_of_the_disk(int code) {
    return (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  }

  void note(int code, Connection& db, const Script& script, bool index) {
    ++codes_[index][code];
    // A statement that fails for want of room may end the transaction, whose savepoints are then gone, and a
    // table that could not be dropped is still there, as are rows that could not be rolled back.
    const std::string message = sqlite3_errmsg(db.handle());
    const bool follows =
        (disk.any() && code == SQLITE_CONSTRAINT_PRIMARYKEY) ||
        (code == SQLITE_ERROR && (message.starts_with("no such savepoint") ||
                                  message.find("no transaction is active") != std::string::npos ||
                                  message == "table v already exists"));
    const bool explained =
        code == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE || (disk.any() && is_of_the_disk(code)) ||
        (disk.fails == Disk::Fails::kLimited && (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR)) ||
        follows;
    if (!explained)
      ADD_FAILURE() << script.name << (index ? " with" : " without") << " an index: " << code << " "
                    << sqlite3_errmsg(db.handle());
  }

  // The database is sound, and the index answers as a scan does.
  void check(Connection& db, bool index, const Script& script) {
    EXPECT_EQ(db.value("PRAGMA integrity_check"), "ok") << script.name;
    if (!index || db.value("SELECT count(*) FROM sqlite_schema WHERE name = 'v'") == "0") return;
    const std::string query = "'[1,2,3,4]'";
    EXPECT_EQ(db.rows("SELECT id FROM v WHERE query = " + query + " ORDER BY rank"),
              db.rows("SELECT id FROM doc WHERE cos_sim(e, " + query + ") IS NOT NULL ORDER BY cos_sim(e, " +
                      query + ") DESC, id"))
        << script.name;
    db.rows("INSERT INTO v(v) VALUES ('integrity-check')");
  }

  // Runs every script with each of these disks that fails after 0, `default_step`, ... operations.
  void fail(const std::vector<Disk::Fails>& kinds, const std::vector<std::string>& journals,
            int64_t default_step) {
    const char* const chosen = std::getenv("GLOVE_FULL_DISK_STEP");
    const int64_t step = chosen == nullptr ? default_step : std::max(1, std::atoi(chosen));
    int64_t runs = 0;
    for (const std::string& journal : journals)
      for (const bool index : {false, true}) {
        const std::string original = make_template(index, journal);
        for (const Script& script : scripts()) {
          if (script.needs_index && !index) continue;
          for (const Disk::Fails fails : kinds) {
            disk.fails = fails;
            bool whole = false;
            for (int64_t succeed = 0; !whole && !HasFailure(); succeed += step, ++runs)
              whole = run(original, script, index, succeed, succeed / step % 2 == 0);
          }
        }
      }
    if (chosen == nullptr) return;
    for (const bool index : {false, true}) {
      std::cout << (index ? "with" : "without") << " an index:";
      for (const auto& [code, times] : codes_[index]) std::cout << " " << code << " x " << times;
      std::cout << "\n";
    }
    std::cout << runs << " runs\n";
  }

  TemporaryFolder folder;
  std::map<int, int64_t> codes_[2];
};

TEST_F(FullDisk, EveryCodeIsExplained) {
  fail({Disk::Fails::kLonger, Disk::Fails::kEvery, Disk::Fails::kLimited}, {"delete", "wal", "persist"}, 29);
  for (const bool index : {false, true}) EXPECT_GT(codes_[index][SQLITE_FULL], 0);
}

TEST_F(FullDisk, EveryOperationThatFailsIsExplained) {
  fail({Disk::Fails::kBroken, Disk::Fails::kHiccup}, {"delete", "wal"}, 97);
  for (const bool index : {false, true}) EXPECT_GT(codes_[index][SQLITE_IOERR_READ], 0);
}

// A query whose reads fail returns the rows that it returns from a sound disk, or an error.
TEST_F(FullDisk, QueriesOfABrokenDiskEndInItsErrors) {
  const std::string path = make_template(true, "delete");
  const std::vector<std::string> queries = {
      "SELECT id, similarity FROM v WHERE query = '[1,2,3,4]' AND k = 9 ORDER BY rank",
      "SELECT id, similarity FROM v WHERE query = '[1,2,3,4]' ORDER BY rank",
      "SELECT d.id, v.id FROM doc d JOIN v ON v.query = d.e AND v.k = 2 WHERE d.id < 9 ORDER BY d.id, v.rank",
      "SELECT id FROM v WHERE query = '[1,2,3,4]' AND k = 9 AND among = (SELECT glove_keys(id) FROM doc "
      "WHERE id % 2) "
      "ORDER BY rank"};
  int64_t failures = 0;
  for (const std::string& sql : queries) {
    const Rows expected = Connection(path).rows(sql);
    EXPECT_FALSE(expected.empty()) << sql;
    for (const Disk::Fails fails : {Disk::Fails::kBroken, Disk::Fails::kHiccup})
      for (int64_t succeed = 0;; succeed += test::kShortStep) {
        Connection db(path);
        db.rows("PRAGMA cache_size = 1");
        Rows rows;
        disk = {fails, succeed};
        const int code = db.run(sql, rows);
        const bool failed = disk.failed;
        disk = {};
        if (code == SQLITE_OK)
          EXPECT_EQ(rows, expected) << succeed << " operations succeed in " << sql;
        else
          EXPECT_TRUE(is_of_the_disk(code)) << code << " " << sqlite3_errmsg(db.handle());
        EXPECT_EQ(db.rows(sql), expected) << "after the operation " << succeed << " had failed in " << sql;
        if (!failed || HasFailure()) break;
        ++failures;
      }
  }
  EXPECT_GT(failures, 100 / test::kShortStep);
}

}  // namespace
}  // namespace glove::testing
