import java.sql.*;
import java.util.*;

/** Asks a server through JDBC, and prints a line for each question. */
public class Metadata {
    interface Question { ResultSet ask() throws Exception; }

    static void ask(String title, Question q) {
        StringBuilder b = new StringBuilder();
        try (ResultSet r = q.ask()) {
            ResultSetMetaData m = r.getMetaData();
            for (int i = 1; i <= m.getColumnCount(); i++) b.append(m.getColumnName(i)).append(':').append(m.getColumnTypeName(i).replace("name", "text")).append(' ');
            while (r.next()) {
                b.append('|');
                for (int i = 1; i <= m.getColumnCount(); i++) b.append(r.getString(i)).append(',');
            }
        } catch (Exception e) {
            b.append(e.getMessage().split("\n")[0]);
        }
        System.out.println("JDBC: " + title + "\t" + b);
    }

    /** Types of columns, and what the driver takes them for. */
    static String types(DatabaseMetaData m) throws Exception {
        StringBuilder b = new StringBuilder();
        try (ResultSet r = m.getTypeInfo()) {
            while (r.next()) if (List.of("bool", "int8", "text", "numeric", "timestamptz", "date", "json", "_text", "float8").contains(r.getString(1))) b.append(r.getString(1)).append('=').append(r.getInt(2)).append(' ');
        }
        return b.toString();
    }

    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.put("user", "callhouse");
        p.put("prepareThreshold", "1");
        try (Connection c = DriverManager.getConnection(args[0], p)) {
            DatabaseMetaData m = c.getMetaData();
            ask("getCatalogs, ours", () -> c.createStatement().executeQuery("SELECT '" + m.getConnection().getCatalog() + "'"));
            ask("getTables", () -> m.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}));
            ask("getColumns", () -> m.getColumns(null, "public", "calls", "%"));
            ask("getTables, one name, escaped", () -> m.getTables("callhouse", "public", "transcript\\_turns", null));
            ask("getColumns, one name, escaped", () -> m.getColumns("callhouse", "public", "transcript\\_turns", "call\\_id"));
            ask("getIndexInfo", () -> m.getIndexInfo(null, "public", "transcript_turns", false, true));
            ask("getSchemas", () -> m.getSchemas(null, "public"));
            ask("getTypeInfo, of ours", () -> c.createStatement().executeQuery("SELECT '" + types(m) + "'"));
            ask("getFunctions", () -> m.getFunctions(null, "public", "%"));
            ask("getTablePrivileges, SELECT", () -> m.getTablePrivileges(null, "public", "nothing"));
            ask("getPrimaryKeys", () -> m.getPrimaryKeys(null, "public", "transcript_turns"));
            ask("getImportedKeys", () -> m.getImportedKeys(null, "public", "transcript_turns"));
            ask("getExportedKeys", () -> m.getExportedKeys(null, "public", "agents"));
            ask("getCrossReference", () -> m.getCrossReference(null, null, "calls", null, null, "transcript_turns"));
            ask("getTableTypes", () -> m.getTableTypes());
            ask("getBestRowIdentifier", () -> m.getBestRowIdentifier(null, "public", "calls", 1, true));
            ask("getProcedures", () -> m.getProcedures(null, "public", "%"));
            for (int i = 0; i < 3; i++) ask("a prepared statement, time " + (i + 1), () -> {
                PreparedStatement s = c.prepareStatement("SELECT call_id, start_at, total_cost, duration_ms FROM calls WHERE call_id <> ? AND start_at > ? ORDER BY 1 LIMIT ?");
                s.setString(1, "x");
                s.setTimestamp(2, new Timestamp(0));
                s.setInt(3, 2);
                return s.executeQuery();
            });
            ask("types of a statement", () -> {
                PreparedStatement s = c.prepareStatement("SELECT call_id, start_at FROM calls WHERE duration_ms > ?");
                return c.createStatement().executeQuery("SELECT '" + s.getMetaData().getColumnTypeName(2) + " " + s.getParameterMetaData().getParameterTypeName(1) + "'");
            });
            c.setAutoCommit(false);
            ask("a fetch size within a transaction", () -> {
                Statement s = c.createStatement();
                s.setFetchSize(1);
                return s.executeQuery("SELECT call_id FROM calls ORDER BY 1");
            });
            c.commit();
            c.setAutoCommit(true);
            c.setReadOnly(true);
            for (String zone : List.of("GMT+09:00", "GMT-03:00", "GMT+05:30", "Asia/Seoul", "America/New_York")) {
                TimeZone.setDefault(TimeZone.getTimeZone(zone));
                try (Connection there = DriverManager.getConnection(args[0], p)) {
                    ask("days in " + zone, () -> there.createStatement().executeQuery("SELECT current_setting('TimeZone'), date_trunc('day', start_at) AS day, count(*) FROM calls GROUP BY 2 ORDER BY 2"));
                }
            }
            System.out.println("JDBC: isValid, getSchema\t" + c.isValid(2) + " " + c.getSchema());
        }
    }
}
