// The data of the page: apt_search.py compresses it and writes four bytes as five characters. The page and its worker read it.
const kDigits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~';
const kValues = new Uint8Array(128);
for (let i = 0; i < kDigits.length; ++i) kValues[kDigits.charCodeAt(i)] = i;

function bytesOf(text) {
  const padding = (5 - text.length % 5) % 5;
  const padded = text + '~'.repeat(padding);
  const bytes = new DataView(new ArrayBuffer(padded.length / 5 * 4));
  for (let from = 0, to = 0; from < padded.length; from += 5, to += 4) {
    let value = 0;
    for (let i = 0; i < 5; ++i) value = 85 * value + kValues[padded.charCodeAt(from + i)];
    bytes.setUint32(to, value);
  }
  return new Uint8Array(bytes.buffer, 0, bytes.byteLength - padding);
}

async function unpack(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

async function unpackText(text) {
  return new TextDecoder().decode(await unpack(text));
}
