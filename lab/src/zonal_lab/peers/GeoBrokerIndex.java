import de.hasenburg.geobroker.commons.model.message.Topic;
import de.hasenburg.geobroker.commons.model.spatial.Geofence;
import de.hasenburg.geobroker.commons.model.spatial.Location;
import de.hasenburg.geobroker.server.main.Configuration;
import de.hasenburg.geobroker.server.main.Mode;
import de.hasenburg.geobroker.server.storage.TopicAndGeofenceMapper;
import de.hasenburg.geobroker.server.storage.client.ClientDirectory;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;

/** Times the workload of a file on GeoBroker's storage, for each granularity that is given. */
public class GeoBrokerIndex {
    static final double RADIUS_DEGREES = 0.01;

    record Operation(char kind, Location place, Geofence fence) {}

    static final Topic TOPIC = new Topic("data");

    public static void main(String[] arguments) throws Exception {
        Configurator.setRootLevel(Level.OFF);
        List<Operation> work = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split(" ");
            Location at = new Location(Double.parseDouble(words[1]), Double.parseDouble(words[2]));
            char kind = words[0].charAt(0);
            Geofence fence = kind == 'G' ? null : Geofence.Companion.circle(at, RADIUS_DEGREES);
            work.add(new Operation(kind, at, fence));
        }
        StringBuilder said = new StringBuilder("{");
        for (int each = 1; each < arguments.length; each++) {
            int granularity = Integer.parseInt(arguments[each]);
            double seconds = 0;
            long hits = 0;
            for (int round = 0; round < 3; round++) { // compiled by the last one
                long begun = cpu();
                hits = run(work, granularity);
                seconds = (cpu() - begun) / 1e9;
            }
            said.append(each > 1 ? ", " : "").append("\"").append(granularity)
                .append("\": {\"seconds\": ").append(seconds)
                .append(", \"hits\": ").append(hits).append("}");
        }
        System.out.println(said.append("}"));
    }

    static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    static long run(List<Operation> work, int granularity) {
        TopicAndGeofenceMapper mapper = new TopicAndGeofenceMapper(new Configuration("broker", 5559,
            granularity, 1, null, -1, Mode.single, "", 1));
        ClientDirectory clients = new ClientDirectory();
        int added = 0, updated = 0;
        long hits = 0;
        for (Operation each : work) {
            switch (each.kind()) {
                case 'A' -> {
                    String client = Integer.toString(added++);
                    clients.addClient(client, each.place(), false);
                    subscribe(mapper, clients, client, each.fence());
                }
                case 'U' -> subscribe(mapper, clients, Integer.toString(updated++), each.fence());
                default -> hits += mapper.getSubscriptionIds(TOPIC, each.place(), clients).size();
            }
        }
        return hits;
    }

    /** As its server subscribes a client, again or for the first time. */
    static void subscribe(TopicAndGeofenceMapper mapper, ClientDirectory clients, String client,
                          Geofence fence) {
        var before = clients.checkIfSubscribed(client, TOPIC, fence);
        if (before != null) mapper.removeSubscriptionId(before.left, TOPIC, before.right);
        mapper.putSubscriptionId(clients.updateSubscription(client, TOPIC, fence), TOPIC, fence);
    }
}
