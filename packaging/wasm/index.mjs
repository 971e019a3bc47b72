// SQLite with sqlite-glove in one WebAssembly module: `const sqlite3 = await init()`. index.d.ts has the contract of each function.
import createModule from './sqlite-glove.mjs';
import { addFiles } from './files.mjs';
import { addOpfs } from './opfs.mjs';
import { makeApi } from './oo1.mjs';

async function compile(wasm) {
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (wasm instanceof ArrayBuffer || ArrayBuffer.isView(wasm)) return WebAssembly.compile(wasm);
  const url = new URL(wasm, import.meta.url);
  if (url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot fetch '${url}': ${response.status} ${response.statusText}`);
  // A server that does not know the type application/wasm cannot be compiled from while it sends.
  if (response.headers.get('content-type') === 'application/wasm') return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

export default async function init({ wasm = new URL('./sqlite-glove.wasm', import.meta.url), log = console.warn } = {}) {
  // Random numbers, which modules of Node.js 18 have to import.
  if (globalThis.crypto === undefined) globalThis.crypto = (await import('node:crypto')).webcrypto;
  const compiled = await compile(wasm);
  const module = await new Promise((resolve, reject) => {
    createModule({
      printErr: log,
      locateFile: (name) => name,  // instantiateWasm() has the module, wherever it is from
      instantiateWasm(imports, receive) {
        WebAssembly.instantiate(compiled, imports).then(receive, reject);
        return {};
      },
    }).then(resolve, reject);
  });
  const sqlite3 = makeApi(module);
  addFiles(sqlite3, module);
  addOpfs(sqlite3, module);
  return sqlite3;
}
