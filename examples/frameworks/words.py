"""Embeddings of texts by GloVe's vectors, in place of your model's: glove.safetensors must be in the folder."""
import array
import sqlite3

import sqlite_glove

conn = sqlite3.connect(":memory:", check_same_thread=False)
sqlite_glove.load(conn)
conn.execute("SELECT glove_load('glove.safetensors')")
NOTES = {"orchestra": ("The orchestra opens with a symphony.", 2020), "bank": ("The bank raised its interest rates.", 2021),
         "rain": ("Heavy rain along the coast.", 2022), "waves": ("The waves were high all week.", 2019)}


def embed(text):
    return array.array("f", conn.execute("SELECT glove_text_vec(?)", [text]).fetchone()[0]).tolist()
