"""Changesets of SQLite's session extension, which Python's sqlite3 module does not offer: by ctypes, in the library that it uses."""
import ctypes
import sqlite3

OMIT, REPLACE = 0, 1  # what apply() does about a change that does not fit
CONFLICT_HANDLER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
ERROR = 1
FORGOTTEN = "a change of the changeset failed, and undoing it has reset the message"
DATA, CONFLICT = 1, 3  # the kinds of conflict of which SQLite accepts REPLACE


def library():
    """Returns SQLite's library, or None if it has no sessions."""
    try:
        sqlite = ctypes.CDLL("libsqlite3.so.0")
    except OSError:
        return None
    sqlite.sqlite3_libversion.restype = sqlite.sqlite3_errmsg.restype = sqlite.sqlite3_errstr.restype = ctypes.c_char_p
    # The module may have a SQLite of its own. Two in one process would not see each other's locks.
    same = sqlite.sqlite3_libversion().decode() == sqlite3.sqlite_version
    return sqlite if same and hasattr(sqlite, "sqlite3session_create") else None


class Connection:
    """A connection of the C interface. Errors are sqlite3.Error."""

    def __init__(self, path, extension=None):
        self.sqlite, self.handle = library(), ctypes.c_void_p()
        self.check(self.sqlite.sqlite3_open(path.encode(), ctypes.byref(self.handle)))
        self.sqlite.sqlite3_enable_load_extension(self.handle, 1)
        if extension:
            self.check(self.sqlite.sqlite3_load_extension(self.handle, extension.encode(), None, None))

    def check(self, code):
        if code != 0:
            told = self.sqlite.sqlite3_extended_errcode(self.handle) != 0
            raise sqlite3.OperationalError((self.sqlite.sqlite3_errmsg(self.handle) if told else self.sqlite.sqlite3_errstr(code)).decode())

    def execute(self, sql):
        self.check(self.sqlite.sqlite3_exec(self.handle, sql.encode(), None, None, None))

    def close(self):
        self.check(self.sqlite.sqlite3_close(self.handle))

    def recorded(self, work):
        """Calls work(execute). Returns the changeset of all tables."""
        session, size, data = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_void_p()
        self.check(self.sqlite.sqlite3session_create(self.handle, b"main", ctypes.byref(session)))
        try:
            self.check(self.sqlite.sqlite3session_attach(session, None))
            work(self.execute)
            self.check(self.sqlite.sqlite3session_changeset(session, ctypes.byref(size), ctypes.byref(data)))
            changeset = ctypes.string_at(data, size.value)
            self.sqlite.sqlite3_free(data)
            return changeset
        finally:
            self.sqlite.sqlite3session_delete(session)

    def apply(self, changeset, policy):
        """Applies the changeset; `policy`, OMIT or REPLACE, decides conflicts."""
        handler = CONFLICT_HANDLER(lambda _, kind, __: policy if kind in (DATA, CONFLICT) else OMIT)
        code = self.sqlite.sqlite3changeset_apply(self.handle, len(changeset), changeset, None, handler, None)
        if code == ERROR and self.sqlite.sqlite3_extended_errcode(self.handle) == 0:
            raise sqlite3.OperationalError(FORGOTTEN)
        self.check(code)
