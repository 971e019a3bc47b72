// A headless Chromium that a script drives through a pipe, and a server of static files for it.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';

const kTypes = { html: 'text/html', mjs: 'text/javascript', js: 'text/javascript', wasm: 'application/wasm', css: 'text/css',
                 svg: 'image/svg+xml' };

// Serves folders by the prefixes of their URLs, such as { '/package/': folder }. Files may be named too.
export async function serve(folders) {
  const prefixes = Object.keys(folders).sort((a, b) => b.length - a.length);
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
    const prefix = prefixes.find((one) => path === one || (one.endsWith('/') && path.startsWith(one)));
    try {
      const rest = prefix.endsWith('/') ? path.slice(prefix.length) || 'index.html' : '';
      const file = rest ? join(folders[prefix], rest) : folders[prefix];
      const bytes = await readFile(file);
      response.writeHead(200, { 'content-type': kTypes[file.split('.').pop()] ?? 'application/octet-stream',
                                'content-length': bytes.length, 'cache-control': 'no-store' });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

export function findChromium() {
  for (const folder of (process.env.PATH ?? '').split(':'))
    for (const name of ['chromium-headless-shell', 'chromium'])
      if (existsSync(join(folder, name))) return join(folder, name);
  return undefined;
}

export class Chromium {
  constructor(program) {
    this.folder = mkdtempSync(join(tmpdir(), 'glove-chromium-'));
    // A process group of its own: the program may be a script that starts the browser, which would outlive it.
    this.process = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
      '--remote-debugging-pipe', `--user-data-dir=${this.folder}`, 'about:blank'], {
        stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true });
    this.waiting = new Map();
    this.events = [];
    this.next = 1;
    let text = '';
    this.process.stdio[4].setEncoding('utf8').on('data', (piece) => {
      const messages = (text + piece).split('\0');
      text = messages.pop();
      for (const message of messages) this.receive(JSON.parse(message));
    });
    this.ended = new Promise((resolve) => this.process.on('exit', resolve));
  }
  receive(message) {
    const waiting = this.waiting.get(message.id);
    if (!waiting) return void this.events.push(message);
    this.waiting.delete(message.id);
    if (message.error) waiting.reject(new Error(message.error.message));
    else waiting.resolve(message.result);
  }
  send(method, params = {}, sessionId = this.session) {
    const id = this.next++;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }
  // Opens a page in a new tab, which the functions below then mean.
  async open(url, { width = 1280, height = 900, dark = false } = {}) {
    if (this.target) await this.send('Target.closeTarget', { targetId: this.target }, undefined);
    this.session = undefined;
    this.target = (await this.send('Target.createTarget', { url: 'about:blank' })).targetId;
    this.session = (await this.send('Target.attachToTarget', { targetId: this.target, flatten: true })).sessionId;
    await this.send('Runtime.enable');
    await this.send('Page.enable');
    await this.resize(width, height, dark);
    await this.send('Page.navigate', { url });
  }
  async resize(width, height, dark) {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
  }
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
  // Waits until an expression is true, and returns its value.
  async until(expression, seconds = 60) {
    for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
      const value = await this.evaluate(expression).catch(() => undefined);
      if (value) return value;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`after ${seconds} s this is still false: ${expression}`);
  }
  type(text) {
    return this.send('Input.insertText', { text });
  }
  // text: what the key types, such as the '\r' that sends a form.
  async press(key, code, { modifiers = 0, text } = {}) {
    const event = { key, code: key, windowsVirtualKeyCode: code, modifiers };
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', text, ...event });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }
  // Small enough for the documents; GLOVE_SCREENSHOTS=png is what every viewer shows.
  async screenshot(path) {
    const format = process.env.GLOVE_SCREENSHOTS ?? 'webp';
    const { data } = await this.send('Page.captureScreenshot', { format, ...(format === 'png' ? {} : { quality: 80 }) });
    await writeFile(`${path}.${format}`, Buffer.from(data, 'base64'));
  }
  // What all processes of the browser have used, which other work on the machine hardly changes. 0 where there is no /proc.
  processorSeconds() {
    let ticks = 0;
    for (const pid of existsSync('/proc/self/stat') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [])
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
        if (Number(fields[2]) === this.process.pid) ticks += Number(fields[11]) + Number(fields[12]);
      } catch {
        // It has ended.
      }
    return ticks / 100;
  }
  async close() {
    process.kill(-this.process.pid, 'SIGKILL');
    await this.ended;
    for (const pipe of this.process.stdio) pipe?.destroy();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
