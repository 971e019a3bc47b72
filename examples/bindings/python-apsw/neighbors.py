import apsw

db = apsw.Connection(":memory:")
db.enableloadextension(True)
db.loadextension("./glove")
db.cursor().execute("SELECT glove_load('glove.safetensors')")
for neighbor, similarity in db.cursor().execute("SELECT neighbor, round(similarity, 4) FROM glove_nn(?, NULL, 3)", ("piano",)):
    print(neighbor, similarity)
