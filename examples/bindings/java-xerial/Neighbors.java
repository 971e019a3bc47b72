import java.sql.*;
import org.sqlite.SQLiteConfig;

public class Neighbors {
  public static void main(String[] arguments) throws SQLException {
    SQLiteConfig config = new SQLiteConfig();
    config.enableLoadExtension(true);
    try (Connection db = config.createConnection("jdbc:sqlite::memory:"); Statement setup = db.createStatement()) {
      setup.execute("SELECT load_extension('./glove')");
      setup.execute("SELECT glove_load('glove.safetensors')");
      PreparedStatement nearest = db.prepareStatement("SELECT neighbor, round(similarity, 4) FROM glove_nn(?, NULL, 3)");
      nearest.setString(1, "piano");
      ResultSet rows = nearest.executeQuery();
      while (rows.next()) System.out.println(rows.getString(1) + " " + rows.getDouble(2));
    }
  }
}
