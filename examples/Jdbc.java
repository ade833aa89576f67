// flakeid with JDBC.
//
// Needs a JDK 17 and PostgreSQL's driver (Debian: default-jdk-headless, libpostgresql-jdbc-java); PGHOST, PGPORT,
// PGUSER and PGDATABASE lead to a database that has the extension. JDBC speaks TCP, so PGHOST is a host and not the
// folder of a socket. Run: java -cp /usr/share/java/postgresql.jar examples/Jdbc.java

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.UUID;

class Jdbc {
    public static void main(String[] args) throws SQLException {
        var env = System.getenv();
        var properties = new Properties();
        properties.setProperty("user", env.get("PGUSER"));
        var url = "jdbc:postgresql://%s:%s/%s".formatted(env.get("PGHOST"), env.get("PGPORT"), env.get("PGDATABASE"));
        try (var connection = DriverManager.getConnection(url, properties)) {
            try (var create = connection.createStatement()) {
                create.execute("""
                    CREATE TABLE IF NOT EXISTS orders (
                        id    flake PRIMARY KEY DEFAULT flake_next(),
                        event sno NOT NULL UNIQUE DEFAULT sno_next(7),
                        item  text NOT NULL)""");
            }

            try (var insert = connection.prepareStatement(
                    "INSERT INTO orders (item) VALUES (?)", new String[] {"id", "event"})) {
                for (var item : List.of("tea", "milk", "bread", "salt", "rice")) {
                    insert.setString(1, item);
                    insert.executeUpdate();
                    try (var keys = insert.getGeneratedKeys()) {
                        keys.next();
                        System.out.println("made " + keys.getLong("id") + " " + keys.getString("event") + " " + item);
                    }
                }
            }

            // JDBC sends an OffsetDateTime as timestamptz. It sends a java.sql.Timestamp without a type, which PostgreSQL
            // would read as an ID here.
            var since = OffsetDateTime.now().minusMinutes(5);
            try (var byId = connection.prepareStatement(
                    "SELECT id FROM orders WHERE id >= ? ORDER BY id")) {
                byId.setObject(1, since);
                System.out.println("recent by id: " + String.join(" ", column(byId)));
            }
            try (var byEvent = connection.prepareStatement(
                    "SELECT event FROM orders WHERE event >= ? ORDER BY event")) {
                byEvent.setObject(1, since);
                System.out.println("recent by event: " + String.join(" ", column(byEvent)));
            }

            try (var newest = connection.prepareStatement(
                    "SELECT event FROM orders WHERE event < ? AND event >= ? ORDER BY event DESC LIMIT 3")) {
                newest.setObject(2, since);
                var last = "x".repeat(16); // the greatest sno
                for (int page = 1;; page++) {
                    // setString would send a varchar. No operator compares a varchar with a sno.
                    newest.setObject(1, last, Types.OTHER);
                    var events = column(newest);
                    if (events.isEmpty()) {
                        break;
                    }
                    System.out.println("page " + page + ": " + String.join(" ", events));
                    last = events.get(events.size() - 1);
                }
            }

            // A uuidv7 is a java.util.UUID, as Hibernate has it. Its first 48 bits are the milliseconds since 1970.
            try (var create = connection.createStatement()) {
                create.execute("""
                    CREATE TABLE IF NOT EXISTS carts (
                        id   uuid PRIMARY KEY DEFAULT uuidv7_next(),
                        item text NOT NULL)""");
            }
            try (var insert = connection.prepareStatement("""
                    INSERT INTO carts (item) SELECT 'pear' FROM generate_series(1, 1000)
                    RETURNING id, uuidv7_timestamp(id)""");
                    var carts = insert.executeQuery()) {
                int accepted = 0;
                while (carts.next()) {
                    var id = carts.getObject(1, UUID.class);
                    var createdAt = carts.getObject(2, OffsetDateTime.class).toInstant().toEpochMilli();
                    if (id.version() == 7 && id.variant() == 2 && id.getMostSignificantBits() >>> 16 == createdAt) {
                        accepted++;
                    }
                }
                System.out.println("accepted uuids: " + accepted);
            }
            try (var recent = connection.prepareStatement("SELECT count(*) FROM carts WHERE uuidv7_since(id, ?)")) {
                recent.setObject(1, since);
                System.out.println("recent uuids: " + String.join(" ", column(recent)));
            }
        }
    }

    private static List<String> column(PreparedStatement query) throws SQLException {
        var values = new ArrayList<String>();
        try (var rows = query.executeQuery()) {
            while (rows.next()) {
                values.add(rows.getString(1));
            }
        }
        return values;
    }
}
