// /opfs: files that stay in a browser, in the private file system of the page's origin. SQLite's calls are synchronous, so a pool of
// files is opened beforehand; the first block of each says which path it holds.

const kHeader = 4096;
const kMagic = 'sqlite-glove file 1\n';
const kError = { exists: 20, invalid: 28, io: 29, isDirectory: 31, noEntry: 44, noSpace: 51, notPermitted: 63 };

class PoolFile {
  constructor(handle, opaque) {
    this.handle = handle;
    this.opaque = opaque;
    this.changed = new Date();
    const block = new Uint8Array(kHeader);
    const count = handle.read(block, { at: 0 });
    const text = new TextDecoder().decode(block.subarray(0, block.indexOf(0) < 0 ? count : block.indexOf(0)));
    this.name = text.startsWith(kMagic) ? text.slice(kMagic.length) : '';
  }
  get size() {
    return Math.max(0, this.handle.getSize() - kHeader);
  }
  // Names the file, or frees it if `name` is empty.
  assign(name) {
    const bytes = new TextEncoder().encode(kMagic + name);
    const block = new Uint8Array(kHeader);
    block.set(bytes);
    if (name === '') this.handle.truncate(kHeader);
    this.handle.write(block, { at: 0 });
    this.handle.flush();
    this.name = name;
  }
}

async function openPool(folder, capacity) {
  const root = await navigator.storage.getDirectory();
  const directory = await root.getDirectoryHandle(folder, { create: true });
  const names = [];
  for await (const name of directory.keys()) names.push(name);
  while (names.length < capacity) names.push(crypto.randomUUID());
  const files = [];
  try {
    for (const name of names) {
      const file = await directory.getFileHandle(name, { create: true });
      files.push(new PoolFile(await file.createSyncAccessHandle(), name));
    }
  } catch (error) {
    for (const file of files) file.handle.close();
    throw new Error(`cannot open the files of '${folder}': ${error.message} (another tab may have them open)`);
  }
  return files;
}

// The file system, in the form that Emscripten mounts.
function makeFileSystem(module, pool) {
  const { FS } = module;
  const fail = (code) => {
    throw new FS.ErrnoError(code);
  };
  const named = (name) => pool.find((file) => file.name === name);
  const rootMode = 0o040777;

  function makeNode(parent, file) {
    const node = FS.createNode(parent, file ? file.name : '/', file ? 0o100666 : rootMode, 0);
    node.file = file;
    node.node_ops = nodeOps;
    node.stream_ops = streamOps;
    return node;
  }

  const nodeOps = {
    getattr(node) {
      const size = node.file ? node.file.size : 4096;
      const time = node.file ? node.file.changed : new Date(0);
      return { dev: 1, ino: node.id, mode: node.mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size, atime: time, mtime: time, ctime: time,
               blksize: 4096, blocks: Math.ceil(size / 4096) };
    },
    setattr(node, change) {
      if (change.size !== undefined) {
        node.file.handle.truncate(kHeader + change.size);
        node.file.changed = new Date();
      }
    },
    lookup(parent, name) {
      const file = named(name);
      return file ? makeNode(parent, file) : fail(kError.noEntry);
    },
    mknod(parent, name, mode) {
      if (!FS.isFile(mode)) fail(kError.notPermitted);
      if (new TextEncoder().encode(kMagic + name).length >= kHeader) fail(kError.invalid);
      const file = pool.find((one) => one.name === '') ?? fail(kError.noSpace);
      file.assign(name);
      file.changed = new Date();
      return makeNode(parent, file);
    },
    rename(node, parent, name) {
      if (!parent.node_ops || parent.node_ops !== nodeOps) fail(kError.notPermitted);
      const replaced = named(name);
      node.file.assign(name);
      if (replaced && replaced !== node.file) replaced.assign('');
      node.name = name;
    },
    unlink(parent, name) {
      (named(name) ?? fail(kError.noEntry)).assign('');
    },
    readdir: () => ['.', '..', ...pool.map((file) => file.name).filter((name) => name !== '')],
  };

  const streamOps = {
    read(stream, buffer, offset, length, position) {
      const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length);
      return stream.node.file.handle.read(bytes, { at: kHeader + position });
    },
    write(stream, buffer, offset, length, position) {
      const { file } = stream.node;
      const written = file.handle.write(new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length), { at: kHeader + position });
      file.changed = new Date();
      return written;
    },
    llseek(stream, offset, whence) {
      const from = whence === 1 ? stream.position : whence === 2 ? stream.node.file.size : 0;
      if (from + offset < 0) fail(kError.invalid);
      return from + offset;
    },
    fsync(stream) {
      stream.node.file?.handle.flush();
      return 0;
    },
    // Reads the range into memory: a change of the file is not seen there.
    mmap(stream, address, length, position) {
      const size = Math.ceil(length / 65536) * 65536;
      const pointer = module._malloc(size + 65536) >>> 0;
      if (pointer === 0) fail(48);
      const aligned = Math.ceil(pointer / 65536) * 65536;
      module.HEAPU8.fill(0, aligned, aligned + size);
      streamOps.read(stream, module.HEAPU8, aligned, length, position);
      return { ptr: aligned, allocated: false };
    },
    msync: () => 0,
  };
  return { mount: () => makeNode(null, undefined) };
}

export function addOpfs(sqlite3, module) {
  let pool;

  sqlite3.installOpfs = async ({ folder = '.sqlite-glove', capacity = 12 } = {}) => {
    if (pool) return;
    if (typeof FileSystemFileHandle === 'undefined' || !FileSystemFileHandle.prototype.createSyncAccessHandle)
      throw new Error('OPFS databases need a browser, and there a worker (new Worker(..., { type: "module" })); memory ones do not');
    const files = await openPool(folder, capacity);
    module.FS.mkdir('/opfs');
    module.FS.mount(makeFileSystem(module, files), {}, '/opfs');
    pool = files;
    sqlite3.oo1.OpfsDb = class OpfsDb extends sqlite3.oo1.DB {
      constructor(filename, flags = 'c') {
        super('/opfs/' + filename.replace(/^\/+/, ''), flags);
      }
    };
  };
}
