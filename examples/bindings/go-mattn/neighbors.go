package main

import (
	"database/sql"
	"fmt"
	"log"

	"github.com/mattn/go-sqlite3"
)

func main() {
	// Every connection of this driver loads the extension.
	sql.Register("sqlite3_glove", &sqlite3.SQLiteDriver{Extensions: []string{"./glove"}})
	db, err := sql.Open("sqlite3_glove", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	if _, err = db.Exec("SELECT glove_load('glove.safetensors')"); err != nil {
		log.Fatal(err)
	}
	rows, err := db.Query("SELECT neighbor, round(similarity, 4) FROM glove_nn(?, NULL, 3)", "piano")
	if err != nil {
		log.Fatal(err)
	}
	for rows.Next() {
		var neighbor string
		var similarity float64
		if err = rows.Scan(&neighbor, &similarity); err != nil {
			log.Fatal(err)
		}
		fmt.Println(neighbor, similarity)
	}
}
