// Parts of tokenizer.json files, for make_golden.mjs and fuzz.mjs, and what the program tokenize writes.

// Its output as a text per list of ids: the ids, or 'error'.
export function id_lists(output) {
  const lists = [];
  for (let at = 0; at < output.length;) {
    const count = output.readUInt32LE(at);
    at += 4;
    if (count === 0xffffffff) {
      lists.push('error');
      continue;
    }
    lists.push(Array.from({ length: count }, (_, i) => output.readUInt32LE(at + 4 * i)).join(' '));
    at += 4 * count;
  }
  return lists;
}

export const letters = [...'abcdefghijklmnopqrstuvwxyz'];

// {token: id} of distinct tokens, in order.
export function vocab(special, ...lists) {
  const tokens = [...new Set([...special, ...lists.flat()])];
  return Object.fromEntries(tokens.map((token, id) => [token, id]));
}

export const added = (content, options = {}) => ({ id: 0, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...options });
export const tokenizer = (model, normalizer, pre_tokenizer, more = {}) => ({ version: '1.0', truncation: null, padding: null, added_tokens: [],
  normalizer, pre_tokenizer, post_processor: null, decoder: null, model, ...more });

// How ByteLevel spells each byte, and the tokens of byte_fallback.
const printable = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
let unprintable = 256;
export const alphabet = Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : unprintable++));
export const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);

// The precompiled_charsmap that maps each key to its value.
export function charsmap(map) {
  const root = new Map();
  let text = '';
  for (const [key, value] of Object.entries(map)) {
    let node = root;
    for (const byte of Buffer.from(key)) {
      if (!node.has(byte)) node.set(byte, new Map());
      node = node.get(byte);
    }
    node.value = Buffer.byteLength(text);
    text += `${value}\0`;
  }
  const units = [];
  let next = 256;
  const place = (node, at) => {  // each node has a block of its own
    const block = next;
    next += 256;
    units[at] |= (at ^ block) << 10;
    if (node.value !== undefined) {
      units[at] |= 1 << 8;
      units[block] = node.value | 1 << 31;
    }
    for (const [byte, child] of node) {
      units[block ^ byte] = byte;
      place(child, block ^ byte);
    }
  };
  place(root, 0);
  const used = Uint32Array.from({ length: next }, (_, i) => units[i] >>> 0);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(used.length * 4);
  return Buffer.concat([size, Buffer.from(used.buffer), Buffer.from(text)]).toString('base64');
}
