"""What a 64-bit Mach-O file says of itself. Source: <mach-o/loader.h> and <mach-o/nlist.h> of macOS."""
import struct

MAGIC, ARM64 = 0xFEEDFACF, 0x0100000C
LC_SYMTAB, LC_LOAD_DYLIB, LC_BUILD_VERSION, LC_CODE_SIGNATURE = 0x2, 0xC, 0x32, 0x1D
N_STAB, N_PEXT, N_EXT, N_TYPE, N_SECT = 0xE0, 0x10, 0x01, 0x0E, 0x0E


class MachO:
    """`libraries` that it loads, names that it `exports`, the `oldest` macOS as a tuple, and whether it is `signed`."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        magic, self.processor, _, self.kind, commands = struct.unpack_from("<5I", self.data)
        assert magic == MAGIC, f"{path} is not a 64-bit Mach-O file"
        self.libraries, self.exports, self.oldest, self.signed = [], set(), None, False
        at = 32
        for _ in range(commands):
            command, size = struct.unpack_from("<2I", self.data, at)
            self.read(command & 0x7FFFFFFF, at)
            at += size

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def read(self, command, at):
        if command == LC_LOAD_DYLIB:
            self.libraries.append(self.text(at + struct.unpack_from("<I", self.data, at + 8)[0]))
        elif command == LC_BUILD_VERSION:
            packed = struct.unpack_from("<I", self.data, at + 12)[0]
            self.oldest = (packed >> 16, packed >> 8 & 0xFF)
        elif command == LC_CODE_SIGNATURE:
            self.signed = True
        elif command == LC_SYMTAB:
            symbols, count, strings = struct.unpack_from("<3I", self.data, at + 8)
            for place in range(symbols, symbols + 16 * count, 16):
                name, kind = struct.unpack_from("<IB", self.data, place)
                if not kind & (N_STAB | N_PEXT) and kind & N_EXT and kind & N_TYPE == N_SECT:
                    self.exports.add(self.text(strings + name))
