// Runs the same tests for every process.
import './schema-start.spec';
