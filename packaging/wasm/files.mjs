// Files of the module. Those that putFile() and fetchFile() make lie in its own memory, so that glove_load() maps them without a copy.

const kMode = 0o100444;

// Collects bytes in the module's memory. A known size makes it one allocation.
class HeapFile {
  constructor(module, expected) {
    this.module = module;
    this.capacity = Math.max(expected, 1);
    this.size = 0;
    this.pointer = this.allocate(this.capacity);
  }
  allocate(bytes) {
    const pointer = bytes < 2 ** 32 ? this.module._malloc(bytes) >>> 0 : 0;
    if (pointer === 0) throw new RangeError(`there is no memory for a file of ${bytes} bytes`);
    return pointer;
  }
  append(bytes) {
    if (this.size + bytes.length > this.capacity) {
      const capacity = Math.max(this.size + bytes.length, 2 * this.capacity);
      const pointer = this.allocate(capacity);
      this.module.HEAPU8.copyWithin(pointer, this.pointer, this.pointer + this.size);
      this.module._free(this.pointer);
      this.pointer = pointer;
      this.capacity = capacity;
    }
    this.module.HEAPU8.set(bytes, this.pointer + this.size);
    this.size += bytes.length;
  }
  free() {
    this.module._free(this.pointer);
  }
}

// Opens what a URL names: its name, its size if that is known, and its bytes.
async function openUrl(url, options) {
  const from = url instanceof Response ? url : new URL(url, globalThis.location?.href ?? import.meta.url);
  if (from instanceof URL && from.protocol === 'file:' && typeof globalThis.location === 'undefined') {
    const { open } = await import('node:fs/promises');
    const file = await open(from);
    return { name: from.pathname, size: (await file.stat()).size, stream: file.readableWebStream(), close: () => file.close() };
  }
  const response = from instanceof Response ? from : await fetch(from, { signal: options.signal });
  if (!response.ok || !response.body)
    throw new Error(`cannot fetch '${response.url || url}': ${response.status} ${response.statusText}`);
  // The length is that of the bytes sent, not of those that arrive here, if the server compressed them.
  const encoded = response.headers.get('content-encoding');
  const size = encoded ? 0 : Number(response.headers.get('content-length') ?? 0);
  return { name: new URL(response.url || 'http://x/file').pathname, size, stream: response.body, close: () => {} };
}

export function addFiles(sqlite3, module) {
  const { FS } = module;

  function nodeOf(path) {
    try {
      return FS.lookupPath(path).node;
    } catch {
      return undefined;
    }
  }

  function publish(path, file) {
    if (nodeOf(path)) sqlite3.removeFile(path);
    FS.mknod(path, kMode, 0);
    const { node } = FS.lookupPath(path);
    node.heapFile = file;
    // The memory may grow, and older views of it are then empty.
    Object.defineProperty(node, 'contents', { get: () => new Uint8Array(module.HEAPU8.buffer, file.pointer, file.size) });
    node.usedBytes = file.size;
    return path;
  }

  sqlite3.putFile = (path, bytes) => {
    const file = new HeapFile(module, bytes.length);
    file.append(bytes);
    return publish(path, file);
  };

  sqlite3.fetchFile = async (url, options = {}) => {
    const source = await openUrl(url, options);
    let name = source.name.slice(source.name.lastIndexOf('/') + 1);
    let received = 0;
    const counted = source.stream.pipeThrough(new TransformStream({
      transform(chunk, controller) {
        const bytes = chunk instanceof Uint8Array ? chunk : new Uint8Array(chunk);
        received += bytes.length;
        options.progress?.(received, source.size);
        controller.enqueue(bytes);
      },
    }));
    // glove_load() reads compressed texts by itself; it maps model files, which must be whole.
    const compressed = name.endsWith('.safetensors.gz');
    if (compressed) name = name.slice(0, -3);
    const stream = compressed ? counted.pipeThrough(new DecompressionStream('gzip')) : counted;
    const file = new HeapFile(module, compressed ? 2 * source.size : source.size);
    try {
      for (const reader = stream.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) break;
        file.append(value);
      }
      if (source.size > 0 && received !== source.size)
        throw new Error(`'${url}' ended after ${received} of ${source.size} bytes; fetch it again`);
      return publish(options.path ?? '/' + name, file);
    } catch (error) {
      file.free();
      throw error;
    } finally {
      await source.close();
    }
  };

  sqlite3.readFile = (path) => FS.readFile(path);

  sqlite3.removeFile = (path) => {
    const node = nodeOf(path);
    if (!node) throw new Error(`there is no file '${path}'`);
    if (FS.streams.some((stream) => stream?.node === node))
      throw new Error(`'${path}' is in use; close the databases and unload the models that are in it`);
    FS.unlink(path);
    node.heapFile?.free();
  };

  sqlite3.listFiles = (directory = '/') => FS.readdir(directory).filter((name) => {
    const node = nodeOf(`${directory}/${name}`);
    return node && FS.isFile(node.mode);
  });
}
