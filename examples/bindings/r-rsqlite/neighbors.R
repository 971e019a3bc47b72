library(RSQLite)

db <- dbConnect(SQLite(), ":memory:", loadable.extensions = TRUE)
invisible(dbGetQuery(db, "SELECT load_extension('./glove')"))
invisible(dbGetQuery(db, "SELECT glove_load('glove.safetensors')"))
rows <- dbGetQuery(db, "SELECT neighbor, round(similarity, 4) AS similarity FROM glove_nn(?, NULL, 3)", params = list("piano"))
writeLines(paste(rows$neighbor, rows$similarity))
