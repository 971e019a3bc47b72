// node full-model.js IN.json OUT.txt: the package's JSON -> GloVe text, "word v1 ... v100" a line, in the
// package's word order (GloVe's, by falling frequency). A word's numbers after the first 100 are the package's own.
const fs = require('fs');

const [input, output] = process.argv.slice(2);
const model = JSON.parse(fs.readFileSync(input, 'utf8'));
const file = fs.openSync(output, 'w');
let lines = [];
for (const word of model.words) {
  lines.push(word + ' ' + model.vectors[word].slice(0, 100).join(' ') + '\n');
  if (lines.length === 5000) {
    fs.writeSync(file, lines.join(''));
    lines = [];
  }
}
fs.writeSync(file, lines.join(''));
fs.closeSync(file);
