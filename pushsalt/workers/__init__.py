"""Workers on NATS JetStream: a controller hands out targets by site, workers near the targets run the jobs."""
