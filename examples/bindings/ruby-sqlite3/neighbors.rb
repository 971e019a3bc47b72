require 'sqlite3'

db = SQLite3::Database.new(':memory:')
db.enable_load_extension(true)
db.load_extension('./glove')
db.execute("SELECT glove_load('glove.safetensors')")
db.execute('SELECT neighbor, round(similarity, 4) FROM glove_nn(?, NULL, 3)', ['piano']) do |neighbor, similarity|
  puts "#{neighbor} #{similarity}"
end
