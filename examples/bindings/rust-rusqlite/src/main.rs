use rusqlite::{Connection, LoadExtensionGuard, Result};

fn main() -> Result<()> {
    let db = Connection::open_in_memory()?;
    unsafe {
        let _guard = LoadExtensionGuard::new(&db)?;
        db.load_extension("./glove", None)?;
    }
    db.query_row("SELECT glove_load('glove.safetensors')", [], |_| Ok(()))?;
    let mut nearest = db.prepare("SELECT neighbor, round(similarity, 4) FROM glove_nn(?, NULL, 3)")?;
    let mut rows = nearest.query(["piano"])?;
    while let Some(row) = rows.next()? {
        println!("{} {}", row.get::<_, String>(0)?, row.get::<_, f64>(1)?);
    }
    Ok(())
}
