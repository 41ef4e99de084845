"""From live messages to history and back: recorder, log, Spark jobs, lake."""
