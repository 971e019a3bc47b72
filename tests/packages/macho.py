"""What a 64-bit Mach-O file says of itself, and whether macOS could load it. Source: <mach-o/loader.h>, <mach-o/nlist.h> and
<kern/cs_blobs.h> of macOS."""
import hashlib
import re
import struct

MAGIC, ARM64, X86_64 = 0xFEEDFACF, 0x0100000C, 0x01000007
EXECUTE, DYLIB, BUNDLE = 2, 6, 8
TWO_LEVEL, PIE = 0x80, 0x200000
LC_SYMTAB, LC_LOAD_DYLIB, LC_SEGMENT_64, LC_CODE_SIGNATURE, LC_BUILD_VERSION, LC_MAIN, LC_LOAD_DYLINKER, LC_ID_DYLIB = (
    0x2, 0xC, 0x19, 0x1D, 0x32, 0x28, 0xE, 0xD)
OTHERS = {0xB: "LC_DYSYMTAB", 0x1B: "LC_UUID", 0x22: "LC_DYLD_INFO", 0x26: "LC_FUNCTION_STARTS", 0x29: "LC_DATA_IN_CODE",
          0x2A: "LC_SOURCE_VERSION"}
N_STAB, N_PEXT, N_EXT, N_TYPE, N_UNDF, N_SECT = 0xE0, 0x10, 0x01, 0x0E, 0x00, 0x0E
WRITE, RUN = 2, 4
SIGNATURE, DIRECTORY, SHA256 = 0xFADE0CC0, 0xFADE0C02, 2


class MachO:
    """`libraries` that it loads, names that it `exports` and `imports` {name: number of the library}, the `oldest` macOS as a tuple,
    and where its `signature` is."""

    def __init__(self, data, name):
        self.data, self.name = data, name
        magic, self.processor, _, self.kind, self.commands, self.commands_size, self.flags = struct.unpack_from("<7I", data)
        assert magic == MAGIC, f"{name} is not a 64-bit Mach-O file"
        self.libraries, self.exports, self.imports, self.oldest = [], set(), {}, None
        self.signature, self.segments, self.seen = None, [], []
        at = 32
        for _ in range(self.commands):
            command, size = struct.unpack_from("<2I", data, at)
            assert size >= 8 and size % 8 == 0, f"{name}: a load command of {size} bytes"
            self.read(command & 0x7FFFFFFF, at)
            at += size
        assert at == 32 + self.commands_size, f"{name}: the load commands have {at - 32} bytes, and not {self.commands_size}"

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def read(self, command, at):
        self.seen.append(command)
        if command == LC_LOAD_DYLIB:
            self.libraries.append(self.text(at + struct.unpack_from("<I", self.data, at + 8)[0]))
        elif command == LC_SEGMENT_64:
            name, address, size, offset, bytes_, _, protection, sections, _ = struct.unpack_from("<16s4Q4I", self.data, at + 8)
            self.segments.append((name.rstrip(b"\0").decode(), address, size, offset, bytes_, protection))
            if sections and offset == 0:
                self.first_section = min(struct.unpack_from("<I", self.data, at + 72 + 80 * i + 48)[0] for i in range(sections))
        elif command == LC_BUILD_VERSION:
            platform, packed = struct.unpack_from("<2I", self.data, at + 8)
            assert platform == 1, f"{self.name} is for the platform {platform}, and not for macOS"
            self.oldest = (packed >> 16, packed >> 8 & 0xFF)
        elif command == LC_CODE_SIGNATURE:
            self.signature = struct.unpack_from("<2I", self.data, at + 8)
        elif command == LC_SYMTAB:
            self.read_symbols(*struct.unpack_from("<3I", self.data, at + 8))
        else:
            assert command in (LC_MAIN, LC_LOAD_DYLINKER, LC_ID_DYLIB, *OTHERS), f"{self.name} has the load command {command:#x}"

    def read_symbols(self, symbols, count, strings):
        for place in range(symbols, symbols + 16 * count, 16):
            name, kind, _, description = struct.unpack_from("<IBBH", self.data, place)
            if kind & (N_STAB | N_PEXT) or not kind & N_EXT:
                continue
            if kind & N_TYPE == N_SECT:
                self.exports.add(self.text(strings + name))
            elif kind & N_TYPE == N_UNDF:
                self.imports[self.text(strings + name)] = description >> 8

    def check_commands(self):
        """What the loader of macOS insists on: segments that lie in the file without overlaps, none both writable and executable."""
        wanted = {EXECUTE: {LC_MAIN, LC_LOAD_DYLINKER}, DYLIB: {LC_ID_DYLIB}, BUNDLE: set()}[self.kind]
        for command in wanted | {LC_SYMTAB, LC_BUILD_VERSION, LC_LOAD_DYLIB}:
            assert self.seen.count(command) == 1, f"{self.name} has {self.seen.count(command)} load commands {command:#x}"
        assert self.flags & TWO_LEVEL and (self.kind != EXECUTE or self.flags & PIE), f"{self.name}: flags {self.flags:#x}"
        assert self.first_section >= 32 + self.commands_size, f"{self.name}: a section begins inside the load commands"
        page = 0x4000 if self.processor == ARM64 else 0x1000
        next_address = next_offset = 0
        for name, address, size, offset, bytes_, protection in self.segments:
            assert address % page == 0 and address >= next_address and bytes_ <= size, f"{self.name}: segment {name}"
            assert bytes_ == 0 or offset % page == 0 and offset >= next_offset, f"{self.name}: segment {name}"
            assert not (protection & WRITE and protection & RUN), f"{self.name}: the segment {name} is writable and executable"
            next_address, next_offset = address + size, max(next_offset, offset + bytes_)
        assert self.segments[-1][0] == "__LINKEDIT" and next_offset == len(self.data), f"{self.name}: {next_offset} of {len(self.data)} bytes"

    def check_signature(self):
        """Recomputes the SHA-256 of each page in an ad hoc signature: a wrong one ends the process. Returns the number of pages."""
        assert self.signature is not None, f"{self.name} is not signed"
        at, size = self.signature
        assert at + size == len(self.data) and at % 16 == 0, f"{self.name}: the signature is not at the end"
        magic, _, blobs = struct.unpack_from(">3I", self.data, at)
        assert magic == SIGNATURE, f"{self.name}: the signature begins with {magic:#x}"
        starts = [at + struct.unpack_from(">2I", self.data, at + 12 + 8 * i)[1] for i in range(blobs)]
        start, = [place for place in starts if struct.unpack_from(">I", self.data, place)[0] == DIRECTORY]
        (_, length, _, flags, hashes, identifier, _, pages, limit, hash_size, kind, _, page) = struct.unpack_from(">9I4B", self.data, start)
        assert flags & 2 and kind == SHA256 and hash_size == 32, f"{self.name}: not an ad hoc signature by SHA-256"
        assert limit == at and pages == -(-limit >> page), f"{self.name}: {pages} pages up to {limit} are signed"
        assert hashes + 32 * pages <= length and self.text(start + identifier), f"{self.name}: a code directory of {length} bytes"
        for number in range(pages):
            code = self.data[number << page:min(limit, number + 1 << page)]
            wanted = self.data[start + hashes + 32 * number:][:32]
            assert hashlib.sha256(code).digest() == wanted, f"{self.name}: the hash of page {number} is wrong"
        return pages


def exported_by(tbd, architecture):
    """The symbols of a text-based stub of libSystem, which lists those of the libraries that it re-exports too."""
    with open(tbd, encoding="utf-8") as file:
        text = file.read()
    found = set()
    for targets, kinds in re.findall(r"- targets: +\[([^]]*)\]((?:\n +(?:symbols|weak-symbols|thread-local-symbols): +\[[^]]*\])+)", text):
        if f"{architecture}-macos" in re.split(r"[,\s]+", targets):
            for symbols in re.findall(r"\[([^]]*)\]", kinds):
                found.update(symbol.strip("'") for symbol in re.split(r"[,\s]+", symbols) if symbol)
    return found
