const Database = require('better-sqlite3');

const db = new Database(':memory:');
db.loadExtension('./glove.so');
db.prepare("SELECT glove_load('glove.safetensors')").get();
const nearest = db.prepare('SELECT neighbor, round(similarity, 4) AS similarity FROM glove_nn(?, NULL, 3)');
for (const row of nearest.all('piano')) console.log(row.neighbor, row.similarity);
