package require sqlite3

sqlite3 db :memory:
db enable_load_extension 1
db eval {SELECT load_extension('./glove')}
db eval {SELECT glove_load('glove.safetensors')}
set word piano
db eval {SELECT neighbor, round(similarity, 4) AS similarity FROM glove_nn($word, NULL, 3)} {puts "$neighbor $similarity"}
