// Runs the same tests for every process.
import './starting.spec';
