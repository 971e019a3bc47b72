import sqlite3

db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension("./glove")
db.execute("SELECT glove_load('glove.safetensors')")
for neighbor, similarity in db.execute("SELECT neighbor, round(similarity, 4) FROM glove_nn(?, NULL, 3)", ("piano",)):
    print(neighbor, similarity)
